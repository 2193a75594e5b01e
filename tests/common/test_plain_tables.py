from tinysplit.common.tables import NAME_WIDTH, shortened


def test_long_names_keep_their_ends() -> None:
    assert shortened("conv1") == "conv1"
    assert shortened("/features/block.12/conv1/Conv", 11) == "…conv1/Conv"
    assert len(shortened("x" * 300)) == NAME_WIDTH
