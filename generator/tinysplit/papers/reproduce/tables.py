"""Tables 2 to 5 of Santamaria 2021 and Table 2 of Mukherjee 2022, computed for comparison, and all others' rows."""

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from tinysplit.common.errors import ToolError
from tinysplit.common.units import KB, MS, PERCENT
from tinysplit.network.analyze import analyze
from tinysplit.papers.plots.frame_rates import frame_rate_plots, frame_rate_rows
from tinysplit.papers.plots.profiles import profile_plot, profile_rows
from tinysplit.papers.plots.waiting_time import waiting_time_plot, waiting_time_rows
from tinysplit.papers.published_costs import PAPER_BAUD
from tinysplit.papers.reproduce.costs import (
    NETWORKS,
    counted_layers,
    published_flash_bytes,
    published_problem,
    published_ram_bytes,
)
from tinysplit.papers.reproduce.dariol_tables import dariol_rows
from tinysplit.papers.reproduce.division_tables import CARBALLO, division_rows
from tinysplit.papers.reproduce.figures import (
    KNOWN_DIFFERENCES,
    MUKHERJEE_TABLE_2,
    NOT_PRINTED,
    ONLY_A_PICTURE,
    OVERLOAD,
    PROPRIETARY,
    TABLE_2,
    TABLE_4,
    TABLE_5_MODEL,
    PipelineRow,
    Table2Row,
    Table4Row,
)
from tinysplit.papers.reproduce.reproduction import MUKHERJEE, SANTAMARIA, Convention, Conventions, Reproduction, Row
from tinysplit.papers.reproduce.santamaria_checks import (
    CONTRADICTIONS,
    contradictions,
    table_3,
    table_5_experiment,
)
from tinysplit.papers.solvers.branch_and_bound import branch_and_bound
from tinysplit.papers.solvers.dichotomic import dichotomic_search
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.problem import Objective, Period
from tinysplit.split.solvers.labels.search import label_search

MILLION = 1_000_000
ROUNDING = 1e-9  # relative
COSTS = (Convention.EIGHT_BITS, Convention.LAST_TWO)


class Platform(StrEnum):
    """A published platform by whose constants the models of costs are evaluated."""

    DARIOL_2023 = "dariol2023"


def reproduce(platform: Platform | None = None) -> Reproduction:
    """Compute every figure whose network and boards can be identified, or those of one platform."""
    if platform is Platform.DARIOL_2023:
        return Reproduction(dariol_rows())
    rows = (
        *(row for published in TABLE_2 for row in _table_2(published)),
        *table_3(),
        *(row for published in TABLE_4 for row in _table_4(published)),
        *_table_5(),
        *waiting_time_rows(),
        *profile_rows(),
        *contradictions(),
        *(row for published in MUKHERJEE_TABLE_2 for row in _pipelines(published)),
        *frame_rate_rows(),
        _overload(),
        *dariol_rows(),
    )
    plots = (waiting_time_plot(), profile_plot(), *frame_rate_plots())
    try:
        return Reproduction((*rows, *division_rows()), plots=plots)
    except ToolError as error:
        return Reproduction(rows, left_out=f"{CARBALLO}: {error}", plots=plots)


def _row(table: str, row: str, quantity: str, published: str, ours: float | str, *conventions: Convention) -> Row:
    """Return a row; a number gets as many decimals as the published one."""
    text = ours if isinstance(ours, str) else f"{ours:.{len(published.partition('.')[2])}f}"
    model = row.partition(",")[0]
    why_not = "" if text == published else KNOWN_DIFFERENCES.get((model, quantity), "" if text else PROPRIETARY)
    return Row(SANTAMARIA, table, row, quantity, published, text, conventions if text else (), why_not)


def _table_2(published: Table2Row) -> Iterator[Row]:
    model = published.model
    printed = (
        ("depth", published.depth),
        ("flash, KB", published.flash_kb),
        ("RAM, KB", published.ram_kb),
        ("MACC, 10^6", published.macc_millions),
    )
    if model not in NETWORKS:
        yield from (_row("2", model, quantity, figure, "") for quantity, figure in printed)
        return
    network = NETWORKS[model]
    graph = network.make()
    counted = counted_layers(graph)
    blocks = _blocks(model)
    normalization = (Convention.UNFOLDED,) if network.normalization_bytes else ()
    flash_bytes = sum(published_flash_bytes(network, layers) for layers in counted)
    ram_bytes = max(map(published_ram_bytes, counted))
    ours = (
        (len(counted), blocks),
        (flash_bytes / KB, (Convention.FLOAT, *normalization)),
        (ram_bytes / KB, (Convention.OVERWRITE, *blocks)),
        (analyze(graph, 8).totals.macc / MILLION, (Convention.MACC,)),
    )
    for (quantity, figure), (value, conventions) in zip(printed, ours, strict=True):
        yield _row("2", model, quantity, figure, value, *conventions)


