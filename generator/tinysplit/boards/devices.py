"""Device data from modm-devices. Only this module reads it, and it handles the errors of that data."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from tinysplit.boards.board import Device, DmaChannel, Interrupt
from tinysplit.boards.parts import Memory, Pin
from tinysplit.boards.schema import Corrections
from tinysplit.common.errors import InputError, ToolError

_NOT_FOR_DATA = ("itcm", "backup", "bkpsram", "ccm")  # DMA does not reach the last one
_NOT_FOR_CODE = ("eeprom", "itcm_flash")  # the last one is the flash of the F7 once more, on another bus
_SECURE, _NOT_SECURE = "_s", "_ns"  # behind the names of memories
_APART = ("dtcm",)  # never merged with the SRAM behind it, which is slower
_NO_CORRECTIONS = Corrections()
_READ = {"core", "dma", "flash", "gpio", "rcc"}  # drivers
_DMA_CHANNELS = re.compile(r"DMA(\d)_(?:Channel|C[hH]|Stream)(\d)(?:_(\d))*(?!\d)")
_GENERAL_PURPOSE = re.compile(r"GPDMA1_Channel(\d+)")
_GPIO = re.compile(r"P[A-K]\d+")
_DIRECTIONS = ("rx", "tx")
_SELECTOR, _ATTRIBUTE = "device-", "attribute-"


class _MainCore(NamedTuple):
    """The core that runs programs, of parts whose other one stands still until it is started.

    modm-devices has the interrupts of the other core alone: the main one has those of the parts with one core.
    """

    suffix: str  # of names in modm-devices
    interrupts_of: str


_MAIN_CORES = {"stm32wl5": _MainCore("@m4", interrupts_of="stm32wle5jci6")}  # by the beginning of names


@dataclass(frozen=True)
class UartPins:
    """The pins of a package on which a UART's signals are available."""

    tx: tuple[Pin, ...]
    rx: tuple[Pin, ...]


def part_names(n_cores: int = 1) -> tuple[str, ...]:
    """Return the names of all STM32 parts where one core starts at a reset, or two, sorted."""
    _, files = _database()
    has_two = {name.partition("@")[0]: "@" in name and _main_core(name) is None for name in files}
    return tuple(sorted(part for part, two in has_two.items() if part.startswith("stm32") and two == (n_cores > 1)))


def _main_core(part: str) -> _MainCore | None:
    return next((core for beginning, core in _MAIN_CORES.items() if part.startswith(beginning)), None)


@lru_cache
def _database() -> tuple[Path, Mapping[str, str]]:
    """Return the folder of modm-devices' data, and the file there that describes each part."""
    package = find_spec("modm_devices")
    if package is None or not package.submodule_search_locations:
        raise ToolError("modm-devices is not installed: install tinysplit again")
    folder = Path(package.submodule_search_locations[0]) / "resources" / "devices"
    families: dict[str, dict[str, str]] = json.loads((folder / "db.json").read_text(encoding="utf-8"))
    return folder, {part: name for parts in families.values() for part, name in parts.items()}


@lru_cache
def _drivers(part: str) -> Mapping[str, Any]:
    """Return the raw drivers of `part` that are read here, by name; all values are strings."""
    folder, files = _database()
    main = _main_core(part)
    name = f"{part}{main.suffix}" if main else part
    if name not in files:
        raise InputError(f"there is no part {part!r}: write it in full, as in stm32g071rbt6")
    device = ET.parse(folder / files[name]).getroot()[0]  # noqa: S314
    schema = device.findtext("naming-schema", "")
    choices = [value.split("|") for value in device.attrib.values()]
    named = (dict(zip(device.attrib, values, strict=True)) for values in product(*choices))
    identifiers = next(each for each in named if schema.format_map(defaultdict(str, each)) == name)
    own = {f"{_SELECTOR}{key}": value for key, value in identifiers.items()}
    drivers = [node for node in device.iterfind("driver") if node.get("name") in _READ and _is_for(node, own)]
    return {str(node.get("name")): _properties(node, own) for node in drivers}


