"""docs/operators.md is what the importers and kernels say of themselves."""

from pathlib import Path

import pytest

from tinysplit.network.layers import KINDS
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.supported.kernels import kernels_by_kind
from tinysplit.supported.operators import OperatorFacts, general_refusals, operator_facts
from tinysplit.supported.tables import operators_to_markdown

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


@pytest.fixture(scope="module")
def facts() -> dict[str, OperatorFacts]:
    return {each.name: each for each in operator_facts()}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == operators_to_markdown(), (
        "run `tinysplit operators --markdown > docs/operators.md`"
    )


def test_facts_are_those_of_the_functions(facts: dict[str, OperatorFacts]) -> None:
    assert set(facts) == set(OPERATORS)
    convolution = facts["Conv"]
    assert convolution.attributes == ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    assert convolution.kinds == ("depthwise_conv", "conv")
    assert "has ... spatial dimensions: only 1 and 2 are supported" in convolution.refused
    assert (
        "has a window of ...x... that is larger than its padded input ..." in convolution.refused
    )  # window_of says so
    assert facts["MaxPool"].ignored == ("storage_order",)
    assert facts["ReduceMean"].attributes == ("axes", "keepdims", "noop_with_empty_axes")  # `axes` in a method of Node
    assert facts["BatchNormalization"].kinds == ("depthwise_conv",)  # where nothing before it can take it
    assert facts["Transpose"].kinds == ()
    assert "lacks its operand ..." in general_refusals()


def test_layers_of_all_operators_have_kernels(facts: dict[str, OperatorFacts]) -> None:
    kernels = kernels_by_kind()
    made = {kind for each in facts.values() for kind in each.kinds} | {"permute", "pad"}
    assert made == set(kernels)
    assert made < set(KINDS)
    for by_case in kernels.values():
        assert all("direct" in names for names in by_case.values())
    assert kernels["conv"]["cortex-m0plus", 8] == ("packed", "unpacked", "direct")
    assert "dual_mac" in kernels["dense"]["cortex-m4", 16]
