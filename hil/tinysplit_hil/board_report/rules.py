"""What the cycles of pieces say of the rules of time: each is confirmed, corrected or unknown.

A piece decides a rule by the cycles of its body, with those of the empty loop at the same place taken off; beside DMA
by those that each byte costs, with those of the same piece without DMA taken off. Where the
virtual board takes others than the real one, other values of the rule are tried on virtual boards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board
from tinysplit.codegen.board_report.piece import BASE, Piece, Place
from tinysplit.kernels.cores import ARMV6M_CORES
from tinysplit_hil.board_report.file import PieceCycles, RuleResult, Verdict

TOLERANCE_CYCLES = 0.2  # of a body
_NEIGHBOURHOOD = 8  # values that are tried, from 0 or this far below the present one

Tables = Mapping[str, Mapping[str, int]]  # values by core or family, and by rule
Bodies = Mapping[tuple[str, str, int], float]  # cycles by piece, place and offset
TryOut = Callable[[Tables, Piece], Bodies]  # bodies of the empty loop and of a piece with these values


def bodies_of(results: Sequence[PieceCycles], *, is_measured: bool = False) -> Bodies:
    """Return the cycles of the bodies of all pieces with the usual setting: measured, or of the virtual board."""
    per_loop: dict[tuple[str, str, int], float] = {
        (each.piece, each.place, each.offset): (each.measured if is_measured else each.virtual)[0] / each.loops
        for each in results
    }
    return {(each.piece, each.place, each.offset): _body(per_loop, each) for each in results}


def _body(per_loop: Mapping[tuple[str, str, int], float], each: PieceCycles) -> float:
    own = per_loop[each.piece, each.place, each.offset]
    if not each.repeats:
        return own
    more = own - per_loop[each.base, each.place, each.offset]
    return more * each.loops / each.dma_bytes if each.dma_bytes else more / each.repeats


@dataclass(frozen=True)
class Judge:
    """A board's rules, its pieces, and their cycles: measured, and of the virtual board with `tables`."""

    board: Board
    pieces: Sequence[Piece]
    tables: Tables
    results: Sequence[PieceCycles]
    try_out: TryOut

    def verdicts(self) -> tuple[RuleResult, ...]:
        """Return what the results say of all rules.

        Rules that the empty loop decides come first, as all others depend on them: what is corrected holds for those
        that follow.
        """
        deciding = {rule: (piece, offset) for piece in self.pieces for rule, offset in piece.decides.items()}
        rules = [(table, rule, value) for table, values in self.tables.items() for rule, value in values.items()]

        def is_later(each: tuple[str, str, int]) -> bool:
            table, rule, _ = each
            return f"{table}.{rule}" not in deciding or deciding[f"{table}.{rule}"][0].name != BASE

        corrected = {table: dict(values) for table, values in self.tables.items()}
        found = []
        for table, rule, value in sorted(rules, key=is_later):
            result = RuleResult(table=table, rule=rule, value=value, verdict=Verdict.UNKNOWN)
            if f"{table}.{rule}" in deciding:
                result = self._decide(result, *deciding[f"{table}.{rule}"], corrected)
                if result.fits is not None:
                    corrected[table][rule] = result.fits
            found.append(result)
        return tuple(found)

    def _decide(
        self, result: RuleResult, piece: Piece, offset: int, corrected: Mapping[str, dict[str, int]]
    ) -> RuleResult:
        key = (piece.name, self._place(piece, result.table), offset)
        wanted = bodies_of(self.results, is_measured=True).get(key)
        if wanted is None:
            return result
        result = result.model_copy(update={"piece": piece.name})
        virtual = bodies_of(self.results) if corrected == self.tables else self.try_out(corrected, piece)
        if abs(virtual[key] - wanted) <= TOLERANCE_CYCLES:
            return result.model_copy(update={"verdict": Verdict.CONFIRMED, "fits": result.value})
        for value in _neighbours(result.value):
            table = {**corrected[result.table], result.rule: value}
            tried = self.try_out({**corrected, result.table: table}, piece)
            if abs(tried[key] - wanted) <= TOLERANCE_CYCLES:
                return result.model_copy(update={"verdict": Verdict.CORRECTED, "fits": value})
        return result

    def _place(self, piece: Piece, table: str) -> Place:
        """Return where a piece tells most of a rule of a core or a family."""
        if piece.decides_at:
            return piece.decides_at
        core = self.board.device.core
        if table != core:
            return Place.FLASH
        if self.board.code_ram and Place.CODE_RAM in piece.places:
            return Place.CODE_RAM
        return Place.RAM if core in ARMV6M_CORES and Place.RAM in piece.places else Place.FLASH


def _neighbours(value: int) -> list[int]:
    """Return the values that are tried in place of one, the nearest first."""
    others = range(max(0, value - _NEIGHBOURHOOD), value + _NEIGHBOURHOOD + 1)
    return sorted((other for other in others if other != value), key=lambda other: abs(other - value))
