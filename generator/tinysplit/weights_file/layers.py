"""The layer graph in a configuration file: kind, inputs, format and shifts of each layer, some ten bytes each.

An entry has, in this order: the difference of the layer's number to that of the entry before; its kind, as the place in
`KINDS`; the number of its inputs and, of each, the difference of the layer's number to that of the layer that gives it
(layers count from 1, number 0 is the network's input); flags; the scale of its output (32 bits); its zero point (16
bits, signed) unless that is 0; both shifts of the requantization, if all channels share them. Differences and counts
are unsigned LEB128.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tinysplit.network.layers import KINDS
from tinysplit.network.quantized_graph import QuantizedGraph

_KINDS = tuple(KINDS)
_CONTINUES = 0x80  # in LEB128: another byte follows
_LONGEST_VARINT_BYTES = 5
_WIDE_VALUES, _WIDE_WEIGHTS, _HAS_WEIGHTS, _REQUANTIZES, _HAS_ZERO_POINT = 1, 2, 4, 8, 16
_WIDE = 16
_SCALE, _ZERO_POINT = struct.Struct("<f"), struct.Struct("<h")


@dataclass(frozen=True)
class LayerEntry:
    """A layer: number from 1, kind, numbers of the layers that give its inputs (0: the network's input), and formats.

    `bits`, `scale` and `zero_point` are those of its output. `weight_bits` is None without weights; the shifts are
    those of the requantization, None without one, and where channels have shifts of their own.
    """

    number: int
    kind: str
    inputs: tuple[int, ...]
    bits: int
    scale: float
    zero_point: int
    weight_bits: int | None
    shifts: tuple[int, int] | None


def layer_entries(quantized: QuantizedGraph, layers: Iterable[int]) -> Iterator[LayerEntry]:
    """Yield the entries of layers, by their numbers from 0 in rising order; views are none."""
    for index in layers:
        layer = quantized.layers[index]
        if layer.layer.is_view:
            continue
        formats = layer.formats
        shifted = formats.shifted
        yield LayerEntry(
            number=index + 1,
            kind=layer.layer.kind,
            inputs=tuple(source + 1 for source in quantized.graph.predecessors[index]),
            bits=formats.y.bits,
            scale=formats.y.scale,
            zero_point=formats.y.zero_point,
            weight_bits=formats.weight_bits,
            shifts=(shifted.pre_shift, shifted.post_shift) if shifted else None,
        )


def encode_layers(entries: Iterable[LayerEntry]) -> bytes:
    """Return the entries as bytes."""
    data, before = bytearray(), 0
    for entry in entries:
        data += _varint(entry.number - before)
        data.append(_KINDS.index(entry.kind))
        data += _varint(len(entry.inputs))
        for source in entry.inputs:
            data += _varint(entry.number - source)
        data.append(_flags(entry))
        data += _SCALE.pack(entry.scale)
        data += _ZERO_POINT.pack(entry.zero_point) if entry.zero_point else b""
        data += bytes(entry.shifts or ())
        before = entry.number
    return bytes(data)


def decode_layers(data: bytes, count: int) -> tuple[LayerEntry, ...]:
    """Return the `count` entries at the begin of `data`. Raises ValueError where they are not whole."""
    stream, entries, before = _Stream(data), [], 0
    for _ in range(count):
        before += stream.varint()
        kind = stream.byte()
        inputs = tuple(before - stream.varint() for _ in range(stream.varint()))
        flags = stream.byte()
        if kind >= len(_KINDS):
            raise ValueError(f"layer {before} has kind {kind}, which this version does not know")
        entries.append(
            LayerEntry(
                number=before,
                kind=_KINDS[kind],
                inputs=inputs,
                bits=_WIDE if flags & _WIDE_VALUES else _WIDE // 2,
                scale=_SCALE.unpack(stream.take(_SCALE.size))[0],
                zero_point=_ZERO_POINT.unpack(stream.take(_ZERO_POINT.size))[0] if flags & _HAS_ZERO_POINT else 0,
                weight_bits=(_WIDE if flags & _WIDE_WEIGHTS else _WIDE // 2) if flags & _HAS_WEIGHTS else None,
                shifts=(stream.byte(), stream.byte()) if flags & _REQUANTIZES else None,
            )
        )
    return tuple(entries)


def _flags(entry: LayerEntry) -> int:
    flags = {
        _WIDE_VALUES: entry.bits == _WIDE,
        _WIDE_WEIGHTS: entry.weight_bits == _WIDE,
        _HAS_WEIGHTS: entry.weight_bits is not None,
        _REQUANTIZES: entry.shifts is not None,
        _HAS_ZERO_POINT: entry.zero_point != 0,
    }
    return sum(bit for bit, is_set in flags.items() if is_set)


def _varint(value: int) -> bytes:
    """Return an unsigned number in LEB128."""
    data = bytearray()
    while value >= _CONTINUES:
        data.append(value & ~-_CONTINUES | _CONTINUES)
        value >>= 7
    return bytes((*data, value))


class _Stream:
    """Bytes that are read one after the other."""

    def __init__(self, data: bytes) -> None:
        self._rest = iter(data)

    def byte(self) -> int:
        """Return the next byte. Raises ValueError behind the last one."""
        value = next(self._rest, None)
        if value is None:
            raise ValueError("the list of its layers is not whole")
        return value

    def take(self, count: int) -> bytes:
        """Return the next bytes. Raises ValueError behind the last one."""
        return bytes(self.byte() for _ in range(count))

    def varint(self) -> int:
        """Return the next number in LEB128 of at most 32 bits."""
        value = 0
        for place in range(_LONGEST_VARINT_BYTES):
            byte = self.byte()
            value |= (byte & ~-_CONTINUES) << 7 * place
            if byte < _CONTINUES:
                return value
        raise ValueError("the list of its layers is not whole")
