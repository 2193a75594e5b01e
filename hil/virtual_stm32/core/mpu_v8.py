"""The memory protection unit of PMSAv8 (Arm DDI 0553, B8 and D1.2), for privileged code."""

from collections.abc import Iterator
from itertools import pairwise

from typing_extensions import override

from virtual_stm32.core.cores import Core
from virtual_stm32.core.mpu import ALL, RASR, TYPE, Access, Mpu, Protected, Region
from virtual_stm32.errors import NotModelledError

_MAIR0, _MAIR1 = 0xDC0, 0xDC4
_GRAIN = 32  # bytes
_XN, _AP = 1, 1  # of RBAR
_READ_ONLY = (2, 3)
_EN, _ATTRIBUTES = 1, 1  # of RLAR
_AREA_BITS = 29
_DEFAULT_TYPES = {0: 0xAA, 1: 0xFF}  # MAIR attributes of the default map: write-through, write-back and allocate


class RegionV8(Region):
    """From a base to a limit; `settings` is RLAR, `base` RBAR."""

    @property
    def start(self) -> int:
        """Address of the first byte."""
        return self.base & -_GRAIN

    @property
    @override
    def size(self) -> int:
        return (self.settings & -_GRAIN) + _GRAIN - self.start

    @property
    @override
    def allowed(self) -> Access:
        access = Access.READ if self.base >> _AP & 3 in _READ_ONLY else Access.READ | Access.WRITE
        return access if self.base & _XN else access | Access.EXECUTE

    def check_types(self, types: int) -> None:
        """Raise NotModelledError for an empty region, or another memory type than that of the default map."""
        start, end = self.start, self.start + self.size
        where = f"region {self.number} of the MPU, from 0x{start:08x} to 0x{end:08x},"
        if end <= start:
            raise NotModelledError(f"{where} has no bytes")
        areas = {start >> _AREA_BITS, end - 1 >> _AREA_BITS}
        own = types >> 8 * (self.settings >> _ATTRIBUTES & 7) & 0xFF
        if any(_DEFAULT_TYPES.get(area) != own for area in areas):
            raise NotModelledError(f"{where} has other attributes than the default memory map")


class MpuV8(Mpu):
    """RBAR, RLAR and MAIR; regions may not overlap."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._types = {_MAIR0: 0, _MAIR1: 0}

    @override
    def has(self, offset: int) -> bool:
        return TYPE <= offset <= RASR or offset in self._types

    @override
    def read(self, offset: int) -> int:
        return self._types[offset] if offset in self._types else super().read(offset)

    @override
    def write(self, offset: int, value: int) -> None:
        if offset not in self._types:
            super().write(offset, value)
            return
        self._types[offset] = value
        self._update()

    @override
    def _set_base(self, value: int) -> None:
        self._bases[self._number] = value

    @override
    def _shown_base(self) -> int:
        return self._bases[self._number]

    @override
    def _protect(self) -> Iterator[Protected]:
        self._check_control()
        regions = [
            RegionV8(number, base, limit)
            for number, (base, limit) in enumerate(zip(self._bases, self._settings, strict=True))
            if limit & _EN
        ]
        for region in regions:
            region.check_types(self._types[_MAIR0] | self._types[_MAIR1] << 32)
        regions.sort(key=lambda region: region.start)
        for low, high in pairwise(regions):
            if high.start < low.start + low.size:
                raise NotModelledError(f"the regions {low.number} and {high.number} of the MPU overlap")
        for region in regions:
            if region.allowed != ALL:
                yield Protected(region.start, region.start + region.size, region.allowed, region.number)
