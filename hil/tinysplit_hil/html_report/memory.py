"""Memory maps: flash and RAM of every board, and its arena over time. Lengths are in pixels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from tinysplit.boards.catalog import load_board
from tinysplit.boards.parts import Memory
from tinysplit.build.elf import ElfSizes, MemoryUse
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.project.manifest import NETWORK_INPUT_NUMBER, ProjectBoard, ProjectBuffer, ProjectLayer
from tinysplit.project.network_numbers import layer_number
from tinysplit_hil.html_report.network import color_of
from tinysplit_hil.html_report.sources import Sources

_WIDTH = 640.0  # of a map
_LEFT, _RIGHT, _HEIGHT, _TOP, _BOTTOM = 64, 8, 210.0, 12, 34  # of an arena
_STEPS_WIDTH, _WIDEST_STEP, _NUMBER_WIDTH = 446.0, 110.0, 26.0
_LEAST_SCALE = 0.8  # of an arena beside another one in a window of 1020
_LETTER, _LEAST_HEIGHT = 8.6, 14


@dataclass(frozen=True)
class Piece:
    """A part of a memory: `kind` is its colour."""

    x: float
    width: float
    kind: str
    text: str


@dataclass(frozen=True)
class MemoryMap:
    """A memory with its parts from left to right; `free_bytes` is negative where it is over budget."""

    name: str
    size_bytes: int
    used_bytes: int
    pieces: tuple[Piece, ...]
    is_predicted: bool

    @property
    def free_bytes(self) -> int:
        """What is left."""
        return self.size_bytes - self.used_bytes

    @property
    def percent(self) -> float:
        """Share in use."""
        return 100 * self.used_bytes / self.size_bytes


@dataclass(frozen=True)
class BufferBlock:
    """A buffer of the arena while some layers run."""

    x: float
    y: float
    width: float
    height: float
    color: int  # 0: the network's input, and parts of several layers
    is_scratch: bool
    label: str
    tooltip: str
    label_x: float = 0.0
    label_y: float = 0.0


@dataclass(frozen=True)
class AxisMark:
    """A mark of an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class ArenaFigure:
    """What lies where in the arena of a board while each of its layers runs, from left to right; 0 is at the bottom."""

    name: str
    width: float
    height: float
    size_bytes: int
    blocks: tuple[BufferBlock, ...]
    steps: tuple[AxisMark, ...]
    marks: tuple[AxisMark, ...]

    @property
    def least_width(self) -> float:
        """With which its texts can be read."""
        return self.width * _LEAST_SCALE


@dataclass(frozen=True)
class BoardMemories:
    """The memory maps of a board."""

    number: int
    title: str
    color: int
    maps: tuple[MemoryMap, ...]
    arenas: tuple[ArenaFigure, ...]
    note: str


def memories_of(sources: Sources, colors: Mapping[int, int]) -> tuple[BoardMemories, ...]:
    """Return the memories of all boards, of the programs or, where they are not built, as predicted."""
    return tuple(_board(sources, board, colors[board.number]) for board in sources.project.boards)


def _board(sources: Sources, board: ProjectBoard, color: int) -> BoardMemories:
    layers = [layer for layer in sources.project.layers if layer.board == board.number]
    sizes = sources.sizes.get(board.number)
    maps = tuple(_built(board, sizes) if sizes else _predicted(board))
    numbers = {layer.number: layer_number(layer) for layer in sources.project.layers} | {NETWORK_INPUT_NUMBER: 0}
    arenas = (_arena(layers, numbers, is_near) for is_near in (False, True))
    note = f"code of its layers in {board.code_memory}: {board.code_memory_reason}" if board.code_memory_reason else ""
    return BoardMemories(board.number, board.title, color, maps, tuple(each for each in arenas if each), note)


def _built(board: ProjectBoard, sizes: ElfSizes) -> Iterator[MemoryMap]:
    """Yield the memories of a program: stack and variables lie next to the core, the arena there too if it fits."""
    near = load_board(board.name).near_memory
    weights_bytes = sizes.weights_bytes - sizes.external_weights_bytes
    yield _map(sizes.flash, {"weights": weights_bytes, "code": sizes.code_bytes}, is_predicted=False)
    if sizes.external:
        yield _map(sizes.external, {"weights": sizes.external.used_bytes}, is_predicted=False)
    arena_bytes = sizes.arena_bytes
    for use in sorted(sizes.ram, key=lambda each: each.memory != near):
        stacks = {"stack": sizes.stack_bytes, "stack of the fault handler": sizes.spare_stack_bytes}
        parts = stacks if use.memory == near else {}
        rest = use.used_bytes - sum(parts.values())
        if arena_bytes and rest >= arena_bytes:
            parts = {"arena": arena_bytes} | parts
            rest = rest - arena_bytes
            arena_bytes = 0
        if use.used_bytes:
            yield _map(use, parts | {"variables": rest}, is_predicted=False)


