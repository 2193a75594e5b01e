"""Channels that a network lacks (network/removal) as files have them: by value, such as "5-12, 14", from 1."""

from collections.abc import Mapping
from itertools import groupby
from typing import Annotated

from pydantic import AfterValidator

from tinysplit.common.file_schema import matching
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.removal.reduced_network import reduced_network
from tinysplit.network.removal.removable_channels import Channels, removable_channels

_RANGE = r"[1-9]\d{0,6}(-[1-9]\d{0,6})?"
ChannelList = Annotated[str, AfterValidator(matching(f"{_RANGE}(, {_RANGE})*", 'channels as in "5-12, 14"'))]


def lists_of(removed: Channels) -> dict[str, str]:
    """Return channels as files have them."""
    return {name: _text(channels) for name, channels in removed.items()}


def channels_of(lists: Mapping[str, str], graph: Graph) -> Channels:
    """Return channels of a network from a file. Raises ValueError for those that no layer of it computes."""
    removed = {name: _channels(text) for name, text in lists.items()}
    shapes = {layer.output: layer.out_shape for layer in graph.layers}
    for name, channels in removed.items():
        if name not in shapes:
            raise ValueError(f"channels of {name!r} were removed, which the network has not")
        if not channels or channels[-1] >= shapes[name].channels or len(channels) == shapes[name].channels:
            raise ValueError(f"channels {lists[name]} of {name!r} were removed, which has {shapes[name].channels}")
    return removed


def without_channels(quantized: QuantizedGraph, lists: Mapping[str, str]) -> QuantizedGraph:
    """Return a network without the channels of a file. Raises ValueError where it needs some of them."""
    removed, removable = channels_of(lists, quantized.graph), removable_channels(quantized)
    needed = [name for name, channels in removed.items() if set(channels).difference(removable.get(name, ()))]
    if needed:
        raise ValueError(f"channels {lists[needed[0]]} of {needed[0]!r} were removed, and it needs some")
    return reduced_network(quantized, removed)


def _text(channels: tuple[int, ...]) -> str:
    runs = (
        [channel + 1 for _, channel in run]
        for _, run in groupby(enumerate(channels), key=lambda pair: pair[1] - pair[0])
    )
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _channels(text: str) -> tuple[int, ...]:
    ends = (part.split("-") for part in text.split(", "))
    return tuple(sorted({channel for end in ends for channel in range(int(end[0]) - 1, int(end[-1]))}))