def _table_4(published: Table4Row) -> Iterator[Row]:
    solved = _Solved(published) if published.model in NETWORKS else None
    blocks = _blocks(published.model)
    for quantity, figure, conventions in (
        ("latency, s", published.latency_s, ()),
        ("latency, sub-models", published.latency_parts, ()),
        ("throughput, 1/s", published.throughput, (Convention.BUSIEST,)),
        ("throughput, sub-models", published.throughput_parts, (Convention.BUSIEST,)),
        ("throughput, % lost", published.drop_percent, (Convention.BUSIEST, Convention.ARROW)),
        ("branch and bound, steps", published.branch_and_bound_steps, (Convention.NODES,)),
    ):
        if figure:
            value = solved.figure(quantity) if solved else ""
            yield _row("4", published.label, quantity, figure, value, *COSTS, *conventions, *blocks)
    n_devices, n_layers = len(published.boards), _depth(published.model)
    full = f"{n_devices}^{n_layers}"
    dichotomic = solved.dichotomic_steps if solved else str(n_devices**2 * (2 * n_layers - 1))
    yield _row("4", published.label, "full search, steps", published.full_steps, full, *blocks)
    yield _row(
        "4", published.label, "dichotomic, steps", published.dichotomic_steps, dichotomic, Convention.ROOT, *blocks
    )


def _table_5() -> Iterator[Row]:
    published = next(row for row in TABLE_4 if row.model == "Tiny-CNN")
    figures = _Solved(published).latency.figures
    (cut,) = figures.cuts
    for (quantity, figure), value in zip(TABLE_5_MODEL.items(), (figures.l_s, figures.t_s, figures.i_s), strict=True):
        yield _row("5", "Tiny-CNN, model", quantity, figure, value, *COSTS, Convention.BLOCKS, Convention.FLOAT_TIMES)
    yield from table_5_experiment(cut.payload_bytes, PAPER_BAUD)


def _pipelines(published: PipelineRow) -> Iterator[Row]:
    """Yield the rows of a pipeline, with its inferences per second and those of replication on both devices."""
    stages = f"{published.nano_stage_ms} + {published.tpu_stage_ms}"
    for quantity, figure in (("partition point", str(published.partition_point)), ("pipeline, ms", stages)):
        yield Row(MUKHERJEE, "2", published.model, quantity, figure, "", (), ONLY_A_PICTURE)
    pipeline = MS / max(published.nano_stage_ms, published.tpu_stage_ms)
    copies = MS / published.nano_ms + MS / published.tpu_ms
    conventions = (Convention.STAGES, Convention.COPIES)
    yield Row(
        MUKHERJEE,
        "2",
        published.model,
        "inferences/s",
        "",
        f"{pipeline:.2f}",
        conventions,
        NOT_PRINTED,
        replicated=f"{copies:.2f}",
    )


def _overload() -> Row:
    """Return the frames per second that the pipeline of Figures 4 and 5 can take; replication takes fewer."""
    published = MUKHERJEE_TABLE_2[0]
    most = MS / max(published.nano_stage_ms, published.tpu_stage_ms)
    return Row(MUKHERJEE, CONTRADICTIONS, published.model, "most frames/s", "", f"{most:.2f}", (), OVERLOAD)


def _blocks(model: str) -> Conventions:
    fuses = model in NETWORKS and _depth(model) < len(NETWORKS[model].make().layers)
    return (Convention.BLOCKS,) if fuses else ()


def _depth(model: str) -> int:
    if model in NETWORKS:
        return len(counted_layers(NETWORKS[model].make()))
    return int(next(row.depth for row in TABLE_2 if row.model == model))


class _Solved:
    """The solved problems of a row of Table 4."""

    def __init__(self, published: Table4Row) -> None:
        problem = published_problem(published.model, published.boards)
        by_period = replace(problem, objective=Objective.THROUGHPUT, period_definition=Period.PAPER)
        self.latency = label_search(problem)
        self.throughput = label_search(by_period)
        self.nodes = branch_and_bound(problem).explored
        dichotomic = dichotomic_search(problem)
        is_best = dichotomic.objective <= self.latency.objective * (1 + ROUNDING)
        self.dichotomic_steps = f"{dichotomic.explored}{'' if is_best else '*'}"

    def figure(self, quantity: str) -> float:
        """Return a quantity of Table 4 by its name."""
        lost_s = self.throughput.objective - period_s(self.throughput.problem, self.throughput.assignment, Period.OLD)
        return {
            "latency, s": self.latency.objective,
            "latency, sub-models": len(self.latency.sub_models),
            "throughput, 1/s": 1 / self.throughput.objective,
            "throughput, sub-models": len(self.throughput.sub_models),
            "throughput, % lost": PERCENT * lost_s / self.throughput.objective,
            "branch and bound, steps": self.nodes,
        }[quantity]
