"""Throw strange input at every public entry point, and judge what comes back.

``python -m fuzz --minutes 120`` runs until the time is over and prints every finding with the line that
repeats it. The parts: `case` says what a case is; `kinds` has one file per kind of entry point, which draws
cases from a seed; `hostile` makes the strange input; `judge` runs a case and gives the verdict; `worker` does
this in a process of its own, which may crash or hang; `__main__` is the loop and the summary.
"""
