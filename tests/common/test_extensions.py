"""Parts that are found by name."""

from importlib.metadata import entry_points

import pytest

from tinysplit.common.errors import InputError
from tinysplit.common.extensions import load_extension


def test_a_missing_name_is_said_with_the_installed_ones() -> None:
    with pytest.raises(InputError, match="slice_solvers has no 'greedy': installed are geometric, two-phase;"):
        load_extension("tinysplit.slice_solvers", "greedy")


@pytest.mark.parametrize("group", ["tinysplit.slice_solvers", "tinysplit.cost_models"])
def test_installed_names_can_be_loaded(group: str) -> None:
    names = [each.name for each in entry_points(group=group)]
    assert names
    for name in names:
        assert load_extension(group, name) is not None
