"""What `init` refuses to write: values that the commands would refuse, alone or beside the others of the file."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from tinysplit.boards.board import Board, ClockSource, check_baud, no_energy_model
from tinysplit.boards.catalog import load_all
from tinysplit.boards.probe_port import check_probe_baud
from tinysplit.cli.options import HostOptions, PrecisionOptions, parse_kernels
from tinysplit.cli.search_options import SplitOptions
from tinysplit.common.errors import InputError
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import check_bauds, check_connected
from tinysplit.onnx_import import import_model
from tinysplit.plan.named_kernels import check_possible
from tinysplit.split.problem import Objective
from tinysplit.split.validate import MAX_DEVICES, check_limits, check_size

_SAMPLES = ("samples", "calibration_samples")
_WRITTEN_BY_COMMANDS = ("wiring", "calibration", "rig")  # files that may come later
OptionsT = TypeVar("OptionsT")


def check_values(given: Mapping[str, Any]) -> None:
    """Raise UsageError or InputError for values that commands would refuse.

    `given` has the parameters of commands that have a value. Files that tinysplit writes may be missing.
    """
    _check_files(given)
    boards = load_all(given.get("board", ()))
    kernels = parse_kernels(given.get("kernel"))
    _ = _options(PrecisionOptions, given).chosen
    _options(HostOptions, given).mlperf(copies=0)
    settings = _search_settings(given, len(boards))
    if boards:
        _check_boards(given, boards, replace(settings, objective=given.get("objective", Objective.LATENCY)))
    if "model" in given:
        graph = import_model(given["model"], needs_weights=False)
        if boards:
            check_possible(graph, boards, kernels)


def _options(kind: type[OptionsT], given: Mapping[str, Any], **others: object) -> OptionsT:
    """Return options of commands with the values that are given."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # each kind is a dataclass
    return kind(**{**others, **{name: given[name] for name in names & given.keys()}})


def _check_files(given: Mapping[str, Any]) -> None:
    for path in (Path(given[name]) for name in ("model", *_SAMPLES) if name in given):
        if not path.exists():
            raise InputError(f"{path} is missing: name a file that there is")
    for path in (Path(given[name]) for name in ("model", *_WRITTEN_BY_COMMANDS) if name in given):
        if path.is_dir():
            raise InputError(f"{path} is a folder: a file is needed")


def _search_settings(given: Mapping[str, Any], n_boards: int) -> CostSettings:
    """Return the settings of the costs, checked; the boards may be those of a command line."""
    options = _options(SplitOptions, given, board=[""] * MAX_DEVICES)
    if n_boards:
        check_size(1, n_boards, 1)
    _ = options.search
    if options.is_auto:  # the file of the wiring test may be written later
        options = replace(options, baud=SplitOptions.baud)
    settings = options.settings()
    check_limits(settings.max_latency_s, settings.max_period_s, settings.max_energy_j, settings.frame_period_s)
    return settings


def _check_boards(given: Mapping[str, Any], boards: Sequence[Board], settings: CostSettings) -> None:
    clocked = [board.with_clock(given.get("clock", ClockSource.HSI)) for board in boards]
    check_bauds(clocked, settings.link_settings)
    check_connected(clocked, settings.link_settings)
    asks_for_energy = settings.objective is Objective.ENERGY or isfinite(settings.max_energy_j)
    for board in clocked:
        if baud := given.get("host_baud"):
            check_probe_baud(board.name, baud)
            check_baud(board, board.host_uart, baud, "--host-baud")
        if asks_for_energy and not board.known_power:
            raise InputError(no_energy_model(board.name))
