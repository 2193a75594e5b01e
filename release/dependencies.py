"""The packages that tinysplit and its extras require, from the metadata of what is installed in this environment."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tinysplit.common.errors import CheckFailedError

PROJECT = "tinysplit"
DEVELOPMENT_EXTRAS = frozenset({"dev", "docs"})  # for whoever changes tinysplit
EXTRAS_NOT_IN_TESTS = frozenset({"gallery", "labgrid", "plots", "train", "witness"})  # as `./run test` lacks them

Graph = Mapping[str, frozenset[str]]


class MissingPackageError(CheckFailedError):
    """A required package is not installed."""


def dependency_graph(extras: Iterable[str] = ()) -> Graph:
    """Return the names of all packages that tinysplit with the extras requires, each with those that it requires.

    Names are normalised. tinysplit itself is among them.

    Raises:
        MissingPackageError: if one of them is not installed.
    """
    graph: dict[str, set[str]] = defaultdict(set)
    done: dict[str, set[str]] = defaultdict(set)  # extras of each package; "" are its plain requirements
    queue = [(PROJECT, frozenset(extras))]
    while queue:
        name, wanted = queue.pop()
        new = {"", *wanted} - done[name]
        done[name] |= new
        for requirement in _requirements(name, new) if new else ():
            required = canonicalize_name(requirement.name)
            if not is_installed(required):
                raise MissingPackageError(f"{required}, required by {name}, is not installed: ./run check installs it")
            graph[name].add(required)
            queue.append((required, frozenset(requirement.extras)))
    return {name: frozenset(graph[name]) for name in sorted(done)}


def _requirements(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield what a package requires with the extras, on this machine."""
    for requirement in _all_requirements(name):
        if not requirement.marker or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


@cache
def _all_requirements(name: str) -> tuple[Requirement, ...]:
    return tuple(map(Requirement, metadata.requires(name) or ()))


@cache
def is_installed(name: str) -> bool:
    """Return whether there is a package of that name in this environment."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def users_extras() -> frozenset[str]:
    """Return the extras for users of tinysplit of which tests install all packages."""
    extras = metadata.metadata(PROJECT).get_all("Provides-Extra") or ()
    return frozenset(extras) - DEVELOPMENT_EXTRAS - EXTRAS_NOT_IN_TESTS


def is_complete(extra: str) -> bool:
    """Return whether all packages that an extra of tinysplit names are installed."""
    return all(is_installed(requirement.name) for requirement in _requirements(PROJECT, {extra}))
