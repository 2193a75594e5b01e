"""licenses.toml against what is installed; what metadata claims; the messages about differences."""

import re
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
from cyclonedx.spdx import is_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dependencies import PROJECT
from licenses import Claim, InstalledPackage, ListedLicense, claim, installed_packages, problems, read_list

ROOT = Path(__file__).parents[2]
LISTED = {name: listed for entries in read_list().values() for name, listed in entries.items()}
MIT = Claim("MIT", "MIT")
UNCLEAR = (
    'x (required by y) is not in licenses.toml: add x = { license = "?", metadata = "BSD", why = "?" } to [runtime]'
)
DIFFERENT = (
    "x (required by y): its metadata says 'MIT', which is neither the licence nor the `metadata` of licenses.toml: "
    'read its licence, then correct the entry to x = "MIT"'
)


def test_the_list_is_equal_to_what_is_installed() -> None:
    assert list(problems(read_list(), installed_packages())) == []


def test_all_licences_are_spdx_expressions() -> None:
    expressions = {listed.license for listed in LISTED.values()}
    assert [text for text in expressions if not text.startswith("LicenseRef-") and not is_expression(text)] == []


def test_packages_of_extras_that_tests_do_not_install_are_listed() -> None:
    required = {canonicalize_name(Requirement(line).name) for line in metadata.requires(PROJECT) or ()}
    assert required - LISTED.keys() == set()


def test_the_gpl_is_optional_but_for_the_runtime_of_compilers() -> None:
    sections = read_list()
    copyleft = {name: listed.license for name, listed in LISTED.items() if "GPL" in listed.license}
    assert {name for name in copyleft if name not in sections["not_in_tests"]} == {"numpy", "scipy", "unicorn"}
    assert {name for name in copyleft if name in sections["runtime"]} == {"numpy", "scipy"}
    assert "unicorn" in sections["optional"]


def test_the_docs_name_the_licence_of_each_direct_dependency() -> None:
    section = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    named = {}
    for row in re.findall(r"^\| *([*\w].*?) \|(.*)\|$", section, re.MULTILINE)[1:]:
        for name in re.findall(r"[\w-]+(?![\w-]*`)", row[1]):
            named[name] = row[0].strip("*")
    requirements = [Requirement(line) for line in metadata.requires(PROJECT) or ()]
    of_users = [each for each in requirements if not re.search('"(dev|docs)"', str(each.marker))]
    names = {canonicalize_name(requirement.name) for requirement in of_users}
    assert named == {name: LISTED[name].license.split(" AND ")[0] for name in names}


@pytest.mark.parametrize(
    ("fields", "expression", "words"),
    [
        ([("License-Expression", "mit OR apache-2.0")], "MIT OR Apache-2.0", "mit OR apache-2.0"),
        ([("License-Expression", "MIT"), ("License", "BSD")], "MIT", "MIT"),
        ([("License", "MIT")], "MIT", "MIT"),
        ([("License", "MIT License"), ("Classifier", "License :: OSI Approved :: MIT License")], "MIT", "MIT License"),
        (
            [("License", "BSD-2-Clause"), ("Classifier", "License :: OSI Approved :: BSD License")],
            "BSD-2-Clause",
            "BSD-2-Clause / BSD License",
        ),
        (
            [("License", "MPL-2.0"), ("Classifier", "License :: OSI Approved :: BSD License")],
            None,
            "MPL-2.0 / BSD License",
        ),
        ([("Classifier", "License :: OSI Approved :: BSD License")], None, "BSD License"),
        (
            [("License", "A text\n of lines"), ("Classifier", "License :: OSI Approved :: MIT License")],
            "MIT",
            "MIT License",
        ),
        ([("License", "UNKNOWN"), ("Classifier", "License :: OSI Approved :: MIT License")], "MIT", "MIT License"),
        ([("License", "Apache 2.0"), ("Classifier", "License :: OSI Approved")], None, "Apache 2.0"),
        ([("License", "LicenseRef-Own")], "LicenseRef-Own", "LicenseRef-Own"),
        ([("Classifier", "Topic :: Security")], None, "nothing"),
    ],
)
def test_what_metadata_claims(fields: list[tuple[str, str]], expression: str | None, words: str) -> None:
    message = Message()
    for name, value in fields:
        message[name] = value
    assert claim(message) == Claim(expression, words)


@pytest.mark.parametrize(
    ("entry", "claimed"),
    [
        (ListedLicense("MIT"), MIT),
        (ListedLicense("MIT AND Zlib"), Claim("Zlib AND MIT", "Zlib AND MIT")),
        (ListedLicense("GPL-2.0-only", "BSD License", "see COPYING"), Claim(None, "BSD License")),
        (ListedLicense("MIT", "BSD License", "no longer"), MIT),
    ],
)
def test_what_agrees(entry: ListedLicense, claimed: Claim) -> None:
    assert list(problems({"runtime": {"x": entry}}, {"x": InstalledPackage("runtime", "y", claimed)})) == []


@pytest.mark.parametrize(
    ("entries", "claimed", "message"),
    [
        ({}, MIT, 'x (required by y) is not in licenses.toml: add x = "MIT" to [runtime]'),
        (
            {},
            Claim(None, "BSD"),
            UNCLEAR,
        ),
        (
            {"development": {"x": ListedLicense("MIT")}},
            MIT,
            "x (required by y) is in [development] of licenses.toml: move it to [runtime]",
        ),
        (
            {"runtime": {"x": ListedLicense("ISC", "BSD", "a text")}},
            MIT,
            DIFFERENT,
        ),
        (
            {"runtime": {"x": ListedLicense("ISC", "MIT")}},
            MIT,
            DIFFERENT,
        ),
    ],
)
def test_differences_have_a_remedy(entries: dict[str, dict[str, ListedLicense]], claimed: Claim, message: str) -> None:
    assert list(problems(entries, {"x": InstalledPackage("runtime", "y", claimed)})) == [message]


def test_what_is_not_installed_is_not_listed_unless_its_marker_says_why() -> None:
    entries = {
        "runtime": {"x": ListedLicense("MIT"), "old": ListedLicense("MIT", marker='python_version < "3"')},
        "not_in_tests": {"z": ListedLicense("MIT")},
    }
    assert list(problems(entries, {})) == [
        "x is in licenses.toml, and nothing that is installed requires it: remove it from [runtime]"
    ]
