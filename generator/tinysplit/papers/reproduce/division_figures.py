"""The printed numbers of Carballo-Hernández 2023, and the reasons why some of them cannot be reproduced."""

from collections.abc import Mapping

GAINS: Mapping[str, tuple[str, str]] = {  # Table 1, least and largest gain of a layer against the CPU
    "AlexNet": ("3.1", "5.7"),
    "VGG16": ("2.8", "6.4"),
    "ResNet18": ("2.8", "6.3"),
}

LITERATURE = (  # Table 1: work, network, gain
    ("Zhao 2018", "YOLOv2", "1.7 to 3.5"),
    ("de Oliveira 2019", "LeNet", "1.8"),
    ("Stahl 2019", "YOLOv2", "1.15"),
    ("Zhou 2019", "YOLOv2", "1.5 to 3.4"),
    ("Stahl 2021", "YOLOv2", "2.8"),
    ("Stahl 2021", "AlexNet", "1.2"),
    ("Stahl 2021", "VGG16", "2.4"),
    ("Stahl 2021", "GoogLeNet", "1.7"),
    ("Zeng 2021", "AlexNet", "0.66"),
    ("Zeng 2021", "VGG16", "0.64"),
    ("Zeng 2021", "GoogLeNet", "0.46"),
    ("Zeng 2021", "MobileNet", "0.25"),
)

NO_NUMBER = "not printed: follows from the published coefficients"
MEASURED_BY_OTHERS = "not identifiable: measured by others on their devices, of which no models are published"
ZHAO_IN_THE_TEXT = f"{MEASURED_BY_OTHERS}; 1.7 to 2.5 in the text of the same page"
NO_ENERGY = "not identifiable: neither watts nor a model of energy are published"
AROUND = 'printed as "around 20 %"'
FORMULA_8 = "formula 8 as printed does not divide each share by its exponent, as formula 5 does"
M20K = "with all limits of formula 7; the published parts need 614 of 587 M20K blocks"
TOO_LARGE = "every layer has a part on the FPGA: the first of AlexNet takes 9 times its ALMs with hardly any channel"
GPU_ALONE = "the optimum of the sum with every layer's FPGA part within all limits: it leaves all channels on the GPU"
NORM = "unexplained: the root of the integral is 1 / sqrt(4k + 1); over 100 points from 0 to 1 the norm is 0.132"
GAIN = "unexplained: 2.87, 2.86 and 6.38 by the published coefficients"
LAST_LAYERS = "unexplained: 329 with the sum, 303 with the maximum"
KNOWN_DIFFERENCES: Mapping[tuple[str, str], str] = {
    ("against equal parts", "latency saved, %"): AROUND,
    ("k = 100", "norm of H - S"): NORM,
    ("VGG16", "least gain"): GAIN,
    ("ResNet18", "least gain"): GAIN,
    ("ResNet18", "largest gain"): GAIN,
    ("ResNet18", "last layers, GPU of 512"): LAST_LAYERS,
}
