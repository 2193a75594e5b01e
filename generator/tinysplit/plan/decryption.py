"""Where the decrypted constants of a plan lie, once weights are quantized and their sizes known."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinysplit.boards.board import board_title
from tinysplit.common.errors import CheckFailedError
from tinysplit.memory.constants_in_ram import ByteRange, in_use_together
from tinysplit.memory.decryption import DecryptionRoom, NoRoomError, place_decrypted
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.constants import layer_constants, sharing_layers
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.settings.programs import WEIGHTS

_PADDING_BYTES = 32 + 12  # before and behind the arrays that are kept: a cache line, and whole blocks of the cipher


def with_decrypted_constants(plan: Plan, quantized: QuantizedGraph, rounds: int, own_bytes: int) -> Plan:
    """Return the plan with places for the decrypted constants of every board.

    `rounds` are those of AES, `own_bytes` what the code that decrypts has for itself next to the core. Raises
    CheckFailedError with the figures where RAM does not even hold a single layer's.
    """
    boards = (_with_places(board_plan, quantized, rounds, own_bytes) for board_plan in plan.boards)
    return replace(plan, boards=tuple(boards))


def _with_places(board_plan: BoardPlan, quantized: QuantizedGraph, rounds: int, own_bytes: int) -> BoardPlan:
    if board_plan.external:
        return board_plan
    rooms, title = list(_rooms(board_plan, own_bytes)), board_title(board_plan.number, board_plan.board.name)
    if not rooms:
        raise CheckFailedError(
            f"{title}: the arena of {board_plan.arena_bytes} bytes leaves no RAM to decrypt weights, which takes "
            f"{own_bytes} bytes besides: assign fewer layers, or use {WEIGHTS('binary')}"
        )
    try:
        return _with_constants(board_plan, quantized, rounds, rooms)
    except NoRoomError as error:
        graph, name = quantized.graph, quantized.layers[error.layer].layer.name
        number = 1 + (graph.parts[error.layer].tensor if graph.is_distributed else error.layer)
        raise CheckFailedError(
            f"{title}: {error.needed_bytes} bytes of decrypted weights of layer {number} {name!r} do not fit "
            f"into RAM, where at most {error.free_bytes} bytes are free while it runs: take a board with more RAM, "
            f"assign fewer layers to this one, or use {WEIGHTS('binary')}"
        ) from None


def _with_constants(
    board_plan: BoardPlan, quantized: QuantizedGraph, rounds: int, rooms: Sequence[DecryptionRoom]
) -> BoardPlan:
    """Return the plan with decrypted constants; of layers that have the same ones, the first decrypts them."""
    constants = dict(layer_constants(board_plan, quantized))
    sharing = list(sharing_layers(board_plan, quantized, constants))
    in_use = in_use_together(board_plan.memory.in_use, sharing)
    found = place_decrypted(board_plan.board, rounds, {own[0]: constants[own[0]] for own in sharing}, in_use, rooms)
    layers = {
        each: replace(found.layers[own[0]], is_reused=found.layers[own[0]].is_copied and each != own[0])
        for own in sharing
        for each in own
    }
    return replace(board_plan.with_constants(layers), kept_memory=found.memory)


def _rooms(board_plan: BoardPlan, own_bytes: int) -> Iterator[DecryptionRoom]:
    """Yield the rooms that a board has: constants are kept behind its arena, or in a larger RAM."""
    near, far, arena = board_plan.board.near_memory, board_plan.board.device.largest_ram, board_plan.arena_memory
    begin, end = board_plan.constants_space
    end -= own_bytes
    if arena == near:
        tensors_end = board_plan.stages_begin_bytes
        if tensors_end <= end - _PADDING_BYTES:
            yield DecryptionRoom(near, ByteRange(begin, end - _PADDING_BYTES), tensors_end, None)
    else:
        tensors_end = begin + board_plan.near_arena_bytes
    if far != near and tensors_end <= end:
        used_bytes = board_plan.arena_bytes if far == arena else 0
        kept_bytes = far.size_bytes - used_bytes - board_plan.board.read_ahead_bytes - _PADDING_BYTES
        yield DecryptionRoom(far, ByteRange(begin, end), tensors_end, kept_bytes)
