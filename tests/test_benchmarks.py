import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import choices
from common.networks import MODELS, NETWORKS, QUIET
from common.runs import Ran, ran
from common.tables import MarkdownTable
from common.ten_networks import write_networks
from families import conclude
from themes import THEMES, benchmarks_of, find, main
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.settings import CostSettings
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
QUOTED = re.compile(
    r"python benchmarks\b(?: ([^`\n]*(?:\n[^`\n]+)?))?`|^ {4}\S*python benchmarks\b(?: (.*))?$", re.MULTILINE
)


def quoted_commands() -> Iterator[tuple[str, str]]:
    """Yield the pages and the commands that they quote, in lines of code or between backticks."""
    for page in PAGES:
        for found in QUOTED.finditer(page.read_text(encoding="utf-8")):
            if command := found[1] or found[2]:
                yield page.name, command


WITHOUT_EXTRAS = """
import runpy, sys
sys.modules |= dict.fromkeys(("capstone", "cryptography", "cvxpy", "distributed", "matplotlib", "PIL", "unicorn"))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("words", [[], ["--help"], ["memory"]])
def test_listing_needs_no_extra(words: list[str]) -> None:
    command = [sys.executable, "-c", WITHOUT_EXTRAS, str(BENCHMARKS), *words]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "memory: " in text
    assert " options " in text


def test_the_command_lists_every_benchmark_with_its_time() -> None:
    command = [sys.executable, str(BENCHMARKS)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    files = [path for path in BENCHMARKS.glob("*.py") if path.stem not in {"__main__", "themes"}]
    for path in files:
        (section,) = re.findall(rf"^{path.stem}: .+\n((?:  .+\n)+)", text, re.MULTILINE)
        lines = section.splitlines()
        assert len(lines) == path.read_text(encoding="utf-8").count("@benchmark(")
        assert all(re.fullmatch(r"  [a-z-]+ +[A-Z][^.]+\b.*\. Takes .+\.", line) for line in lines)
    assert len(files) == len(THEMES)


def test_a_theme_alone_lists_its_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory"])
    listed = re.findall(r"^  (\S+)", capsys.readouterr().out, re.MULTILINE)
    assert listed == ["programs", "arena", "copies", "options"]


@pytest.mark.parametrize("theme", THEMES)
def test_help_says_what_is_measured_and_how_long_it_takes(theme: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, benchmark in benchmarks_of(theme).items():
        with pytest.raises(SystemExit) as end:
            main([theme, name, "--help"])
        assert end.value.code == 0
        text = capsys.readouterr().out
        assert text.startswith(f"usage: benchmarks {theme} {name} ")
        assert benchmark.description in text
        assert f"Takes {benchmark.takes}." in text


def test_commands_of_the_docs_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    commands = list(quoted_commands())
    for page, command in commands:
        try:
            theme, benchmark, options = find(shlex.split(command))
            benchmark.parser(theme).parse_args(options)
        except (UsageError, SystemExit) as error:
            pytest.fail(f"{page}: python benchmarks {command}: {error} {capsys.readouterr().err}")
    assert len(commands) > 20  # the pattern finds them


def test_the_docs_name_no_file_that_is_not_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"benchmarks/\w+\.py", page.read_text(encoding="utf-8"))}
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize(("page", "shown"), [("faster.md", choices.FASTER), ("fit.md", choices.FIT)])
def test_pages_have_the_choices_that_a_benchmark_prints(page: str, shown: tuple[choices.Choice, ...]) -> None:
    text = (ROOT / "docs" / "do" / page).read_text(encoding="utf-8")
    assert [choice.change for choice in shown if choice.change not in text] == []


@pytest.mark.skipif(not NETWORKS["KWS"].model.exists(), reason=f"no KWS in {MODELS}")
def test_a_choice_gives_figures() -> None:
    (row,) = choices.rows(choices.FIT, "one board")
    assert None not in (row.latency_s, row.period_s, row.energy_j)
    assert 0 < (row.ram_bytes or 0) < (row.flash_bytes or 0)


def test_the_name_of_an_only_benchmark_may_be_left_out() -> None:
    assert find(["link", "--seeds", "2"]) == ("link", benchmarks_of("link")["line"], ["--seeds", "2"])
    assert find(["link", "line", "--seeds", "2"]) == find(["link", "--seeds", "2"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "no theme is called nothing: there are kernels, memory"),
        (["memory", "--json"], "memory needs one of these names: programs, arena, copies, options"),
        (["memory", "nothing"], "memory needs one of these names: programs, arena, copies, options"),
        (["link", "nothing"], "link needs one of these names: line"),
    ],
)
def test_what_is_unknown_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        find(words)
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == UsageError.exit_code
    assert capsys.readouterr().err.startswith(f"error: {message}")


@dataclass(frozen=True)
class Row:
    network: str
    cycles: int
    error: str | None


ROWS = (Row("KWS", 8_800_000, "0.50"), Row("Tiny-CNN", 12, None))


def test_tables_are_markdown_with_grouped_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    table = MarkdownTable("network", numbers=("cycles", "error"), last=("remark",))
    rows = table.print_rows(ROWS, lambda row: (row.network, row.cycles, row.error, "a"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "| network | cycles | error | remark |",
        "|---|---:|---:|---|",
        "| KWS | 8 800 000 | 0.50 | a |",
        "| Tiny-CNN | 12 | - | a |",
    ]
    assert rows == list(ROWS)


def test_json_has_the_rows_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    MarkdownTable("network").print_rows(ROWS, lambda row: (row.network,), as_json=True)
    assert json.loads(capsys.readouterr().out) == [
        {"network": "KWS", "cycles": 8_800_000, "error": "0.50"},
        {"network": "Tiny-CNN", "cycles": 12, "error": None},
    ]


def test_networks_of_families_differ_in_kind_and_do_not_saturate(tmp_path: Path) -> None:
    kinds = set()
    for model, samples in write_networks(tmp_path).values():
        graph = import_model(model)
        x = load_samples(samples, graph)
        quantized = quantize_model(graph, model, x, 8, QUIET).quantized
        first, second = run_integer(quantized, x.x[:2])
        assert not np.array_equal(first, second)
        kinds.add(frozenset(type(layer.layer) for layer in quantized.layers))
    assert len(kinds) == 10


def test_a_network_on_a_board_is_exact_or_refused(tmp_path: Path) -> None:
    files = write_networks(tmp_path)["quantized"]
    exact = ran(*files, ("nucleo_f072rb",), CostSettings())
    assert (exact.result, exact.is_wrong, exact.t_error) == ("yes", False, None)
    refused = ran(*files, ("nucleo_f072rb",), CostSettings(max_latency_s=1e-6))
    assert refused.is_refused
    assert not refused.is_wrong


def test_pairs_of_families_print_what_t_was(capsys: pytest.CaptureFixture[str]) -> None:
    main(["families", "pairs", "--family", "stm32f1", "--family", "stm32l5", "--only", "Tiny-CNN"])
    text = capsys.readouterr().out
    times = r"\| [\d.]+ \| [\d.]+ \| [-+][\d.]+ %"
    assert re.search(rf"^\| tiny_cnn \| stm32f103ze, nucleo_l552ze_q \| 512 {times} \| yes \|$", text, re.MULTILINE)
    assert re.search(
        r"^T of 1 splits, without sign: median [\d.]+%, largest [\d.]+%, [01] within 1%$", text, re.MULTILINE
    )
    assert text.endswith("\n1 of 1 bit-exact, 0 refused\n")


def test_a_network_that_is_generated_and_not_exact_fails() -> None:
    wrong = Ran("n", ("nucleo_f072rb",), 8, "1 of 2 outputs differ")
    refused = replace(wrong, is_refused=True)
    conclude([refused], as_json=True)
    with pytest.raises(CheckFailedError, match="1 of 2 are not bit-exact"):
        conclude([wrong, refused], as_json=True)
