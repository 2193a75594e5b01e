"""Decrypted constants in RAM: the best choice of what is kept, compared with brute force, and places that are free."""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations

import numpy as np
import pytest

from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.memory.constants_in_ram import ByteRange, Decrypted, LayerConstants, PlacedConstants
from tinysplit.memory.decryption import DecryptionRoom, NoRoomError, decrypt_cycles, place_decrypted

G0, L4, H7 = (load_board(f"nucleo_{name}") for name in ("g071rb", "l4r5zi", "h743zi"))
ROUNDS = 10
TENSORS_END = 400
InUse = Mapping[int, tuple[ByteRange, ...]]


def constants_of(*sizes: int) -> dict[int, LayerConstants]:
    return {number: LayerConstants({"weights": size}, 10 * size) for number, size in enumerate(sizes)}


def room_of(size_bytes: int, kept_bytes: int | None = None) -> DecryptionRoom:
    memory = H7.device.largest_ram if kept_bytes is not None else G0.near_memory
    return DecryptionRoom(memory, ByteRange(0, size_bytes), TENSORS_END, kept_bytes)


def test_cycles_are_those_of_blocks_and_rounds() -> None:
    """Of 16 bytes each; an array of 14 words lies in 4.25 blocks on average."""
    constants = LayerConstants({"weights": 64, "bias": 53}, 0)
    wait_cycles = 16 * 2
    assert decrypt_cycles(constants, 10, L4) == 2 * 50 + (4.75 + 4.25) * (131 + 10 * 113)
    assert decrypt_cycles(constants, 14, G0) == 2 * 50 + (4.75 + 4.25) * (114 + 14 * 222 + wait_cycles)


def test_all_are_kept_where_they_fit() -> None:
    placed = place_decrypted(G0, ROUNDS, constants_of(300, 200), {0: (), 1: ()}, [room_of(TENSORS_END + 500)])
    assert [each.decrypted for each in placed.layers.values()] == [Decrypted.ONCE] * 2
    assert placed.cost_cycles == 0


def test_what_is_kept_behind_a_cache_costs_its_waits() -> None:
    """Ten cycles for each line of 32 bytes that the data cache of 16 KB does not hold."""
    constants = constants_of(32_000)
    placed = place_decrypted(H7, ROUNDS, constants, {0: ()}, [room_of(1000, 32_000)])
    assert placed.memory == H7.device.largest_ram
    assert placed.cost_cycles == 10 * 32_000 / 32 * 10
    near = DecryptionRoom(H7.near_memory, ByteRange(0, 40_000), 0, None)
    assert place_decrypted(H7, ROUNDS, constants, {0: ()}, [near, room_of(1000, 32_000)]).memory == H7.near_memory


def test_the_rest_is_decrypted_each_time_where_nothing_is_in_use() -> None:
    in_use = {0: (ByteRange(0, 100),), 1: (ByteRange(100, 400),)}
    placed = place_decrypted(G0, ROUNDS, constants_of(300, 96), in_use, [room_of(500)]).layers
    assert [placed[number].decrypted for number in (0, 1)] == [Decrypted.EACH_TIME, Decrypted.ONCE]
    assert placed[0].offsets == {"weights": 100}


def test_fused_layers_have_places_beside_each_other() -> None:
    step = (ByteRange(0, 100),)
    placed = place_decrypted(G0, ROUNDS, constants_of(100, 200), {0: step, 1: step}, [room_of(400)]).layers
    assert [placed[number].offsets["weights"] for number in (0, 1)] == [300, 100]
    with pytest.raises(NoRoomError) as caught:
        place_decrypted(G0, ROUNDS, constants_of(100, 400), {0: step, 1: step}, [room_of(596)])
    assert (caught.value.needed_bytes, caught.value.free_bytes) == (500, 496)


def test_a_layer_without_room_is_named_with_the_figures() -> None:
    in_use = {0: (ByteRange(0, 400),), 1: (ByteRange(200, 300),)}
    with pytest.raises(NoRoomError, match="704 bytes of decrypted weights do not fit into 700 bytes") as caught:
        place_decrypted(G0, ROUNDS, constants_of(200, 704), in_use, [room_of(1000)])
    assert caught.value.layer == 1


def random_case(rng: np.random.Generator) -> tuple[dict[int, LayerConstants], InUse, DecryptionRoom]:
    count = int(rng.integers(1, 7))
    constants = constants_of(*(4 * int(size) for size in rng.integers(1, 100, count)))
    in_use = {number: tuple(random_ranges(rng)) for number in range(count)}
    return constants, in_use, room_of(4 * int(rng.integers(100, 350)))


def random_ranges(rng: np.random.Generator) -> Iterator[ByteRange]:
    for _ in range(int(rng.integers(1, 3))):
        begin, end = sorted(4 * int(word) for word in rng.choice(TENSORS_END // 4 + 1, 2, replace=False))
        yield ByteRange(begin, end)


def least_cycles(constants: dict[int, LayerConstants], in_use: InUse, room: DecryptionRoom) -> float | None:
    """Return the cycles of the best set of layers that are decrypted each time, by trying all."""
    sets = chain.from_iterable(combinations(constants, count) for count in range(len(constants) + 1))
    found = []
    for again in sets:
        kept_bytes = sum(own.size_bytes for number, own in constants.items() if number not in again)
        end = room.space.end - kept_bytes
        if end >= TENSORS_END and all(has_place(in_use[each], constants[each].size_bytes, end) for each in again):
            cycles = (decrypt_cycles(constants[each], ROUNDS, L4) for each in again)
            found.append(sum(cycles) + sum(5 * constants[each].size_bytes / 8 for each in again))
    return min(found, default=None)


def has_place(in_use: tuple[ByteRange, ...], size_bytes: int, end: int) -> bool:
    free = [all(not each.begin <= offset < each.end for each in in_use) for offset in range(0, end, 4)]
    words = size_bytes // 4
    return any(all(free[begin : begin + words]) for begin in range(len(free) - words + 1))


def test_the_choice_is_the_best_one() -> None:
    rng = np.random.default_rng(7)
    for _ in range(cases(quick=30, full=200, nightly=3000)):
        constants, in_use, room = random_case(rng)
        best = least_cycles(constants, in_use, room)
        if best is None:
            with pytest.raises(NoRoomError):
                place_decrypted(L4, ROUNDS, constants, in_use, [room])
            continue
        placed = place_decrypted(L4, ROUNDS, constants, in_use, [room])
        assert placed.cost_cycles == pytest.approx(best)
        assert_places_are_free(placed.layers, in_use, room)


def assert_places_are_free(layers: Mapping[int, PlacedConstants], in_use: InUse, room: DecryptionRoom) -> None:
    kept_bytes = sum(own.size_bytes for own in layers.values() if own.decrypted is Decrypted.ONCE)
    for number, own in layers.items():
        if own.decrypted is Decrypted.EACH_TIME:
            begin = own.offsets["weights"]
            assert own.end_bytes <= room.space.end - kept_bytes
            assert all(own.end_bytes <= each.begin or begin >= each.end for each in in_use[number])
