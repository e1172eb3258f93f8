"""Run the command with ``python -m geodual``."""

from geodual.cli import main

if __name__ == "__main__":
    main()
