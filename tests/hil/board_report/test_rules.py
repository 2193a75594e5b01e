"""What follows from the cycles of pieces for rules of time, with a made-up board that takes what its rules say."""

from collections.abc import Mapping

from tinysplit.boards.catalog import load_board
from tinysplit.codegen.board_report.piece import Piece
from tinysplit_hil.board_report.file import PieceCycles, RuleResult, Setting, Verdict
from tinysplit_hil.board_report.rules import Bodies, Judge, Tables, bodies_of

CORE = "cortex-m4"
LOOPS = 32
LOOP = Piece("loop", "", repeats=0, decides={f"{CORE}.refill": 0})
LOAD = Piece("load", "ldr r4, [r0]", repeats=4, decides={f"{CORE}.load": 0})
CALL = Piece("call", "bl 8b", repeats=4, decides={f"{CORE}.call": 0})
SHIPPED = {CORE: {"load": 2, "call": 4, "refill": 1, "tail_chain": 6}}


def cycles(values: Mapping[str, int]) -> dict[str, int]:
    """Return the cycles of each piece: a call has a taken branch of its own."""
    empty = 2 + values["refill"]
    bodies = {"load": values["load"], "call": values["call"] + values["refill"]}
    return {"loop": LOOPS * empty} | {name: LOOPS * (empty + 4 * body) for name, body in bodies.items()}


def results(measured: Mapping[str, int], virtual: Mapping[str, int]) -> tuple[PieceCycles, ...]:
    usual = (Setting(wait_states=2, has_caches=True),)
    return tuple(
        PieceCycles(
            piece=piece.name,
            place="flash",
            offset=0,
            loops=LOOPS,
            repeats=piece.repeats,
            settings=usual,
            measured=(measured[piece.name],),
            virtual=(virtual[piece.name],),
        )
        for piece in (LOOP, LOAD, CALL)
    )


def try_out(tables: Tables, _piece: Piece) -> Bodies:
    taken = cycles(tables[CORE])
    return bodies_of(results(taken, taken))


def test_what_a_byte_of_dma_costs() -> None:
    alone, beside = results({"loop": 96, "load": 3200, "call": 3216}, dict.fromkeys(("loop", "load", "call"), 0))[1:]
    beside = beside.model_copy(update={"base": alone.piece, "dma_bytes": 8})
    assert (
        bodies_of([*results(cycles(SHIPPED[CORE]), cycles(SHIPPED[CORE]))[:1], alone, beside], is_measured=True)[
            "call", "flash", 0
        ]
        == 2
    )


def judged(measured: Mapping[str, int]) -> dict[str, RuleResult]:
    found = Judge(
        load_board("nucleo_f401re"),
        (LOOP, LOAD, CALL),
        SHIPPED,
        results(measured, cycles(SHIPPED[CORE])),
        try_out,
    ).verdicts()
    return {each.rule: each for each in found}


def test_a_board_that_takes_what_its_rules_say_confirms_them() -> None:
    rules = judged(cycles(SHIPPED[CORE]))
    assert {rule.verdict for name, rule in rules.items() if name != "tail_chain"} == {Verdict.CONFIRMED}
    assert rules["load"].fits == 2
    assert rules["tail_chain"] == RuleResult(table=CORE, rule="tail_chain", value=6, verdict=Verdict.UNKNOWN)


def test_another_value_is_found() -> None:
    rules = judged(cycles({**SHIPPED[CORE], "load": 3}))
    assert (rules["load"].verdict, rules["load"].fits) == (Verdict.CORRECTED, 3)
    assert rules["call"].verdict is Verdict.CONFIRMED


def test_a_corrected_rule_of_the_loop_holds_for_the_others() -> None:
    rules = judged(cycles({**SHIPPED[CORE], "refill": 2}))
    assert (rules["refill"].verdict, rules["refill"].fits) == (Verdict.CORRECTED, 2)
    assert rules["call"].verdict is Verdict.CONFIRMED


def test_cycles_that_no_value_explains_leave_a_rule_unknown() -> None:
    measured = cycles(SHIPPED[CORE])
    rules = judged({**measured, "load": measured["load"] + 2 * LOOPS})
    assert (rules["load"].verdict, rules["load"].fits, rules["load"].piece) == (Verdict.UNKNOWN, None, "load")
