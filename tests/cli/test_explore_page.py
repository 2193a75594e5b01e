"""`tinysplit explore --serve`: figures are those of a split, others are refused, and a browser shows and moves it."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from commands.command_line import TOOL, USAGE, run
from commands.devtools import browser_page
from example_folders.example import MODEL
from tinysplit import api
from tinysplit.cli.web.explorer import Explorer
from tinysplit.common.errors import CheckFailedError, InputError, UsageError

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
BOARDS = ("-b", G0, "-b", F4)
CUT = "1-4:1,5-7:2"
CHOICE = {"boards": [G0, F4], "bits": 8, "baud": 921_600, "objective": "latency", "assignment": CUT}
LEFT, TAB = ("ArrowLeft", 37), ("Tab", 9)


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Serve the page, with `folder` as current folder, and yield its address; Ctrl-C ends it without an error."""
    command = [sys.executable, "-m", "tinysplit", "explore", str(MODEL), "--serve", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=60)
        assert process.returncode == 0, messages
        assert messages.splitlines()[-1] == "stopped"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served"), *BOARDS) as found:
        yield found


@pytest.fixture
def explorer(tmp_path: Path) -> Explorer:
    return Explorer(api.load_model(MODEL), MODEL, (G0, F4), tmp_path / "split.json")


def asked(address: str, name: str, data: object, **headers: str) -> tuple[int, Any]:
    """Return status and answer of a request of the page, with other headers."""
    place = urlsplit(address)
    assert place.hostname == "127.0.0.1"
    connection = HTTPConnection(place.hostname, place.port, timeout=60)
    body = data if isinstance(data, str) else json.dumps(data)
    connection.request("POST", place.path + name, body, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.status, json.loads(text) if text.startswith("{") else text


def test_figures_are_those_of_a_split(explorer: Explorer) -> None:
    found = explorer.predict(CHOICE)
    same = api.split(MODEL, [G0, F4], api.CostSettings(baud=921_600), api.Search(assignment=CUT))
    assert found["assignment"] == CUT
    for seconds in (same.latency_s, same.period_s, same.l_s, same.t_s):
        assert f"{1000 * seconds:.2f} ms" in found["figures"]
    assert f"{1000 * (same.energy_j or 0):.3g} mJ" in found["figures"]
    assert "<td>after layer 4</td>" in found["figures"]


def test_without_an_assignment_it_is_the_best_one(explorer: Explorer) -> None:
    found = explorer.predict({**CHOICE, "assignment": None})
    assert found["assignment"] == api.predict(MODEL, [G0, F4], baud=921_600).assignment


def test_the_command_writes_what_the_page_writes(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(explorer.out.parent)
    choice = {**CHOICE, "objective": "throughput", "bits": 16}
    explorer.write(choice)
    written = json.loads(explorer.out.read_text())
    explorer.out.unlink()
    program, *words = explorer.predict(choice)["command"].split()
    run(*words)
    assert program == "tinysplit"
    assert json.loads(explorer.out.read_text()) == written


def test_a_file_of_the_users_stays(explorer: Explorer) -> None:
    explorer.out.write_text("mine")
    with pytest.raises(InputError, match="was not written by tinysplit"):
        explorer.write(CHOICE)
    assert explorer.out.read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"boards": ["/etc/passwd"]}, UsageError, "there is no board /etc/passwd"),
        ({"boards": []}, UsageError, "boards needs 1 or more entries"),
        ({"bits": 12}, UsageError, "bits has to be 8 or 16"),
        ({"baud": 10**9}, UsageError, "cannot make 1000000000 baud"),
        ({"assignment": "1-4:1"}, UsageError, "layer 5 has no board"),
        ({"more": 1}, UsageError, "more is no known key"),
    ],
)
def test_what_makes_no_sense(change: dict[str, Any], error: type[Exception], text: str, explorer: Explorer) -> None:
    with pytest.raises(error, match=text):
        explorer.predict({**CHOICE, **change})


def test_what_does_not_fit_says_why(tmp_path: Path) -> None:
    graph = api.NetworkBuilder("large", api.load_model(MODEL).layers[0].in_shape).conv(64, (3, 3)).dense(99).graph()
    explorer = Explorer(graph, MODEL, (G0,), tmp_path / "split.json")
    with pytest.raises(CheckFailedError, match="bytes short"):
        explorer.predict({**CHOICE, "boards": [G0, F4], "assignment": "1-2:1"})


def test_only_its_own_page_is_answered(address: str) -> None:
    assert asked(address, "predict", CHOICE)[0] == 200
    assert asked(address, "predict", CHOICE, Host=f"localhost:{urlsplit(address).port}")[0] == 200
    stranger = address.rsplit("/", 2)[0] + "/another/"
    refused = [
        asked(stranger, "predict", CHOICE),
        asked(address, "predict", CHOICE, Host="example.com"),
        asked(address, "predict", CHOICE, Origin="http://example.com"),
    ]
    assert [status for status, _ in refused] == [403, 403, 403]
    assert "the token is wrong" in refused[0][1]


def test_mistakes_in_requests(address: str) -> None:
    assert asked(address, "predict", "[", Host=urlsplit(address).netloc) == (400, {"error": "this is no JSON"})
    assert asked(address, "predict", CHOICE, **{"Content-Type": "text/plain"})[0] == 400
    assert asked(address, "predict", " " * 100_000)[0] == 413
    assert asked(address, "other", CHOICE)[0] == 404
    status, answer = asked(address, "predict", {**CHOICE, "assignment": "9:1"})
    assert (status, list(answer)) == (422, ["error"])


def test_a_port_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = run("explore", str(MODEL), "--serve", "--port", port, expect=TOOL)
    assert line == f"error: TCP port {port} is in use: choose another one with --port, or 0 for a free one"


def test_options_that_the_page_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = run("explore", str(MODEL), "--serve", "--max-boards", "3", "--json", expect=USAGE)
    assert line == "error: --serve lets you choose on the page: leave --max-boards, --json out"
    assert "name one" in run("explore", str(MODEL), str(MODEL), "--serve", expect=USAGE)
    assert "name types of boards" in run("explore", str(MODEL), expect=USAGE)


@pytest.mark.slow
def test_in_a_browser_by_keyboard(tmp_path: Path) -> None:
    is_done = "document.getElementById('figures')?.ariaBusy === 'false' && document.querySelector('.card .value')"
    command, latency = "document.getElementById('command').textContent", "document.querySelector('.value').textContent"
    with served(tmp_path, *BOARDS) as own, browser_page(tmp_path / "profile") as page:
        for width, is_dark in ((400, False), (700, True), (1400, False)):
            page.open(own, width, is_dark=is_dark)
            page.wait_for(is_done)
            assert page.value("document.documentElement.scrollWidth") <= width
        assert "--assign 1-7:2" in page.value(command)  # the best split
        best = page.value(latency)
        page.value("document.getElementById('best').focus()")
        page.press(*TAB)
        assert page.value("document.activeElement.type") == "range"
        page.press("End", 35)
        for _ in range(3):
            page.press(*LEFT)
        page.wait_for(f"{command}.includes('--assign {CUT}')")
        assert page.value("document.activeElement.getAttribute('aria-valuetext')") == "after layer 4 pool2"
        assert page.value(latency) != best
        page.value("document.getElementById('write').click()")
        page.wait_for("document.getElementById('done').textContent === 'wrote split.json'")
        assert page.console == []
    assert json.loads((tmp_path / "split.json").read_text())["assignment"] == [1, 1, 1, 1, 2, 2, 2]
