"""--host-protocol mlperf: a client gets the reference's outputs from one board and from a split; options; measure."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from commands.mlperf_client import MlperfClient
from commands.served_boards import served
from example_folders import example
from session.shared_folder import made_once
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.images import BOOT_S, RunningImage, running_images
from tinysplit_hil.rig.rig import open_rig

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


def boards_of(count: int) -> list[str]:
    return [G0, F4, G0][:count]


def make(out: Path, *boards: str) -> None:
    options = [option for board in boards for option in ("--board", board)]
    split = out.with_suffix(".json")
    run("split", str(example.MODEL), *options, "--use-all", "-o", str(split))
    mlperf = ("--host-protocol", "mlperf", "--mlperf-model", "tiny")
    files = ("--split", str(split), "-s", str(example.CALIBRATION), "-o", str(out))
    run("generate", str(example.MODEL), *files, *mlperf)
    run("build", str(out))


@pytest.fixture(scope="module", params=[1, 2])
def folder(request: pytest.FixtureRequest) -> Path:
    boards = boards_of(request.param)
    return made_once("mlperf-" + "-".join(boards), lambda out: make(out, *boards))


@pytest.fixture
def client(folder: Path, tmp_path: Path) -> Iterator[MlperfClient]:
    (reading,) = Project.read(folder).pipelines[0].input_boards
    with (
        served(folder, "--tcp", "0", temporary=tmp_path) as boards,
        closing(MlperfClient(boards.ports[reading - 1])) as client,
    ):
        yield client


@pytest.mark.slow
def test_every_output_is_the_references(folder: Path, client: MlperfClient) -> None:
    quantized = read_quantized(folder, Project.read(folder))
    with np.load(example.SAMPLES) as samples:
        x = samples["x"][:3]
    inputs, outputs = quantize_input(quantized, x), run_integer(quantized, x)
    assert client.ask("profile")[1] == "m-model-[tiny]"
    for integers, expected in zip(inputs, outputs, strict=True):
        client.load(integers.tobytes())
        seconds, found = client.infer(2, 1)
        assert found == pytest.approx(quantized.output_formats[0].dequantize(expected.ravel()), abs=6e-7)
        project = Project.read(folder)
        estimated_s = project.estimated_l_s + project.estimated_t_s - project.estimated_saved_s
        assert seconds / 2 == pytest.approx(estimated_s, rel=0.25)
        assert client.ask("infer 1 0")[-1] == client.ask("results")[0]


@pytest.mark.slow
def test_a_command_during_inferences_ends_them(folder: Path, client: MlperfClient) -> None:
    quantized = read_quantized(folder, Project.read(folder))
    with np.load(example.SAMPLES) as samples:
        x = samples["x"][:1]
    client.load(quantize_input(quantized, x).tobytes())
    client.send("infer 100000 0")
    client.send("name")
    assert client.lines()[-2] == "e-[The inference was given up]"
    _, found = client.infer(1, 0)
    assert found == pytest.approx(quantized.output_formats[0].dequantize(run_integer(quantized, x).ravel()), abs=6e-7)


@pytest.fixture(scope="module")
def split_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("split") / "split.json"
    run("split", str(example.MODEL), "--board", G0, "-o", str(path))
    return path


def generate(split_file: Path, out: Path, *options: str, expect: int = 0) -> str:
    arguments = ("--split", str(split_file), "-s", str(example.CALIBRATION), "-o", str(out), *options)
    return run("generate", str(example.MODEL), *arguments, expect=expect)


def test_the_usual_baud_rate_is_the_runners(split_file: Path, tmp_path: Path) -> None:
    mlperf = ("--host-protocol", "mlperf", "--mlperf-model", "tiny")
    text = generate(split_file, tmp_path / "usual", *mlperf)
    assert text.splitlines()[-1] == (
        "board 1 (nucleo_g071rb) speaks MLPerf Tiny's protocol at 115200 baud (docs/reference/mlperf.md)"
    )
    generate(split_file, tmp_path / "other", *mlperf, "--host-baud", "9600")
    generate(split_file, tmp_path / "ours")
    bauds = [Project.read(tmp_path / name).host_baud for name in ("usual", "other", "ours")]
    assert bauds == [115200, 9600, 921600]


def test_measure_says_what_to_use(split_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(split_file, out, "--host-protocol", "mlperf", "--mlperf-model", "tiny")
    assert run("measure", str(out), "-s", str(example.SAMPLES), expect=BAD_INPUT) == (
        f"error: {out} speaks MLPerf Tiny's protocol: use the benchmark's runner (docs/reference/mlperf.md), or "
        "generate it with --host-protocol tinysplit"
    )


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        (("--host-protocol", "mlperf"), USAGE, "--host-protocol mlperf needs --mlperf-model"),
        (("--mlperf-model", "kws01"), USAGE, "need --host-protocol mlperf"),
        (("--mlperf-byte-scale", "2"), USAGE, "need --host-protocol mlperf"),
        (
            ("--host-protocol", "mlperf", "--mlperf-model", "ad01"),
            BAD_INPUT,
            "--mlperf-model ad01 compares the output with the input",
        ),
    ],
)
def test_options_that_do_not_fit(
    split_file: Path, tmp_path: Path, options: tuple[str, ...], code: int, error: str
) -> None:
    assert error in generate(split_file, tmp_path / "out", *options, expect=code)


@pytest.mark.slow
def test_the_board_says_what_it_is(folder: Path, tmp_path: Path) -> None:
    (reading,) = Project.read(folder).pipelines[0].input_boards
    with served(folder, "--tcp", "0", temporary=tmp_path) as boards:
        found = json.loads(run("info", boards.ports[reading - 1], "--json"))["programs"]
    assert found[0] == json.loads(run("info", str(folder), "--json"))["programs"][reading - 1]
    assert (found[0]["host_protocol"], found[0]["host_baud"]) == ("mlperf", 115200)


@pytest.mark.slow
def test_flash_finds_out_that_the_board_runs_the_image(folder: Path) -> None:
    project = Project.read(folder)
    numbers = [board.number for board in project.boards]
    with open_rig("virtual", project, folder) as rig:
        images = running_images(project, rig, numbers, wait_s=BOOT_S)
    assert [images[number] for number in numbers] == [
        RunningImage(True, project.project_hash, "", True) for _ in numbers
    ]
    other = project.model_copy(update={"project_hash": project.project_hash ^ 1})
    with open_rig("virtual", project, folder) as rig:
        assert not any(image.is_good for image in running_images(other, rig, numbers).values())
