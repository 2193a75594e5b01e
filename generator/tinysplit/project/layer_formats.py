"""Formats of the layers in the manifest of a generated folder."""

from dataclasses import asdict
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tinysplit.common.file_schema import FileModel
from tinysplit.network.fixed_point.arithmetic import MAX_FACTOR, MAX_SHIFT, Requantization, TfliteRequantization
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats

MOST_SHIFT = 255  # of a ratio of numbers in float32


class ProjectFormat(FileModel):
    """Quantization of a value: an integer i represents (i - zero_point) * scale."""

    bits: Annotated[int, Field(multiple_of=8, ge=8, le=16)]
    scale: Annotated[float, Field(ge=1e-50, le=1e38)]  # steps of float32, and finer
    zero_point: int = 0

    @model_validator(mode="after")
    def _holds_zero(self) -> Self:
        values = self.values
        if not values.low <= self.zero_point <= values.high:
            raise ValueError(f"the zero point {self.zero_point} is outside {self.bits} bits")
        return self

    @classmethod
    def of(cls, values: ValueFormat) -> Self:
        """Return a format as the manifest has it."""
        return cls(bits=values.bits, scale=values.scale, zero_point=values.zero_point)

    @property
    def values(self) -> ValueFormat:
        """The format."""
        return ValueFormat.of(self.bits, self.scale, self.zero_point)


class ProjectRequantization(FileModel):
    """Scaling of sums to outputs; see `fixed_point.arithmetic.Requantization`."""

    pre_shift: Annotated[int, Field(ge=0, le=MAX_SHIFT)]
    factors: Annotated[tuple[Annotated[int, Field(ge=1, le=MAX_FACTOR)], ...], Field(min_length=1)]
    post_shift: Annotated[int, Field(ge=0, le=MAX_SHIFT)]

    @classmethod
    def of(cls, requantization: Requantization) -> Self:
        """Return a requantization as the manifest has it."""
        return cls(**asdict(requantization))

    @property
    def requantization(self) -> Requantization:
        """The requantization."""
        return Requantization(self.factors, self.post_shift, self.pre_shift)


class ProjectTfliteRequantization(FileModel):
    """Scaling of sums to outputs; see `fixed_point.arithmetic.TfliteRequantization`."""

    multipliers: Annotated[tuple[Annotated[int, Field(ge=1 << 30, lt=1 << 31)], ...], Field(min_length=1)]
    shifts: Annotated[tuple[Annotated[int, Field(ge=0, le=MOST_SHIFT)], ...], Field(min_length=1)]
    rounding: Literal["once", "twice"]
    is_exchangeable: bool = False

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if len(self.multipliers) != len(self.shifts):
            raise ValueError(f"there are {len(self.multipliers)} multipliers and {len(self.shifts)} shifts")
        return self

    @classmethod
    def of(cls, requantization: TfliteRequantization) -> Self:
        """Return a requantization as the manifest has it."""
        return cls(**asdict(requantization))

    @property
    def requantization(self) -> TfliteRequantization:
        """The requantization."""
        return TfliteRequantization(**self.model_dump())


class ProjectFormats(FileModel):
    """Formats of a layer; see `fixed_point.layer_formats.LayerFormats`."""

    inputs: Annotated[tuple[ProjectFormat, ...], Field(min_length=1)]
    output: ProjectFormat
    weight_bits: Annotated[int, Field(multiple_of=8, ge=8, le=16)] | None = None
    requantization: ProjectRequantization | ProjectTfliteRequantization | None = None
    packed_groups: tuple[tuple[Annotated[int, Field(ge=0)], ...], ...] = ()

    @classmethod
    def of(cls, formats: LayerFormats) -> Self:
        """Return the formats of a layer as the manifest has them."""
        return cls(
            inputs=tuple(ProjectFormat.of(values) for values in formats.inputs),
            output=ProjectFormat.of(formats.y),
            weight_bits=formats.weight_bits,
            requantization=_of_requantization(formats.requantization),
            packed_groups=formats.packed_groups,
        )

    @property
    def layer_formats(self) -> LayerFormats:
        """The formats."""
        return LayerFormats(
            tuple(values.values for values in self.inputs),
            self.output.values,
            self.weight_bits,
            self.requantization.requantization if self.requantization else None,
            self.packed_groups,
        )


def _of_requantization(
    requantization: Requantization | TfliteRequantization | None,
) -> ProjectRequantization | ProjectTfliteRequantization | None:
    if isinstance(requantization, Requantization):
        return ProjectRequantization.of(requantization)
    return ProjectTfliteRequantization.of(requantization) if requantization else None
