"""Entry of the command `tinysplit`. The imports take a moment, and Ctrl-C has to end them cleanly, too."""

import sys

from tinysplit.common.errors import INTERRUPTED


def main() -> None:
    """Run the command line."""
    try:
        from tinysplit.cli.app import app  # noqa: PLC0415 - see above

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 (rich may not be there yet)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
