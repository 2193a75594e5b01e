"""The platform of Carballo-Hernández 2023: models of CPU, GPU, FPGA and link, and the layers of its three networks.

The coefficients are those that its authors publish with the paper's data, rounded to six digits; those below 1e-6 are
left out. Latencies in ms. All models are products of posynomials of one feature each: the side of the input map, the
input channels of the part, the side of the kernel, and the filters (output channels).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

from tinysplit.common.units import KB, MS
from tinysplit.papers.solvers.geometric.posynomial import Monomial, Posynomial
from tinysplit.papers.solvers.geometric.problem import (
    CHANNELS,
    DividedLayer,
    DivisionCosts,
    DivisionDevice,
    DivisionProblem,
    PartModel,
)

SIDE, KERNEL, FILTERS = "side", "kernel", "filters"
BYTES_PER_VALUE = 8


def _model(
    side: tuple[float, ...], channels: tuple[float, ...], kernel: tuple[float, ...], filters: tuple[float, ...]
) -> Posynomial:
    """Return the product of four polynomials; coefficients from the highest power to the constant."""
    factors = ((SIDE, side), (CHANNELS, channels), (KERNEL, kernel), (FILTERS, filters))
    return reduce(mul, (Posynomial.of_powers(name, coefficients) for name, coefficients in factors))


GPU_MS = _model((MS * 6.75727e-4, 0, 0), (0.00944194, 0.134299), (0.0423237, 0.168317, 0.304588), (0.0118405, 0.934776))
CPU_MS = _model((MS * 0.00101167, 0, 0), (0.0204765, 0.01966), (0.0782233, 0.169806, 0), (0.0182906, 1.27499))
FPGA_MS = _model(
    (0.0543263, 0.00584136, 0), (5.22384e-4, 0.067842, 6.56093e-4), (0.049669,), (0.00103166, 0.0642811, 0)
)
LINK_MS = Posynomial(
    (Monomial(6.71808e-4 * BYTES_PER_VALUE / KB, {SIDE: 2, CHANNELS: 1}), Monomial(0.00756679))
)  # 6.71808e-4 ms a KB

RESOURCES: Mapping[str, tuple[Posynomial, float]] = {  # what a part uses, and what the FPGA has
    "ALM": (
        _model(
            (0.0050678, 6.74386),
            (0.125364, 0.798401, 0.230868),
            (0.390802, 0, 0, 1.46616),
            (0.0751898, 1.11444, 0),
        ),
        80330,
    ),
    "LAB": (
        _model(
            (0.00890492, 4.88608),
            (0.0561462, 0.802676, 0.0694226),
            (0.134511, 0, 0.486347, 0.210671),
            (0.0294819, 1.01231, 0),
        ),
        8033,
    ),
    "M20K": (
        _model((0.0062733, 3.15994), (0.743791, 0.81829), (0.264462, 0.857611, 0), (0.364682, 0.941754)),
        587,
    ),
}


@dataclass(frozen=True)
class ConvolutionSize:
    """The features of a convolution: side of its square input map, channels, side of its kernel, filters."""

    side: int
    channels: int
    kernel: int
    filters: int


FIGURE_3_LAYER = ConvolutionSize(side=112, channels=16, kernel=1, filters=32)


def _network(*layers: tuple[int, int, int, int, int]) -> tuple[ConvolutionSize, ...]:
    """Return the layers; each row says how often it occurs, side, channels, kernel and filters."""
    return tuple(ConvolutionSize(*size) for times, *size in layers for _ in range(times))


NETWORKS: Mapping[str, tuple[ConvolutionSize, ...]] = {
    "AlexNet": _network(
        (1, 224, 3, 11, 96), (1, 54, 96, 5, 256), (1, 26, 256, 3, 384), (1, 12, 384, 3, 384), (1, 12, 384, 3, 256)
    ),
    "VGG16": _network(
        *((1, 224, 3, 3, 64), (1, 224, 64, 3, 64), (1, 112, 64, 3, 128), (1, 112, 128, 3, 128)),
        *((1, 56, 128, 3, 256), (2, 56, 256, 3, 256), (1, 28, 256, 3, 512), (2, 28, 512, 3, 512)),
        (3, 14, 512, 3, 512),
    ),
    "ResNet18": _network(
        *((1, 224, 3, 7, 64), (4, 56, 64, 3, 64), (1, 56, 64, 3, 128), (3, 28, 128, 3, 128)),
        *((1, 28, 128, 3, 256), (3, 14, 256, 3, 256), (1, 14, 256, 3, 512), (3, 7, 512, 3, 512)),
    ),
}


def gpu_fpga_problem(size: ConvolutionSize, *, resources: Iterable[str] = ()) -> DivisionProblem:
    """Return the division of a layer over FPGA and GPU (formula 7) with some of the FPGA's resources limited."""
    return _without_cpu(cpu_gpu_fpga_problem([size], resources=resources))


def cpu_gpu_fpga_problem(sizes: Iterable[ConvolutionSize], *, resources: Iterable[str] = ()) -> DivisionProblem:
    """Return the division of layers over CPU, FPGA and GPU (formulas 9 and 10).

    CPU and GPU share a memory; what the FPGA gets and gives crosses the link. Outputs are those of a grouped
    convolution: as many as the part's share of the filters.
    """
    limited = {name: RESOURCES[name] for name in resources}
    devices = (
        DivisionDevice("CPU"),
        DivisionDevice("FPGA", {name: limit for name, (_, limit) in limited.items()}),
        DivisionDevice("GPU"),
    )
    used = {name: model for name, (model, _) in limited.items()}
    return DivisionProblem(devices, tuple(_layer(number, size, used) for number, size in enumerate(sizes, 1)))


def _layer(number: int, size: ConvolutionSize, used: Mapping[str, Posynomial]) -> DividedLayer:
    fixed = {SIDE: size.side, KERNEL: size.kernel, FILTERS: size.filters}
    inputs = LINK_MS.at(**fixed)
    outputs = Posynomial(
        tuple(
            replace(t, coefficient=t.coefficient * size.filters / size.channels) if t.exponents else t
            for t in inputs.terms
        )
    )
    fpga = DivisionCosts(FPGA_MS.at(**fixed), inputs, outputs)
    resources = {name: model.at(**fixed) for name, model in used.items()}
    parts = (
        PartModel(DivisionCosts(CPU_MS.at(**fixed))),
        PartModel(fpga, resources=resources),
        PartModel(DivisionCosts(GPU_MS.at(**fixed))),
    )
    return DividedLayer(f"conv{number}", size.channels, parts)


def _without_cpu(problem: DivisionProblem) -> DivisionProblem:
    layers = tuple(replace(layer, parts=layer.parts[1:]) for layer in problem.layers)
    return replace(problem, devices=problem.devices[1:], layers=layers)
