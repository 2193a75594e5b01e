"""What makes an accuracy say little: samples of the calibration, and samples that the float network cannot classify."""

from collections.abc import Iterator
from math import sqrt

from rich.console import Console

from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import FloatScores

LEAST_LABELS = 20  # with fewer, a good network may be no better than chance
DEVIATIONS = 2  # standard deviations above the expected number of right guesses, where chance ends


def print_reused_samples(calibration: Samples, measured: Samples, remedy: str, messages: Console) -> None:
    """Print how many samples of an accuracy are also those of the calibration, if any are."""
    used = {sample.tobytes() for sample in calibration.x}
    reused = sum(sample.tobytes() in used for sample in measured.x)
    if reused:
        text = f"note: accuracy is measured on {len(measured.x)} samples, {reused} of which calibration used: {remedy}"
        messages.print(text, highlight=False, markup=False, soft_wrap=True)


def chance_warnings(floats: FloatScores) -> Iterator[str]:
    """Yield a line where the float network is no better than chance, which is no fault of the fixed point."""
    for name, scores in floats.scores.items():
        (count, classes), top1 = scores.shape, floats.top1(name)
        if top1 is None or count < LEAST_LABELS or classes < 2:  # noqa: PLR2004 - one value has no classes
            continue
        guessed = count / classes
        if round(top1 * count) <= guessed + DEVIATIONS * sqrt(guessed * (1 - 1 / classes)):
            low, high = floats.samples.x.min(), floats.samples.x.max()
            yield (
                f"the float network itself is at chance: top-1 {top1:.3f} of {classes} classes, with x from {low:g} "
                f"to {high:g}: preprocess samples as in the training of the network, and check labels"
            )


def print_chance_warnings(floats: FloatScores, messages: Console) -> None:
    """Print `chance_warnings`."""
    for text in chance_warnings(floats):
        messages.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)