def _predicted(board: ProjectBoard) -> Iterator[MemoryMap]:
    described = load_board(board.name)
    device = described.device
    if board.predicted_flash_bytes is None or board.predicted_ram_bytes is None:
        return
    weights_bytes = board.weights_bytes - board.external_weights_bytes
    flash = MemoryUse(device.flash, board.predicted_flash_bytes)
    code = board.predicted_flash_bytes - weights_bytes
    yield _map(flash, {"weights": weights_bytes, "code": code}, is_predicted=True)
    if described.external and board.external_weights_bytes:
        external = MemoryUse(described.external.memory, board.external_weights_bytes)
        yield _map(external, {"weights": board.external_weights_bytes}, is_predicted=True)
    whole = Memory("RAM", device.ram[0].start, sum(memory.size_bytes for memory in device.ram))
    others = max(0, board.predicted_ram_bytes - board.arena_bytes)
    ram = MemoryUse(whole, board.predicted_ram_bytes)
    yield _map(ram, {"arena": board.arena_bytes, "variables and stack": others}, is_predicted=True)


def _map(use: MemoryUse, parts: Mapping[str, int], *, is_predicted: bool) -> MemoryMap:
    x, pieces = 0.0, []
    scale = _WIDTH / max(use.memory.size_bytes, use.used_bytes)
    for kind, n_bytes in parts.items():
        pieces.append(Piece(round(x, 1), round(n_bytes * scale, 1), kind.partition(" ")[0], f"{kind}: {n_bytes} bytes"))
        x += n_bytes * scale
    return MemoryMap(use.memory.name, use.memory.size_bytes, use.used_bytes, tuple(pieces), is_predicted)


def _arena(layers: Sequence[ProjectLayer], numbers: Mapping[int, int], is_near: bool) -> ArenaFigure | None:
    """Return the arena, or with `is_near` the part of it next to the core; None where nothing lies there.

    `numbers` has the layer of the network that computes each tensor; tensors of several layers have none.
    """
    drawing = _ArenaDrawing(layers, numbers, is_near)
    return drawing.figure() if drawing.size_bytes else None


class _ArenaDrawing:
    def __init__(self, layers: Sequence[ProjectLayer], numbers: Mapping[int, int], is_near: bool) -> None:
        self.layers = layers
        self.numbers = numbers
        self.is_near = is_near
        self.begin = NEAR_BEGIN if is_near else 0
        self.live = [
            {each: None for each in layer.memory.live if (each.offset >= NEAR_BEGIN) is is_near} for layer in layers
        ]
        ends = (each.offset + each.size_bytes - self.begin for own in self.live for each in own)
        self.size_bytes = max(ends, default=0)
        self.step = min(_WIDEST_STEP, _STEPS_WIDTH / max(len(layers), 1))

    def figure(self) -> ArenaFigure:
        width = _LEFT + self.step * len(self.layers) + _RIGHT
        every = ceil(_NUMBER_WIDTH / self.step)
        return ArenaFigure(
            name="Arena next to the core" if self.is_near else "Arena",
            width=width,
            height=_TOP + _HEIGHT + _BOTTOM,
            size_bytes=self.size_bytes,
            blocks=tuple(_with_labels(self._blocks(), self.step)),
            steps=tuple(
                AxisMark(_LEFT + (column + 0.5) * self.step, str(layer_number(layer)))
                for column, layer in enumerate(self.layers)
                if column % every == 0
            ),
            marks=tuple(
                AxisMark(_TOP + _HEIGHT * (1 - share), f"{self.size_bytes * share:.0f}")
                for share in (0, 0.25, 0.5, 0.75, 1)
            ),
        )

    def _blocks(self) -> Iterator[BufferBlock]:
        """Yield each buffer once for all layers in turn while it is in use."""
        for buffer in dict.fromkeys(buffer for own in self.live for buffer in own):
            for is_live, run in groupby(range(len(self.live)), key=lambda column: buffer in self.live[column]):
                if is_live:
                    yield self._block(buffer, list(run))

    def _block(self, buffer: ProjectBuffer, columns: Sequence[int]) -> BufferBlock:
        scale = _HEIGHT / self.size_bytes
        first = buffer.offset - self.begin
        number = self.numbers.get(buffer.tensor)
        what = "parts of a tensor" if number is None else f"output of layer {number}" if number else "input"
        if buffer.is_scratch:
            what = f"scratch memory of layer {number}"
        label = "" if number is None or buffer.is_scratch else str(number) if number else "input"
        return BufferBlock(
            x=round(_LEFT + self.step * columns[0], 1),
            y=round(_TOP + _HEIGHT - (first + buffer.size_bytes) * scale, 1),
            width=round(self.step * len(columns), 1),
            height=round(max(buffer.size_bytes * scale, 1.0), 1),
            color=color_of(number) if number else 0,
            is_scratch=buffer.is_scratch,
            label=label,
            tooltip=f"{what}: {buffer.size_bytes} bytes at {first}",
        )


def _with_labels(blocks: Iterable[BufferBlock], step: float) -> Iterator[BufferBlock]:
    """Yield the blocks with the places of their labels, none where it does not fit or lies on another one.

    The first layer, `step` wide, that runs with a buffer is the one that fills it: best to label.
    """
    taken: list[tuple[float, float]] = []
    for block in blocks:
        half = len(block.label) * _LETTER / 2
        y = block.y + block.height / 2
        places = (block.x + shift for shift in (step / 2, block.width / 2, block.width - step / 2))
        free = (
            x
            for x in places
            if block.height >= _LEAST_HEIGHT and block.x + half <= x <= block.x + block.width - half
            if all(abs(x - other_x) > 2 * half + 2 or abs(y - other_y) > _LEAST_HEIGHT for other_x, other_y in taken)
        )
        x = next(free, None)
        if block.label and x is not None:
            taken.append((x, y))
            yield replace(block, label_x=x, label_y=y + 4)
        else:
            yield replace(block, label="")
