"""Samples of the input, and what they are for."""

from tinysplit.settings.setting import Heading, Setting

SAMPLES = Setting(
    "samples",
    "Samples: an .npz file with an array `x` and, optionally, class labels `y`, or with arrays by the names of several "
    "inputs, and labels by those of several outputs; an .npy file with one array; "
    "a .csv file with a row for each sample, labels in a column `y` or `label`; or a folder of images, "
    "classes in sub-folders.",
    Heading.SAMPLES,
    short="-s",
)
INPUT_KEY = Setting("input_key", "Name of the array of inputs in .npz files.", Heading.SAMPLES)
LAYOUT = Setting(
    "layout",
    "Order of the axes in samples: nhwc, channels last, or nchw, channels first. By default that of the "
    "network's input.",
    Heading.SAMPLES,
)
CALIBRATION_SAMPLES = Setting(
    "calibration_samples",
    f"Calibration samples, a file like {SAMPLES}; by default those of {SAMPLES}.",
    Heading.SAMPLES,
)
CALIBRATION_COUNT = Setting(
    "calibration_count", "Number of samples used for calibration, from the first.", Heading.SAMPLES, at_least=1
)
