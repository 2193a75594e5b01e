"""The declarations of choices: their names on every face, and that each face uses them."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter, ValidationError

from tinysplit import settings
from tinysplit.api import CostSettings, ExploreSettings, Goal, LinkSetting, MeasureSettings, Search
from tinysplit.cli.app import _COMMANDS, imported_command
from tinysplit.common.errors import TinysplitError, UsageError
from tinysplit.project.split_file import SplitFile
from tinysplit.settings.boards_and_links import BAUD, BOARD, LINK, MAX_BOARDS, USE_ALL
from tinysplit.settings.costs import BITS_PER_BYTE, MAX_ENERGY, MAX_FLASH, MAX_LATENCY, MAX_PERIOD, MAX_PRICE
from tinysplit.settings.fixed_point import BITS, MAX_ACCURACY_DROP
from tinysplit.settings.measurement import SAMPLE_COUNT
from tinysplit.settings.programs import DIAGNOSTICS, HOST_BAUD, WEIGHTS
from tinysplit.settings.result_files import FORCE
from tinysplit.settings.search import BEST, INPUT_AT, OUTPUT_AT, REPLICATE, TIME_LIMIT, TOTAL_TIME
from tinysplit.settings.setting import SETTINGS, Setting, as_argument, begun_by, either, worded

ROOT = Path(__file__).parents[2]
for _module in iter_modules(settings.__path__):
    import_module(f"tinysplit.settings.{_module.name}")


def options() -> Iterator[Any]:
    """Yield the options of all commands, as click has them."""
    for name in _COMMANDS:
        command = imported_command(name)
        for each in (command, *getattr(command, "commands", {}).values()):
            yield from (parameter for parameter in each.params if parameter.param_type_name == "option")


OPTIONS = list(options())


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_a_setting_is_an_option_of_a_command(setting: Setting) -> None:
    named = [each for each in OPTIONS if each.name == setting.name]
    assert named
    for each in named:
        assert each.opts[0] == setting.option
        assert each.secondary_opts == ([setting.off] if setting.has_off else [])
    beginning = worded(setting.help).split("{}")[0]
    as_declared = [each for each in named if each.help.startswith(beginning)]
    assert beginning
    assert as_declared
    assert all(each.rich_help_panel == setting.heading for each in as_declared)
    assert all((each.min, each.max) == (setting.at_least, setting.at_most) for each in as_declared)


RANGED = (
    (CostSettings, BAUD, "baud"),
    (CostSettings, HOST_BAUD, "host_baud"),
    (CostSettings, BITS_PER_BYTE, "bits_per_byte"),
    (CostSettings, MAX_LATENCY, "max_latency_s"),
    (CostSettings, MAX_PERIOD, "max_period_s"),
    (CostSettings, MAX_ENERGY, "max_energy_j"),
    (CostSettings, MAX_FLASH, "max_flash_bytes"),
    (LinkSetting, BAUD, "baud"),
    (Search, TIME_LIMIT, "time_limit_s"),
    (Search, INPUT_AT, "input_board"),
    (Search, OUTPUT_AT, "output_board"),
    (ExploreSettings, MAX_BOARDS, "max_boards"),
    (ExploreSettings, BEST, "n_best"),
    (ExploreSettings, MAX_PRICE, "max_price"),
    (ExploreSettings, TIME_LIMIT, "time_limit_s"),
    (ExploreSettings, TOTAL_TIME, "total_time_s"),
    (MeasureSettings, SAMPLE_COUNT, "sample_count"),
    (Goal, MAX_ACCURACY_DROP, "max_drop"),
    (SplitFile, BITS_PER_BYTE, "bits_per_byte"),
    (SplitFile, MAX_LATENCY, "max_latency_s"),
    (SplitFile, MAX_PERIOD, "max_period_s"),
    (SplitFile, MAX_ENERGY, "max_energy_j"),
    (SplitFile, MAX_FLASH, "max_flash_bytes"),
)


@pytest.mark.parametrize(("kind", "setting", "field"), RANGED, ids=lambda value: getattr(value, "__name__", str(value)))
def test_scripts_and_files_take_the_range_of_a_setting(kind: type, setting: Setting, field: str) -> None:
    values = TypeAdapter(get_type_hints(kind, include_extras=True)[field])
    step = 1 if setting.above is None else 0.5
    lowest = setting.at_least if setting.above is None else setting.above + step
    assert lowest is not None
    assert values.validate_python(lowest) == lowest
    with pytest.raises(ValidationError):
        values.validate_python(lowest - step)
    if setting.at_most is not None:
        assert values.validate_python(setting.at_most) == setting.at_most
        with pytest.raises(ValidationError):
            values.validate_python(setting.at_most + 1)


def test_ranges_that_a_user_sees() -> None:
    assert {setting.name for setting in SETTINGS.values() if setting.above == 0} == {
        "max_latency",
        "max_period",
        "max_energy",
        "frame_period",
        "max_price",
        "time_limit",
        "total_time",
        "frame_rate",
        "battery_mah",
    }
    assert (BITS_PER_BYTE.at_least, BITS_PER_BYTE.at_most) == (8, 12)


def test_a_second_setting_of_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="max_boards is declared twice"):
        Setting("max_boards")
    assert SETTINGS["max_boards"] is MAX_BOARDS


@pytest.mark.parametrize(
    ("text", "option", "argument"),
    [
        (f"{MAX_BOARDS} 0: a set", "--max-boards 0: a set", "max_boards 0: a set"),
        (f"{LINK} 1-2:none; {BOARD}", "--link 1-2:none; --board", "links 1-2:none; boards"),
        (f"use {WEIGHTS('binary')}", "use --weights binary", 'use weights="binary"'),
        (f"{BITS('auto')}, {BITS} 8", "--bits auto, --bits 8", "a goal, bits 8"),
        (f"with {FORCE(True)}", "with --force", "with force=True"),
        (f"{USE_ALL(False)}", "--no-use-all", "use_all=False"),
        (f"{USE_ALL}", "--use-all", "use_all"),
        (f"{DIAGNOSTICS(False)}", "--no-diagnostics", "has_diagnostics=False"),
        (f"{REPLICATE(True)}", "--replicate", "copies=Copies.ALWAYS"),
        (f"{either('add --it', 'do that')}: {FORCE}", "add --it: --force", "do that: force"),
        (f"`tinysplit flash {FORCE.option}`", "`tinysplit flash --force`", "`tinysplit flash --force`"),
        ("no choice\ufffd", "no choice\ufffd", "no choice\ufffd"),
    ],
)
def test_each_face_has_its_names(text: str, option: str, argument: str) -> None:
    assert worded(text) == str(TinysplitError(text)) == option
    assert worded(text, as_argument) == argument
    assert TinysplitError(text).message == text


def test_the_setting_that_a_message_begins_with() -> None:
    assert begun_by(f"{WEIGHTS('binary')}: weights, {FORCE}") == (WEIGHTS, f" binary: weights, {FORCE}")
    assert begun_by(f"{FORCE} 1") == (FORCE, " 1")
    assert begun_by(f"use {FORCE}") is None
    assert UsageError(f"use {FORCE}", FORCE).setting is FORCE


# What no message says: the head of a file that boards get, and a page that a command prints.
_OUTSIDE_MESSAGES = {"bench/discover.py", "supported/tables.py"}


def test_packages_below_the_faces_name_no_options() -> None:
    names = {name for each in OPTIONS for name in (*each.opts, *each.secondary_opts) if name.startswith("--")}
    option = re.compile(rf"(?<![\w-])({'|'.join(sorted(names, key=len, reverse=True))})(?![\w-])")
    found = []
    for folder in (ROOT / "generator" / "tinysplit", ROOT / "hil" / "tinysplit_hil"):
        for path in folder.rglob("*.py"):
            place = path.relative_to(folder)
            if place.parts[0] in {"cli", "api"} or place.as_posix() in _OUTSIDE_MESSAGES:
                continue
            lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            found += [f"{path}:{number}: {line.strip()}" for number, line in lines if option.search(line)]
    assert not found
