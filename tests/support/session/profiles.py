"""How many random cases the tests try: `quick`, `full` or `nightly`.

`./run check` uses quick (a few cases, answers while you work), `./run test` uses full (the default), and nightly tries
more cases than anybody wants to wait for. Choose one with `pytest --profile NAME` or the environment variable
TINYSPLIT_TEST_PROFILE. A test asks for its count where it uses it, so that the three stand side by side:

    N_PROBLEMS = cases(quick=20, full=200, nightly=4000)

    @settings(max_examples=cases(quick=20, full=100, nightly=1000))
    @given(...)

Hypothesis tests without a count of their own have one from here. Tests that take more than about a second with few
cases are marked `slow` and left out of quick; those that take long and add little beside others are marked `nightly`.
"""

import os
from enum import StrEnum

from hypothesis import settings

VARIABLE = "TINYSPLIT_TEST_PROFILE"


class Profile(StrEnum):
    QUICK = "quick"
    FULL = "full"
    NIGHTLY = "nightly"


def use(profile: Profile) -> None:
    """Choose the profile of this process and of those that it starts, before any test module is imported.

    Hypothesis repeats its examples but at night, and never fails an example for the time that it took.
    """
    os.environ[VARIABLE] = profile
    examples = cases(quick=20, full=100, nightly=1000)
    is_nightly = profile is Profile.NIGHTLY
    settings.register_profile(profile, max_examples=examples, deadline=None, derandomize=not is_nightly)
    settings.load_profile(profile)


def current() -> Profile:
    return Profile(os.environ.get(VARIABLE, Profile.FULL))


def markers_left_out() -> tuple[str, ...]:
    """Return the markers of the tests that the current profile does not run."""
    return {Profile.QUICK: ("slow", "nightly"), Profile.FULL: ("nightly",), Profile.NIGHTLY: ()}[current()]


def cases(*, quick: int, full: int, nightly: int) -> int:
    """Return the number of random cases in the current profile."""
    assert 0 < quick <= full <= nightly, "a longer profile tries no fewer cases"
    return {Profile.QUICK: quick, Profile.FULL: full, Profile.NIGHTLY: nightly}[current()]
