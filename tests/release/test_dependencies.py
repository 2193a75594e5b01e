"""The walk over the requirements of made-up packages."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dependencies
from dependencies import PROJECT, MissingPackageError, dependency_graph, is_complete, is_installed, users_extras

Install = Callable[..., None]


def clear() -> None:
    is_installed.cache_clear()
    dependencies._all_requirements.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that makes the metadata of a package; nothing else is installed."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])

    def make(name: str, *requirements: str, extras: tuple[str, ...] = ()) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0"]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")

    clear()
    yield make
    clear()


def test_requirements_of_requirements_and_cycles(install: Install) -> None:
    install(PROJECT, "First_Package>=1")
    install("first-package", "second")
    install("second", "first.package")
    install("unrelated")
    assert dependency_graph() == {
        "first-package": frozenset({"second"}),
        "second": frozenset({"first-package"}),
        PROJECT: frozenset({"first-package"}),
    }


def test_markers_and_extras_choose_requirements(install: Install) -> None:
    install(PROJECT, 'a[fast]; extra == "x"', "a", 'never; sys_platform == "none"', extras=("x",))
    install("a", 'b; extra == "fast"', 'c; extra == "slow"', 'd; python_version > "3" and extra == "fast"')
    install("b")
    install("d")
    assert dependency_graph() == {"a": frozenset(), PROJECT: frozenset({"a"})}
    assert dependency_graph({"x"})["a"] == {"b", "d"}


def test_what_is_missing_is_named(install: Install) -> None:
    install(PROJECT, "a", 'b; extra == "plots"', extras=("dev", "plots", "virtual"))
    install("a", "c")
    assert not is_complete("plots")
    assert is_complete("virtual")
    assert users_extras() == {"virtual"}
    with pytest.raises(MissingPackageError, match=r"^c, required by a, is not installed: \./run check installs it$"):
        dependency_graph()
