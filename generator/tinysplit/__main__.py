"""Entry point of the command `tinysplit`. Signals also end it cleanly during the import, which takes some time."""

import gc
import sys
from contextlib import suppress

from tinysplit.common.interrupts.signals import end_command, handle_signals, is_ended_by_signal

OBJECTS_TO_COLLECT = 50_000  # more than by default, which would take 6 % of the time of a measurement


def main() -> None:
    """Run the command line."""
    handle_signals()
    gc.set_threshold(OBJECTS_TO_COLLECT)
    code: object = None
    try:
        from tinysplit.cli.app import app  # noqa: PLC0415 (see above)

        app()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        with suppress(OSError):
            print("interrupted", file=sys.stderr)  # noqa: T201 (rich may not be imported yet)
    except Exception:
        if not is_ended_by_signal():  # an error that is left of what a signal has broken off
            raise
    sys.exit(end_command(code))


if __name__ == "__main__":
    main()
