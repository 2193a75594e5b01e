"""The files of a release: the bill of materials against CycloneDX's schema, the files and the packages installed."""

import hashlib
import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import make_release
from dependencies import PROJECT, dependency_graph
from licenses import read_list
from make_release import build, check_committed, main, published_files, release_time
from session import built_release
from tinysplit import __version__
from tinysplit.common.errors import CheckFailedError, ToolError

ROOT = Path(__file__).parents[2]


def bill() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(built_release.bill().read_text(encoding="utf-8"))
    return content


def bill_in_wheel() -> str:
    with zipfile.ZipFile(built_release.wheel()) as archive:
        return archive.read(f"tinysplit-{__version__}.dist-info/sboms/{make_release.BILL_NAME}").decode()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_the_bill_follows_the_schema() -> None:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 (the parsers of its schema take 2 s)
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(built_release.bill().read_text(encoding="utf-8")) is None
    wrong = {**bill(), "components": [], "serialNumber": "1"}
    assert validator.validate_str(json.dumps(wrong)) is not None


@pytest.mark.slow
def test_the_release_has_the_hashes_of_its_files() -> None:
    release = bill()["metadata"]["component"]
    folder = built_release.folder()
    assert [path["content"] for path in release["hashes"]] == [sha256(built_release.wheel())]
    assert {file["url"]: file["hashes"][0]["content"] for file in release["externalReferences"]} == {
        path.name: sha256(path) for path in folder.iterdir() if path != built_release.bill()
    }
    assert (release["purl"], release["licenses"][0]["expression"]) == (
        f"pkg:pypi/tinysplit@{__version__}",
        "Apache-2.0",
    )
    in_wheel = json.loads(bill_in_wheel())
    assert in_wheel["serialNumber"] != bill()["serialNumber"]
    assert in_wheel["components"] == bill()["components"]


@pytest.mark.slow
def test_the_bill_has_what_is_installed() -> None:
    components: dict[str, Any] = {canonicalize_name(component["name"]): component for component in bill()["components"]}
    runtime = dependency_graph().keys() - {PROJECT}
    assert {name for name, component in components.items() if component["scope"] == "required"} == runtime
    listed = read_list()
    assert components.keys() - runtime <= listed["optional"].keys()
    for name, component in components.items():
        assert component["version"] == metadata.version(name)
        assert component["purl"] == f"pkg:pypi/{name}@{component['version']}"
    assert components["unicorn"]["scope"] == "optional"
    assert components["unicorn"]["properties"] == [{"name": "tinysplit:extra", "value": "virtual"}]
    assert components["unicorn"]["licenses"] == [{"expression": "GPL-2.0-only", "acknowledgement": "concluded"}]
    assert components["numpy"]["hashes"] == [{"alg": "SHA-256", "content": "0" * 64}]


@pytest.mark.slow
def test_the_bill_has_the_dependency_graph() -> None:
    graph = {node["ref"]: node.get("dependsOn", []) for node in bill()["dependencies"]}
    assert graph.keys() == {
        component["bom-ref"] for component in [bill()["metadata"]["component"], *bill()["components"]]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    lines = project["dependencies"] + [
        line for extra in ("cluster", "encryption", "virtual") for line in optional[extra]
    ]
    required = {ref.removeprefix("pkg:pypi/").split("@")[0] for ref in graph[f"pkg:pypi/tinysplit@{__version__}"]}
    assert {canonicalize_name(Requirement(line).name) for line in lines} <= required


@pytest.mark.slow
def test_times_and_texts_are_the_same_in_each_build() -> None:
    assert bill()["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    with zipfile.ZipFile(built_release.wheel()) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    (source,) = built_release.folder().glob("*.tar.gz")
    with tarfile.open(source) as archive:
        assert {entry.mtime for entry in archive} == {built_release.SECONDS}
    script = (
        "import sys; from session import built_release as b; "
        "from licenses import read_list; from bill_of_materials import *;"
        "sys.stdout.write(bill_of_materials(read_list(), b.DEPENDENCIES, b.SECONDS))"
    )
    paths = f"{ROOT / 'release'}:{ROOT / 'tests' / 'support'}"
    environment = {"PYTHONPATH": paths, "PYTHONHASHSEED": "1", "TINYSPLIT_TEST_SHARED": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == bill_in_wheel()


@pytest.mark.nightly
def test_two_builds_are_equal(tmp_path: Path) -> None:
    again = build(tmp_path, built_release.DEPENDENCIES, built_release.SECONDS)
    assert [path.read_bytes() for path in again] == [
        (built_release.folder() / path.name).read_bytes() for path in again
    ]


@pytest.mark.slow
def test_hashes_come_from_an_index() -> None:
    options = ("--no-index", "--find-links", str(built_release.folder()))
    wheel = built_release.wheel()
    (found,) = published_files([f"tinysplit=={__version__}"], *options)["tinysplit"]
    assert (found.name, found.sha256) == (wheel.name, sha256(wheel))
    with pytest.raises(ToolError, match="No matching distribution found for tinysplit==99"):
        published_files(["tinysplit==99"], *options)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_a_release_is_that_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_release, "ROOT", tmp_path)
    with pytest.raises(ToolError, match="not a git repository"):
        check_committed()
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "first", "--date", "2024-01-01T00:00:00Z")
    check_committed()
    assert release_time() > 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000")
    assert release_time() == 1000
    (tmp_path / "new.py").touch()
    with pytest.raises(CheckFailedError, match="files differ from the commit: commit or remove "):
        check_committed()


def test_a_release_with_a_wrong_licence_list_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = read_list()
    monkeypatch.setattr(make_release, "read_list", lambda: {**entries, "runtime": {}})
    assert main() == 1
    assert 'release: ajsonrpc (required by platformio) is not in licenses.toml: add ajsonrpc = "MIT" to [runtime]' in (
        capsys.readouterr().err
    )
