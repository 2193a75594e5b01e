import numpy as np
import pytest

from tinysplit_hil.measure.statistics import TimeStatistics


def test_values_and_percentiles() -> None:
    found = TimeStatistics.of([float(value) for value in range(100, -1, -1)])
    assert (found.mean, found.median, found.smallest, found.largest) == (50.0, 50.0, 0.0, 100.0)
    assert found.tails == (5.0, 95.0)
    assert found.to_json()["count"] == 101


def test_one_value_is_all_of_them() -> None:
    found = TimeStatistics.of([3.0])
    assert {found.mean, found.median, *found.tails, *found.interval} == {3.0}


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    intervals = [TimeStatistics.of(list(rng.exponential(size=30))).interval for _ in range(200)]
    hits = sum(low <= np.log(2) <= high for low, high in intervals)
    assert 0.88 <= hits / len(intervals) <= 0.995


def test_the_interval_narrows_with_more_samples() -> None:
    rng = np.random.default_rng(2)
    widths = [np.ptp(TimeStatistics.of(list(rng.normal(size=count))).interval) for count in (20, 2000)]
    assert widths[0] > 4 * widths[1] > 0


def test_the_same_values_have_the_same_interval() -> None:
    values = [1.0, 5.0, 2.0, 4.0]
    assert TimeStatistics.of(values).interval == TimeStatistics.of(values).interval != pytest.approx((3.0, 3.0))
