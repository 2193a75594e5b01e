"""Entry point of the command `tinysplit`. Ctrl-C also ends it cleanly during the import, which takes some time."""

import gc
import sys

from tinysplit.common.errors import INTERRUPTED

OBJECTS_TO_COLLECT = 50_000  # more than by default, which would take 6 % of the time of a measurement


def main() -> None:
    """Run the command line."""
    gc.set_threshold(OBJECTS_TO_COLLECT)
    try:
        from tinysplit.cli.app import app  # noqa: PLC0415 (see above)

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 (rich may not be imported yet)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