def _is_for(node: Element, own: Mapping[str, str]) -> bool:
    """Return whether a node holds for a device whose `own` properties are these: its attributes device-* select some.

    Most nodes have none, which has to be found fast.
    """
    attributes = node.attrib
    if attributes.keys().isdisjoint(own):
        return True
    return all(own[key] in attributes[key].split("|") for key in attributes.keys() & own.keys())


def _properties(node: Element, own: Mapping[str, str]) -> Any:  # noqa: ANN401 (text, or a dict of texts, lists and dicts)
    """Return what a node says of a device, as modm-devices' own parser does, which takes ten times as long."""
    attributes = node.attrib
    if not attributes.keys().isdisjoint(own):
        attributes = {key: value for key, value in attributes.items() if key not in own}
    if list(attributes) == ["value"]:
        return attributes["value"]
    if not len(node):
        return attributes or None
    children: dict[str, Any] = {}
    for child in node:
        if not _is_for(child, own):
            continue
        if child.tag.startswith(_ATTRIBUTE):
            children[child.tag.removeprefix(_ATTRIBUTE)] = _properties(child, own)
        else:
            children.setdefault(child.tag, []).append(_properties(child, own))
    return (children | attributes) or None


def load_device(part: str, corrections: Corrections = _NO_CORRECTIONS) -> Device:
    """Return core, memories, interrupts and maximum frequency of `part`; raise InputError if it is unknown.

    Lists all data RAMs, including those of the H7 that need a clock from RCC (d2_sram).
    """
    if part in part_names(n_cores=2):
        raise InputError(f"{part}: there is no firmware for parts with two cores that both start at a reset")
    drivers = _drivers(part)
    core = drivers["core"]
    memories = _memories(part, corrections)
    (flash,) = _merged(memory for memory, access in memories if "w" not in access and memory.name not in _NOT_FOR_CODE)
    return Device(
        name=part,
        family=part[:7],
        core=core["type"],
        max_hz=corrections.max_hz.value if corrections.max_hz else int(drivers["rcc"]["max-frequency"][0]),
        flash=flash,
        ram=_merged(memory for memory, access in memories if "w" in access and memory.name not in _NOT_FOR_DATA),
        interrupts=_interrupts(part),
        vendor_header=f"{core['cmsis-header']}.h",
        vendor_define=core["cmsis-define"],
    )


@lru_cache
def _interrupts(part: str) -> tuple[Interrupt, ...]:
    main = _main_core(part)
    vector = _drivers(main.interrupts_of if main else part)["core"]["vector"]
    interrupts = (Interrupt(int(raw["position"]), raw["name"]) for raw in vector)
    return tuple(sorted(interrupts, key=lambda interrupt: interrupt.position))


def load_memory(part: str, name: str, corrections: Corrections = _NO_CORRECTIONS) -> Memory | None:
    """Return a memory of `part` as modm-devices has it, before adjacent ones are merged; None if there is none."""
    return next((memory for memory, _ in _memories(part, corrections) if memory.name == name), None)


def _memories(part: str, corrections: Corrections) -> list[tuple[Memory, str]]:
    """Return all memories with their access rights, but for what they are for secure code."""
    every = _drivers(part)["core"]["memory"]
    return [_memory(raw, corrections) for raw in every if not raw["name"].endswith(_SECURE)]


def _memory(raw: Mapping[str, str], corrections: Corrections) -> tuple[Memory, str]:
    memory = Memory(raw["name"].removesuffix(_NOT_SECURE), int(raw["start"], 16), int(raw["size"]))
    if correction := corrections.memories.get(memory.name):
        memory = Memory(correction.name, correction.start, correction.size_bytes or memory.size_bytes)
    return memory, raw["access"]


