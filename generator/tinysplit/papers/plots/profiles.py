"""Santamaria 2021, Figure 3: flash, RAM and MACC of each layer, divided by the largest of the network."""

from collections.abc import Iterator, Sequence
from functools import cache

from tinysplit.common.units import KB
from tinysplit.papers.plots.plot import Curve, Panel, Plot
from tinysplit.papers.reproduce.costs import NETWORKS, counted_layers, published_flash_bytes, published_ram_bytes
from tinysplit.papers.reproduce.figures import PROPRIETARY, TABLE_2
from tinysplit.papers.reproduce.reproduction import SANTAMARIA, Convention, Conventions, Row

TITLE = "Figure 3"
MILLION = 1_000_000
FLASH, RAM, MACC = "flash", "RAM", "MACC"
UNITS = {FLASH: (KB, "KB"), RAM: (KB, "KB"), MACC: (MILLION, "10^6")}
CONVENTIONS: dict[str, Conventions] = {
    FLASH: (Convention.FLOAT,),
    RAM: (Convention.OVERWRITE,),
    MACC: (Convention.MACC,),
}
DRAWN = "not identifiable: the profiles are only drawn; flash and MACC add up to Table 2, the largest RAM is its RAM"
CAPTION = (
    "Each layer's flash, RAM and MACC divided by the largest of the network, counted as for Table 2. The document has "
    "only curves, so that no point of it can be compared; sums (flash, MACC) and largest values (RAM) can, in Table 2. "
    "MACC and RAM of KWS DS-CNN are not those of Table 2, so that its curves differ. VoxCeleb is proprietary."
)


@cache
def profile(model: str) -> dict[str, tuple[float, ...]]:
    """Return bytes of flash, bytes of RAM and MACC of the layers of `model`, as the document counts layers."""
    network = NETWORKS[model]
    counted = counted_layers(network.make())
    return {
        FLASH: tuple(published_flash_bytes(network, layers) for layers in counted),
        RAM: tuple(published_ram_bytes(layers) for layers in counted),
        MACC: tuple(sum(layer.macc for layer in layers) for layers in counted),
    }


def normalized(values: Sequence[float]) -> tuple[float, ...]:
    """Return the values divided by the largest one."""
    largest = max(values)
    return tuple(value / largest for value in values)


def profile_rows() -> Iterator[Row]:
    """Yield the layer with the largest value of each profile, and that value."""
    for row in TABLE_2:
        if row.model not in NETWORKS:
            yield Row(SANTAMARIA, TITLE, row.model, "profiles", "", "", (), PROPRIETARY)
            continue
        for name, values in profile(row.model).items():
            largest, (factor, unit) = max(values), UNITS[name]
            text = f"{largest / factor:.2f}, layer {values.index(largest) + 1}"
            yield Row(SANTAMARIA, TITLE, row.model, f"most {name}, {unit}", "", text, CONVENTIONS[name], DRAWN)


def profile_plot() -> Plot:
    """Return a panel for each network."""
    panels = []
    for model in NETWORKS:
        profiles = profile(model)
        numbers = tuple(range(1, len(profiles[FLASH]) + 1))
        curves = tuple(Curve(name, numbers, normalized(values)) for name, values in profiles.items())
        panels.append(Panel(model, "layer", "share of the largest", curves))
    return Plot(SANTAMARIA, TITLE, CAPTION, tuple(panels))
