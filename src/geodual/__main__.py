"""Entry point of the command ``geodual``, also available as ``python -m geodual``."""

import sys

from geodual.extras import MissingExtraError


def main() -> None:
    """Run the command; if packages that it needs are missing, print one line on how to install them."""
    try:
        from geodual.cli import main as run_command
    except MissingExtraError as error:
        print(f"geodual: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    run_command()


if __name__ == "__main__":
    main()
