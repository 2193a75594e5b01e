"""What the application of the boards computes, in NumPy: from samples to the words that are told."""

from collections.abc import Iterator
from pathlib import Path

import mfcc
import numpy as np
from numpy.typing import NDArray

from tinysplit.network.integer_reference import run_layers
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project

# As in input_application.c and application_microphone.c.
FRAMES, STEP = 49, 5
DC_BITS = 12
# As in output_application.c.
WORDS = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes")
MEAN_OF, HOLD = 3, 10


def adc_levels(samples: NDArray[np.int16]) -> list[int]:
    """Return what a 12-bit ADC makes of samples, with the bias of a microphone in the middle."""
    return [(int(sample) >> 4) + 2048 for sample in samples]


def without_dc(levels: list[int]) -> NDArray[np.int16]:
    """Return the samples that the microphone's interrupt makes of levels."""
    mean = 0
    results = np.empty(len(levels), np.int16)
    for index, level in enumerate(levels):
        result = level * 16 - mfcc.FULL_SCALE - (mean >> DC_BITS)
        mean += result
        results[index] = min(max(result, -mfcc.FULL_SCALE), mfcc.FULL_SCALE - 1)
    return results


def frames(levels: list[int]) -> NDArray[np.int16]:
    """Return the features of all windows that end with a hop of samples."""
    return mfcc.of_samples(without_dc(levels)[2 * mfcc.HOP - mfcc.WINDOW :])


def outputs(folder: Path, features: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the integers of the network's outputs, inferences x labels, by the integer reference of a folder."""
    quantized = read_quantized(folder, Project.read(folder))
    formats = quantized.input_formats[0]
    step = float(np.float32(2.0**-mfcc.FEATURE_BITS) / np.float32(formats.scale))  # of tinysplit_input_1_from_int16
    ends = range(FRAMES, len(features) + 1, STEP)
    windows = np.stack([features[end - FRAMES : end] for end in ends]).astype(float)
    rounded = np.floor(windows * step + formats.zero_point + 0.5)
    integers = np.clip(rounded, formats.low, formats.high).astype(formats.dtype)
    *_, last = run_layers(quantized, integers.reshape(len(windows), *quantized.graph.in_shape))
    return last.reshape(len(windows), -1).astype(np.int64)


def detections(folder: Path, results: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Yield the index of the inference and the text of each word that is told."""
    formats = read_quantized(folder, Project.read(folder)).output_formats[0]
    certain = int(np.float32(MEAN_OF) / np.float32(formats.scale) + np.float32(0.5))
    hold = 0
    for index in range(len(results)):
        hold = max(0, hold - 1)
        if hold or index + 1 < MEAN_OF:
            continue
        sums = (results[index + 1 - MEAN_OF : index + 1] - formats.zero_point).sum(axis=0)
        best = int(sums.argmax())
        if best < len(WORDS) and 4 * sums[best] >= 3 * certain:
            yield index, f"{WORDS[best]} {100 * int(sums[best]) // certain}%"
            hold = HOLD
