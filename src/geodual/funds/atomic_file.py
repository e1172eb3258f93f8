"""Write files so that they are either complete or absent: the function of `geodual.atomic_file`."""

from geodual.atomic_file import write_atomically as write_atomically
