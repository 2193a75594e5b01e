"""What `init` refuses to write: values that the commands would refuse."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from tinysplit.boards.catalog import load_all
from tinysplit.cli.options import check_seconds, parse_bits, parse_kernels
from tinysplit.cli.search_options import SplitOptions
from tinysplit.common.errors import InputError
from tinysplit.split.validate import MAX_DEVICES, check_limits


def check_values(given: Mapping[str, Any]) -> None:
    """Raise UsageError or InputError for a value that is wrong whatever a command line adds to the file.

    `given` has the parameters of commands that have a value.
    """
    model = given.get("model")
    if model and not model.is_file():
        raise InputError(f"{model} is {'a folder' if model.is_dir() else 'missing'}: an ONNX file is needed")
    load_all(given.get("board", ()))
    parse_kernels(given.get("kernel"))
    if "bits" in given:
        parse_bits(given["bits"])
    _check_search(given)


def _check_search(given: Mapping[str, Any]) -> None:
    any_boards = [""] * MAX_DEVICES  # which a command line may name
    names = {field.name for field in fields(SplitOptions)}
    options = SplitOptions(**{"board": any_boards, **{name: given[name] for name in names & given.keys()}})
    if options.is_auto:  # the file of the wiring test may be written later
        options = replace(options, baud=SplitOptions.baud)
    settings = options.settings()
    check_limits(settings.max_latency_s, settings.max_period_s, settings.max_energy_j, settings.frame_period_s)
    check_seconds("--time-limit", options.time_limit)
