"""Prints the result of a wiring test."""

from rich.console import Console

from tinysplit.common.tables import plain_table
from tinysplit.project.wiring_file import WiringFile


def print_wiring(wiring: WiringFile, console: Console) -> None:
    """Print UARTs and baud rate of each link, and the rates that failed."""
    table = plain_table("link", "UARTs", "driver", "failed at", numbers=("baud", "bytes tested"))
    for link in wiring.links:
        failed = ", ".join(str(trial.baud) for trial in link.trials if not trial.passed)
        first, second = link.ends
        table.add_row(
            f"{link.boards[0]}-{link.boards[1]}",
            f"{first} to {second}",
            ", ".join(dict.fromkeys(link.drivers)),
            failed or "-",
            str(link.baud),
            f"2 x {link.tested_bytes}",
        )
    console.print(table)
    console.print(
        f"No errors in both directions at once, all links busy; {wiring.rig}", highlight=False, soft_wrap=True
    )
