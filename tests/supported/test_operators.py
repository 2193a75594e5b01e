"""docs/reference/operators.md is what the importers and kernels declare."""

from pathlib import Path

from tinysplit.network.layers import KINDS
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.supported.kernels import kernels_by_kind
from tinysplit.supported.tables import operators_to_json, operators_to_markdown

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "operators.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == operators_to_markdown(), (
        "run `tinysplit operators --markdown > docs/reference/operators.md`"
    )


def test_an_operator_is_what_it_declares() -> None:
    found = {each["name"]: each for each in operators_to_json()["operators"]}
    assert found["BatchNormalization"] == {
        "name": "BatchNormalization",
        "meaning": "Compute gamma * (x - mean) / sqrt(variance + epsilon) + beta.",
        "attributes": ["epsilon", "training_mode"],
        "ignored": ["momentum"],
        "kinds": ["depthwise_conv"],  # where nothing before it can take it
        "refused": [
            "is in training mode: export the model for inference (model.eval())",
            "has scales of ... channels, but its input has ...",
        ],
    }
    assert all(each["meaning"].endswith(".") for each in found.values())
    assert "lacks its operand ..." in operators_to_json()["general_refusals"]


def test_layers_of_all_operators_have_kernels() -> None:
    kernels = kernels_by_kind()
    made = {kind for operator in OPERATORS.values() for kind in operator.kinds} | {"permute", "pad"}
    assert made == set(kernels)
    assert made < set(KINDS)
    for by_case in kernels.values():
        assert all("direct" in names for names in by_case.values())
    packed = ("packed", "two_windows", "unpacked", "unpacked_8k", "unpacked_16k")
    assert kernels["conv"]["cortex-m0plus", 8] == (*packed, "direct")
    assert "dual_mac" in kernels["dense"]["cortex-m4", 16]
