import numpy as np
import pytest

from tinysplit.network.fixed_point.quotients import ProductQuotient

BYTE_SUMS = (-128 * 9, 127 * 9)


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 5, 7, 9, 12, 25, 49, 64, 255, 256])
@pytest.mark.parametrize("multiplier", [1, 2, 3, 64, 2500])
@pytest.mark.parametrize("limits", [BYTE_SUMS, (0, 127 * 9), (-128 * 4, -1)])
def test_products_equal_quotients_rounded_down(multiplier: int, divisor: int, limits: tuple[int, int]) -> None:
    x = np.arange(limits[0], limits[1] + 1)
    for addend in (0, divisor // 2, -11 * divisor - 1, 3 * divisor):
        found = ProductQuotient.of(multiplier, addend, divisor, limits)
        if found is None:
            assert divisor.bit_count() > 1
            assert multiplier > 3  # too many bits
            continue
        products = x * found.factor + found.offset
        assert max(np.abs(products).max(), np.abs(x * found.factor).max()) < 1 << 31
        assert np.array_equal(products >> found.shift, (x * multiplier + addend) // divisor)


def test_sums_of_many_bits_have_no_product() -> None:
    assert ProductQuotient.of(1, 0, 9, (-(1 << 20), 1 << 20)) is None
    assert ProductQuotient.of(1, 4, 8, (-(1 << 20), 1 << 20)) == (1, 4, 3)
