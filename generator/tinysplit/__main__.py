"""Entry point of the command `tinysplit`. Signals also end it cleanly during the imports, which take some time."""

import signal


def main() -> None:
    """Run the command line."""
    ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # they wait until they are handled
    from tinysplit.common.interrupts.signals import run_command  # noqa: PLC0415 (see above)

    run_command(_command, ending)


def _command() -> None:
    import gc  # noqa: PLC0415

    gc.set_threshold(50_000)  # objects; by default collecting takes 6 % of the time of a measurement
    from tinysplit.cli.app import app  # noqa: PLC0415

    app()


if __name__ == "__main__":
    main()
