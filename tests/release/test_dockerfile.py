"""The Dockerfile, which no test builds: it installs what `./run` needs, has no root, and runs the demo of README."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions with their arguments."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    parts = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(name, " ".join(rest.split())) for name, _, rest in parts]


def test_the_user_is_not_root_from_the_copy_on() -> None:
    names = [name for name, _ in instructions()]
    assert names == ["FROM", "RUN", "USER", "WORKDIR", "COPY", "RUN", "ENV", "CMD"]
    steps = dict(instructions())
    assert steps["FROM"].startswith("debian:")
    assert f"useradd --create-home {steps['USER']}" in instructions()[1][1]
    assert steps["WORKDIR"].startswith(f"/home/{steps['USER']}/")
    assert steps["COPY"] == f"--chown={steps['USER']} . ."
    assert steps["ENV"] == f"PATH={steps['WORKDIR']}/.venv/bin:$PATH"


def test_it_installs_what_run_looks_for() -> None:
    function = re.search(r"^missing_packages\(\) \{.*?^\}", (ROOT / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert function
    of_tool = re.sub(r"^ *if \[\[ \$1 == tests.*?^ *fi$", "", function[0], flags=re.MULTILINE | re.DOTALL)
    packages = {word for words in re.findall(r"echo ([a-z0-9 -]+)", of_tool) for word in words.split()}
    installed = re.findall(
        r"[a-z][a-z0-9-]+", instructions()[1][1].split("--no-install-recommends", 1)[1].split("&&")[0]
    )
    assert packages
    assert sorted(installed) == sorted({*packages, "ca-certificates"})


def test_it_runs_what_the_readme_does() -> None:
    steps = instructions()
    assert steps[5] == ("RUN", "./run setup")
    command = " ".join(json.loads(dict(steps)["CMD"]))
    assert f"    {command} " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_is_not_copied_is_not_in_the_repository() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "out"} <= set(ignored)
    assert not {"boards", "examples", "firmware", "generator", "hil", "run", "templates"} & set(ignored)
