"""``python -m geodual``: the command."""

from geodual.cli import main

if __name__ == "__main__":
    main()