def _merged(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Join adjacent memories, which have their name without its number; of banks apart, the first largest is kept."""
    joined: list[Memory] = []
    for memory in sorted(memories, key=lambda memory: memory.start):
        name = memory.name.rstrip("0123456789")
        if joined and joined[-1].end == memory.start and joined[-1].name not in _APART:
            before = joined.pop()
            joined.append(Memory(before.name, before.start, before.size_bytes + memory.size_bytes))
        else:
            joined.append(Memory(name, memory.start, memory.size_bytes))
    largest: dict[str, Memory] = {}
    for memory in joined:
        if memory.name not in largest or memory.size_bytes > largest[memory.name].size_bytes:
            largest[memory.name] = memory
    return tuple(largest.values())


def wait_state_limits(part: str, corrections: Corrections = _NO_CORRECTIONS) -> tuple[int, ...]:
    """Return the highest HCLK in Hz for 0, 1, 2, ... flash wait states.

    modm-devices has one table for each `vcore-min`: the supply voltage on F4 (3.3 V on all boards), the core voltage on
    the others (the firmware selects the highest). The last table therefore applies to all. Limits are for HCLK, also on
    H7, where the core clock is higher.
    """
    if corrections.wait_states:
        return corrections.wait_states.value
    table = max(_drivers(part)["flash"]["latency"], key=lambda table: int(table["vcore-min"]))
    return tuple(int(entry["hclk-max"]) for entry in sorted(table["wait-state"], key=lambda entry: int(entry["ws"])))


def uart_pins(part: str, uart: str) -> UartPins:
    """Return the pins of `part` that carry TX and RX of `uart` ("USART2"), with their alternate functions."""
    in_package = package_pins(part)
    pins: dict[str, list[Pin]] = {"tx": [], "rx": []}
    for pin, signal in _remapped_pins(part, uart):
        if pin.name in in_package:
            pins[signal].append(pin)
    is_remapped = "remap" in _drivers(part)["gpio"]
    for raw in _drivers(part)["gpio"]["gpio"]:
        name = f"P{raw['port'].upper()}{raw['pin']}"
        for signal in raw.get("signal", ()):
            kind = signal["name"]
            if kind not in pins or name not in in_package or _owner(signal).upper() != uart:
                continue
            if "af" in signal:
                pins[kind].append(Pin(name, int(signal["af"])))
            elif is_remapped:
                pins[kind].append(Pin.remapped(name, 0, 0, is_input=kind == "rx"))
    return UartPins(tuple(pins["tx"]), tuple(pins["rx"]))


def _remapped_pins(part: str, uart: str) -> Iterator[tuple[Pin, str]]:
    """Yield the pins of a UART of an STM32F1 with their signals, by the values of the field that remaps them."""
    for field in _drivers(part)["gpio"].get("remap", ()):
        if _owner(field).upper() != uart:
            continue
        for group in field["group"]:
            for signal in group["signal"]:
                kind, name = signal["name"], f"P{signal['port'].upper()}{signal['pin']}"
                if kind in ("tx", "rx"):
                    yield Pin.remapped(name, int(field["position"]), int(group["id"]), is_input=kind == "rx"), kind


def _owner(signal: Mapping[str, Any]) -> str:
    """Return the peripheral of a signal: "usart2"."""
    return f"{signal.get('driver')}{signal.get('instance', '')}"


def qspi_pins(part: str, signal: str) -> tuple[Pin, ...]:
    """Return the pins of `part` that carry a signal ("clk", "ncs", "io0") of bank 1 of the QUADSPI, if any."""
    in_package = package_pins(part)
    names = (signal, f"bk1_{signal}")
    pins = []
    for raw in _drivers(part)["gpio"]["gpio"]:
        name = f"P{raw['port'].upper()}{raw['pin']}"
        pins += [
            Pin(name, int(each["af"]))
            for each in raw.get("signal", ())
            if each["driver"] == "quadspi" and each["name"] in names and name in in_package
        ]
    return tuple(pins)


def uart_dma(part: str, uart: str, direction: str) -> tuple[DmaChannel, ...]:
    """Return the DMA channels that can serve `direction` ("rx" or "tx") of `uart`; those of a lower number first.

    In the data the only LPUART may have no number.
    """
    raw = _drivers(part)["dma"]
    kind = "Stream" if "stream" in raw["type"] else "Channel"
    every, name = _routes(part), uart.lower()
    routes = {each for own in (name, name.removesuffix("1")) for each in every.get((own, direction), ())}
    interrupts = _interrupts(part)
    channels = []
    for route in sorted(routes):
        name = f"DMA{route.controller}_{kind}{route.number}"
        interrupt = dma_interrupt(interrupts, route.controller, route.number)
        channel = DmaChannel(
            controller=route.controller,
            number=route.number,
            name=name,
            request=route.request,
            mux_channel=route.mux_channel,
            irq_position=interrupt.position,
            irq_name=interrupt.name,
        )
        channels.append(channel)
    return tuple(channels)


def general_purpose_dma(part: str, request: int) -> tuple[DmaChannel, ...]:
    """Return the channels of GPDMA1, any of which can serve a request; modm-devices has no requests of it."""
    return tuple(
        DmaChannel(
            controller=1,
            number=int(match[1]),
            name=interrupt.name,
            request=request,
            mux_channel=None,
            irq_position=interrupt.position,
            irq_name=interrupt.name,
        )
        for interrupt in _interrupts(part)
        if (match := _GENERAL_PURPOSE.fullmatch(interrupt.name))
    )


class _Route(NamedTuple):
    """A channel or stream of a DMA controller, and the request that selects a UART there."""

    controller: int
    number: int
    request: int | None  # None: wired
    mux_channel: int | None  # of the DMAMUX


@lru_cache
def _routes(part: str) -> Mapping[tuple[str, str], Sequence[_Route]]:
    """Return the routes of every signal "rx" or "tx", by its peripheral and its name."""
    raw, found = _drivers(part)["dma"], defaultdict[tuple[str, str], list[_Route]](list)
    for request, routes in _mux_routes(raw) if "mux-channels" in raw else _fixed_routes(raw):
        for signal in request["signal"]:
            is_moved = any(each["id"] != "0" for each in signal.get("remap", ()))  # there, by SYSCFG
            if signal.get("name") in _DIRECTIONS and not is_moved:
                found[_owner(signal), signal["name"]] += routes
    return found


def _mux_routes(raw: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Sequence[_Route]]]:
    """Yield requests with their routes: every channel of the DMAMUX has the same requests."""
    channels = raw["mux-channels"][0]["mux-channel"]
    places = [(int(each["dma-instance"]), int(each["dma-channel"]), int(each["position"])) for each in channels]
    for request in raw["requests"][0]["request"]:
        position = int(request["position"])
        yield request, [_Route(controller, number, position, mux) for controller, number, mux in places]


def _fixed_routes(raw: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Sequence[_Route]]]:
    """Yield requests with their routes.

    F4: a stream selects one of its channels; L4: a channel selects one of its requests; F3: requests are wired.
    """
    outer, inner = ("stream", "channel") if "streams" in raw else ("channel", "request")
    for controller, instance in enumerate(raw[f"{outer}s"], 1):
        for channel in instance[outer]:
            for request in channel.get(inner, [channel | {"position": None}]):
                yield request, [_Route(controller, int(channel["position"]), _position(request), mux_channel=None)]


def _position(raw: Mapping[str, Any]) -> int | None:
    return None if raw["position"] is None else int(raw["position"])


def dma_interrupt(interrupts: Iterable[Interrupt], controller: int, number: int) -> Interrupt:
    """Return the interrupt of a channel: "DMA1_Channel2_3" serves 2 and 3, "DMA1_Ch4_7_DMAMUX1_OVR" 4 to 7.

    Some serve several controllers: "DMA1_Ch4_7_DMA2_Ch1_5_DMAMUX1_OVR". Raises InputError if none does.
    """
    for interrupt in interrupts:
        for match in _DMA_CHANNELS.finditer(interrupt.name):
            if int(match[1]) == controller and int(match[2]) <= number <= int(match[3] or match[2]):
                return interrupt
    raise InputError(f"no interrupt vector serves channel {number} of DMA{controller}")


@lru_cache
def package_pins(part: str) -> frozenset[str]:
    """Return the GPIO pins of the package: "PC14" of "PC14-OSC32_IN (PC14)"."""
    (package,) = _drivers(part)["gpio"]["package"]
    matches = (_GPIO.match(pin["name"]) for pin in package["pin"])
    return frozenset(match.group() for match in matches if match)
