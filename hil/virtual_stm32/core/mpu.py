"""The memory protection unit of PMSAv6 and PMSAv7 (Arm DDI 0419 and DDI 0403, B3.5), for privileged code."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Flag
from functools import reduce
from itertools import pairwise
from operator import or_

from typing_extensions import override

from virtual_stm32.core.cores import Core
from virtual_stm32.errors import NotModelledError

TYPE, CTRL, RNR, RBAR, RASR = 0xD90, 0xD94, 0xD98, 0xD9C, 0xDA0
_ALIASES_END = 0xDB8  # of RBAR and RASR, three times, of ARMv7-M
_PAIR = RASR + 4 - RBAR
_ENABLE, _HFNMIENA, _PRIVDEFENA = 1, 2, 4
_VALID, _NUMBER, _BASE_MASK = 1 << 4, 0xF, ~0x1F
_XN = 1 << 28
_SUBREGIONS, _LEAST_WITH_SUBREGIONS = 8, 256
_ADDRESSES = 1 << 32
_AREA_BITS = 29  # of the default memory map: attributes change every 512 MB
# TEX, C and B of the areas with memory, by number: code and 0x80000000 are write-through, the others write-back.
_WRITE_THROUGH, _WRITE_BACK = (0, 1, 0), (1, 1, 1)
_DEFAULT_TYPES = {0: _WRITE_THROUGH, 1: _WRITE_BACK, 3: _WRITE_BACK, 4: _WRITE_THROUGH}


class Access(Flag):
    """What may be done with memory."""

    READ = 1
    WRITE = 2
    EXECUTE = 4


ALL = reduce(or_, Access)
NONE = Access(0)
_BY_PERMISSION = {  # of AP
    0: NONE,
    **dict.fromkeys((1, 2, 3), Access.READ | Access.WRITE),
    **dict.fromkeys((5, 6, 7), Access.READ),
}
_TITLES = {NONE: "no access", Access.READ: "read only"}


@dataclass(frozen=True)
class Protected:
    """Bytes in which a region allows less than the default map."""

    start: int
    end: int
    allowed: Access
    region: int

    @override
    def __str__(self) -> str:
        data = self.allowed & (Access.READ | Access.WRITE)
        title = _TITLES.get(data, "")
        if self.allowed in (Access.READ, Access.READ | Access.WRITE):
            title = ", ".join(filter(None, (title, "no code")))
        return f"region {self.region}: {title}"


@dataclass(frozen=True)
class Region:
    """A region by its registers."""

    number: int
    base: int
    settings: int  # RASR

    @property
    def size(self) -> int:
        """Bytes."""
        return 2 << (self.settings >> 1 & 0x1F)

    @property
    def allowed(self) -> Access:
        """What privileged code may do."""
        access = _BY_PERMISSION[self.settings >> 24 & 7]
        may_run = Access.READ in access and not self.settings & _XN
        return access | Access.EXECUTE if may_run else access

    def parts(self) -> Iterator[tuple[int, int]]:
        """Yield the begin and the end of its enabled subregions."""
        disabled = self.settings >> 8 & 0xFF
        part = self.size // _SUBREGIONS
        if not disabled:
            yield self.base, self.base + self.size
            return
        for number in range(_SUBREGIONS):
            if not disabled >> number & 1:
                yield self.base + number * part, self.base + (number + 1) * part

    def check(self, core: Core) -> None:
        """Raise NotModelledError for settings that are unpredictable, or change how memory is accessed."""
        where = f"region {self.number} of the MPU, {self.size} bytes at 0x{self.base:08x},"
        if self.size < core.facts.least_mpu_bytes:
            raise NotModelledError(f"{where} is smaller than {core.facts.least_mpu_bytes} bytes")
        if self.base % self.size:
            raise NotModelledError(f"{where} is not at a multiple of its size")
        if self.settings >> 8 & 0xFF and self.size < _LEAST_WITH_SUBREGIONS:
            raise NotModelledError(f"{where} is too small for subregions")
        if self.settings >> 24 & 7 not in _BY_PERMISSION:
            raise NotModelledError(f"{where} has reserved access permissions")
        areas = range(self.base >> _AREA_BITS, (self.base + self.size - 1 >> _AREA_BITS) + 1)
        if not all(area in _DEFAULT_TYPES for area in areas):
            raise NotModelledError(f"{where} has peripherals in it")
        if not self.allowed:
            return
        tex, *cached = _DEFAULT_TYPES[areas[0]]
        wanted = (tex if core.facts.has_mainline else 0, 0, *cached)
        own = (self.settings >> 19 & 7, *(self.settings >> bit & 1 for bit in (18, 17, 16)))
        if own != wanted or len(areas) > 1:
            raise NotModelledError(f"{where} has other attributes than the default memory map")


class Mpu:
    """The registers, and what they protect.

    Not modelled are HFNMIENA, a disabled default map, and attributes that differ from it. Regions count from the basic
    block behind the write to a register: before a barrier nothing is promised.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._control = 0
        self._number = 0
        self._bases = [0] * core.facts.mpu_regions
        self._settings = [0] * core.facts.mpu_regions
        self.protected: tuple[Protected, ...] = ()  # in the order of their addresses
        self.has_changed = False

    def has(self, offset: int) -> bool:
        """Whether `offset` in the system control space is a register of the MPU."""
        if not self._bases:
            return False
        return TYPE <= offset < (_ALIASES_END if self._core.facts.has_mainline else RASR + 4)

    def read(self, offset: int) -> int:
        """Return a register."""
        if offset in (TYPE, CTRL, RNR):
            return {TYPE: len(self._bases) << 8, CTRL: self._control, RNR: self._number}[offset]
        if (offset - RBAR) % _PAIR == 0:
            return self._shown_base()
        return self._settings[self._number]

    def write(self, offset: int, value: int) -> None:
        """Write a register. Raises NotModelledError for settings that are not modelled, when they take effect."""
        if offset == TYPE:
            return
        if offset == CTRL:
            self._control = value & (_ENABLE | _HFNMIENA | _PRIVDEFENA)
        elif offset == RNR:
            self._select(value)
            return
        elif (offset - RBAR) % _PAIR == 0:
            self._set_base(value)
        else:
            self._settings[self._number] = value
        self._update()

    def _shown_base(self) -> int:
        """Return RBAR."""
        return self._bases[self._number] | self._number

    def _set_base(self, value: int) -> None:
        """Write RBAR."""
        if value & _VALID:
            self._select(value & _NUMBER)
        self._bases[self._number] = value & _BASE_MASK

    def _select(self, number: int) -> None:
        if number >= len(self._bases):
            raise NotModelledError(f"the MPU has no region {number}")
        self._number = number

    def _update(self) -> None:
        before = self.protected
        self.protected = tuple(self._protect()) if self._control & _ENABLE else ()
        self.has_changed = self.has_changed or self.protected != before

    def _check_control(self) -> None:
        if self._control & _HFNMIENA or not self._control & _PRIVDEFENA:
            raise NotModelledError("an MPU with HFNMIENA or without PRIVDEFENA is not modelled")

    def _protect(self) -> Iterator[Protected]:
        self._check_control()
        regions = [
            Region(number, base, settings)
            for number, (base, settings) in enumerate(zip(self._bases, self._settings, strict=True))
            if settings & 1
        ]
        for region in regions:
            region.check(self._core)
        parts = [(*part, region) for region in regions for part in region.parts()]
        for start, end in pairwise(sorted({edge for *part, _ in parts for edge in part})):
            inside = [region for first, last, region in parts if first <= start and end <= last]
            if inside and (allowed := inside[-1].allowed) != ALL:
                yield Protected(start, end, allowed, inside[-1].number)

    def at(self, access: Access, address: int, size: int = 1) -> Protected | None:
        """Return what keeps `access` from `size` bytes, None if nothing does."""
        for each in self.protected:
            if each.start < address + size and address < each.end and access not in each.allowed:
                return each
        return None
