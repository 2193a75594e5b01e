"""What options of the generated programs add to code and static RAM: the same network built with and without them.

    .venv/bin/python benchmarks/program_options.py [--json] [BOARD ...]

The first network of the calibration in 8 bits on one board. What does not count: its weights, in flash or decrypted in
RAM; what a weights file adds to them (header, layer graph, nonce and tag, signature); the arena, where some are
decrypted in each inference. Takes 20 s a board.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.calibration.networks import calibration_networks
from tinysplit.calibration.project import PlannedNetwork, plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.secret_key import SecretKey
from tinysplit.common.tables import plain_table
from tinysplit.costs.settings import CostSettings
from tinysplit.weights_file.signing_key import SigningKey

BITS = 8
BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l4r5zi", "nucleo_h743zi")
KEY = SecretKey(bytes(16))  # the code is the same for all keys, and for all signers
SIGNER = SigningKey.from_pem(
    b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
    b"-----END PRIVATE KEY-----\n",
    "the key of this benchmark",
)
BINARY = ProgramOptions(weights_counter=1)
PAIRS = (  # options, the programs with them, and those without
    ("--no-diagnostics", ProgramOptions(has_diagnostics=False), PLAIN),
    ("--markers", ProgramOptions(has_markers=True), PLAIN),
    ("--weights binary", BINARY, PLAIN),
    ("--weights binary --sign, beside --weights binary", replace(BINARY, weights_signer=SIGNER), BINARY),
    ("--weights encrypted, beside --weights binary", replace(BINARY, weights_key=KEY), BINARY),
)


@dataclass(frozen=True)
class Row:
    """Bytes that options add to the program of a board."""

    board: str
    options: str
    code_bytes: int
    ram_bytes: int


def rows_of(board: str) -> Iterator[Row]:
    """Yield a row for each pair of programs of a board."""
    quantized = quantize_randomly(calibration_networks()[0], BITS)[0]
    planned = plan_network(quantized, (load_board(board),), (0,) * len(quantized.layers), CostSettings())
    built = {each: sizes(planned, each) for each in {each for _, *pair in PAIRS for each in pair}}
    for options, present, absent in PAIRS:
        code_bytes, ram_bytes = (own - other for own, other in zip(built[present], built[absent], strict=True))
        yield Row(board, options, code_bytes, ram_bytes)


def sizes(planned: PlannedNetwork, options: ProgramOptions) -> tuple[int, int]:
    """Return bytes of code, without the weights and their file, and of static RAM without them and the arena."""
    with tempfile.TemporaryDirectory() as name:
        project, report = planned.build(Path(name) / "out", options)
    file, built = project.boards[0].weights_file, report.boards[0].sizes
    ram_bytes = built.ram_bytes - built.arena_bytes
    if file is None:
        return built.code_bytes, ram_bytes
    return built.flash.used_bytes - file.size_bytes, ram_bytes - file.plain_bytes


def main() -> None:
    """Build the programs of all boards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("boards", nargs="*", default=BOARDS, metavar="BOARD", help="by default one of each family")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    rows = [row for board in arguments.boards for row in rows_of(board)]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = plain_table("board", "options", numbers=("code, bytes", "static RAM, bytes"))
    for row in rows:
        table.add_row(row.board, row.options, f"{row.code_bytes:+}", f"{row.ram_bytes:+}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
