"""The licence list (licenses.toml), and whether it is equal to what is installed."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.markers import Marker

from dependencies import DEVELOPMENT_EXTRAS, EXTRAS_NOT_IN_TESTS, Graph, dependency_graph, is_complete, users_extras

PATH = Path(__file__).parents[1] / "licenses.toml"

# SPDX licences that a classifier, or the same words in the field `License`, may stand for.
_MEANINGS = {
    "Apache Software License": frozenset({"Apache-1.1", "Apache-2.0"}),
    "BSD License": frozenset({"0BSD", "BSD-2-Clause", "BSD-3-Clause"}),
    "ISC License": frozenset({"ISC"}),
    "ISC License (ISCL)": frozenset({"ISC"}),
    "MIT License": frozenset({"MIT"}),
    "Mozilla Public License 2.0 (MPL 2.0)": frozenset({"MPL-2.0"}),
}
_NAME_NO_LICENSE = frozenset({"DFSG approved", "OSI Approved", "Other/Proprietary License"})  # these classifiers


@dataclass(frozen=True)
class ListedLicense:
    """What licenses.toml has about a package: an SPDX licence expression, and what else is to be known."""

    license: str
    metadata: str | None = None  # what the package's metadata says, if that is wrong or no SPDX expression
    why: str = ""  # where the licence stands then
    marker: str = ""  # the environments (PEP 508) in which the package is installed, if not in all

    @property
    def is_expected(self) -> bool:
        """Whether the package is installed on a machine such as this one."""
        return not self.marker or Marker(self.marker).evaluate()


@dataclass(frozen=True)
class Claim:
    """What the metadata of a package says about its licence: an SPDX expression where it is clear, and the words."""

    expression: str | None
    words: str


@dataclass(frozen=True)
class InstalledPackage:
    """A package that is required here: the section of the list that it belongs into, what requires it, its claim."""

    section: str
    required_by: str
    claim: Claim


Sections = Mapping[str, Mapping[str, ListedLicense]]


def read_list(path: Path = PATH) -> Sections:
    """Return the sections of the licence list with their packages."""
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        section: {
            name: ListedLicense(entry) if isinstance(entry, str) else ListedLicense(**entry)
            for name, entry in entries.items()
        }
        for section, entries in sections.items()
    }


def claim(fields: Message | metadata.PackageMetadata) -> Claim:
    """Return what core metadata claims by `License-Expression`, else by `License` and the classifiers together.

    They are clear if there is exactly one licence that each of them may mean. A `License` of several lines is the
    text of a licence, which may be any.
    """
    for expression in fields.get_all("License-Expression") or []:
        return Claim(next(iter(_meanings(expression)), None), expression)
    words = [text for text in fields.get_all("License") or [] if text not in {"", "UNKNOWN"} and "\n" not in text]
    classifiers = [text.split(" :: ") for text in fields.get_all("Classifier") or []]
    words += [parts[-1] for parts in classifiers if parts[0] == "License" and parts[-1] not in _NAME_NO_LICENSE]
    meanings = [_meanings(text) for text in words]
    common = frozenset.intersection(*meanings) if meanings else frozenset()
    return Claim(next(iter(common)) if len(common) == 1 else None, " / ".join(dict.fromkeys(words)) or "nothing")


def _meanings(words: str) -> frozenset[str]:
    try:
        return frozenset({canonicalize_license_expression(words)})
    except InvalidLicenseExpression:
        return _MEANINGS.get(words, frozenset())


def graphs() -> Mapping[str, Graph]:
    """Return what is required here, by section: a package belongs into the first one whose graph has it.

    Raises:
        MissingPackageError: if a package of an extra that tests install is not installed.
    """
    others = {extra for extra in EXTRAS_NOT_IN_TESTS if is_complete(extra)}
    return {
        "runtime": dependency_graph(),
        "optional": dependency_graph(users_extras()),
        "development": dependency_graph(users_extras() | DEVELOPMENT_EXTRAS),
        "not_in_tests": dependency_graph(others),
    }


def installed_packages() -> dict[str, InstalledPackage]:
    """Return all packages that are required here by their names."""
    found: dict[str, InstalledPackage] = {}
    for section, graph in graphs().items():
        for package, required in graph.items():
            for name in sorted(required - found.keys()):
                found[name] = InstalledPackage(section, package, claim(metadata.metadata(name)))
    return found


def problems(sections: Sections, installed: Mapping[str, InstalledPackage]) -> Iterator[str]:
    """Yield a line with the remedy for each difference between the list and what is installed."""
    for name, package in sorted(installed.items()):
        listed_in = [section for section, entries in sections.items() if name in entries]
        who = f"{name} (required by {package.required_by})"
        if not listed_in:
            yield f"{who} is not in {PATH.name}: add {name} = {_proposed(package.claim)} to [{package.section}]"
        elif listed_in != [package.section]:
            yield f"{who} is in [{'], ['.join(listed_in)}] of {PATH.name}: move it to [{package.section}]"
        elif not _agree(sections[package.section][name], package.claim):
            yield (
                f"{who}: its metadata says '{package.claim.words}', which is neither the licence nor the `metadata` of "
                f"{PATH.name}: read its licence, then correct the entry to {name} = {_proposed(package.claim)}"
            )
    for section, entries in sections.items():
        for name, listed in entries.items():
            if section != "not_in_tests" and name not in installed and listed.is_expected:
                yield f"{name} is in {PATH.name}, and nothing that is installed requires it: remove it from [{section}]"


def _proposed(claimed: Claim) -> str:
    """Return an entry of the list, complete if the claim is clear."""
    return (
        f'"{claimed.expression}"'
        if claimed.expression
        else f'{{ license = "?", metadata = "{claimed.words}", why = "?" }}'
    )


def _agree(listed: ListedLicense, claimed: Claim) -> bool:
    if claimed.expression and _conjunction(claimed.expression) == _conjunction(listed.license):
        return True
    return claimed.words == listed.metadata and bool(listed.why)


def _conjunction(expression: str) -> frozenset[str]:
    """Return the licences that apply together: their order has no meaning."""
    return frozenset(canonicalize_license_expression(expression).split(" AND "))
