"""Measure turns timings into figures: medians, ratios with their spread, exponents of growth.

Pure: nothing here runs anything.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class Figure:
    """What was measured of one program: a value for each round, in seconds or bytes."""

    values: list[float]
    remark: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True)
class Ratio:
    """How many times one figure is another."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Target:
    """What a scenario has to reach, what it came to, and whether that is enough."""

    text: str
    value: str
    reached: bool


@dataclass(frozen=True)
class Row:
    """One scenario: a figure for each program that was measured, by name."""

    scenario: str
    inventory: str
    figures: dict[str, Figure]
    targets: list[Target] = field(default_factory=list)
    shown: Callable[[float], str] = field(default_factory=lambda: seconds)


@dataclass(frozen=True)
class Series:
    """How a cost grows: `points` are (size, cost)."""

    program: str
    points: list[tuple[float, float]]

    @property
    def exponent(self) -> float:
        return growth(self.points)


@dataclass(frozen=True)
class Growth:
    """One axis along which costs were measured, and what our exponent has to be."""

    cost: str
    unit: str
    axis: str
    series: list[Series]
    targets: list[Target]


def alternate(rounds: int, works: Mapping[str, Callable[[int], float]]) -> dict[str, list[float]]:
    """One value per round for each program, all of them in every round.

    A machine whose speed drifts then drifts for all: the ratio of a round stays what it is.
    """
    values: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name, work in works.items():
            values[name].append(work(number))
    return values


def ratio(above: Figure, below: Figure) -> Ratio:
    """The ratio of two figures.

    Round by round where both have the same rounds. Otherwise the median of the one against each
    value of the other, so that the spread is there all the same.
    """
    if len(above.values) == len(below.values):
        ratios = [a / b for a, b in zip(above.values, below.values, strict=True)]
    elif len(above.values) < len(below.values):
        ratios = [above.median / b for b in below.values]
    else:
        ratios = [a / below.median for a in above.values]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


def growth(points: Sequence[tuple[float, float]]) -> float:
    """The exponent k of cost = c · size^k: the slope of a least-squares line through the logarithms.

    Raises ``statistics.StatisticsError`` for less than two sizes.
    """
    sizes = [math.log(size) for size, _ in points]
    return statistics.linear_regression(sizes, [math.log(cost) for _, cost in points]).slope


def at_least(times: float, above: Figure, below: Figure, text: str) -> Target:
    """The target that ``above`` is so many times ``below``, by the median."""
    measured = ratio(above, below).median
    return Target(text, f"{number(measured)} times", measured >= times)


def at_most(limit: float, figure: Figure, shown: Callable[[float], str]) -> Target:
    """The target that the median of a figure is not above a limit."""
    return Target(f"at most {shown(limit)}", shown(figure.median), figure.median <= limit)


def exponent_at_most(limit: float, exponent: float, text: str = "") -> Target:
    """The target that a cost grows no faster than size^limit, judged at two decimals."""
    measured = round(exponent, 2)
    return Target(f"at most {limit:.2f}{text}", f"{measured:.2f}", measured <= limit)


def number(value: float) -> str:
    """Three digits, and no more than are there: ``0.34``, ``1.62``, ``45.1``, ``671``, ``2,040``."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2
    return f"{value:.{digits}f}"


def seconds(value: float) -> str:
    """A time with its unit: ``1.33 ms``."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{number(value * factor)} {unit}"
    return f"{number(value)} s"


def size(value: float) -> str:
    """An amount of memory with its unit, in powers of 1000: ``30.2 KB``."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB")):
        if value >= factor:
            return f"{number(value / factor)} {unit}"
    return f"{number(value / 1e3)} KB"
