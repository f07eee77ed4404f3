"""Plots draws the results as SVG files beside the page."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from benches.measure import Growth, Row, seconds, size
from benches.one_node import LITERAL
from benches.programs import KAPICORP, OURS, PROGRAMS, RECLASS_RS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benches.suite import Results

_COLOURS = {OURS: "#c2410c", KAPICORP: "#1d4ed8", RECLASS_RS: "#15803d", LITERAL: "#737373"}


def draw(results: Results, folder: Path) -> None:
    """Writes ``times.svg``, ``memory.svg`` and ``growth.svg``."""
    import matplotlib as mpl

    # The same results are the same file.
    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "benches",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    folder.mkdir(exist_ok=True)
    times = [row for row in results.targets if row.shown is seconds and len(row.figures) > 1]
    memory = [row for row in results.targets if row.shown is size]
    _bars(times, folder / "times.svg")
    _bars(memory, folder / "memory.svg")
    _lines(results.growth, folder / "growth.svg")


def _bars(rows: Sequence[Row], file: Path) -> None:
    """A group of bars for each scenario, one for each program, with its figure at its end."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 0.7 + 0.75 * len(rows)))
    height = 0.2
    for index, row in enumerate(rows):
        for place, (program, measured) in enumerate(row.figures.items()):
            y = index + (place - (len(row.figures) - 1) / 2) * height
            axes.barh(y, measured.median, height * 0.9, color=_COLOURS[program], label=program)
            axes.annotate(f" {row.shown(measured.median)}", (measured.median, y), va="center", fontsize=7)
    names = [fill(row.scenario.replace("`", ""), 26) for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # A bar has no natural start on a logarithmic scale: half a decade below the shortest one.
    axes.set_xlim(low / 3, high * 10)
    axes.xaxis.set_major_formatter(lambda value, _: rows[0].shown(value))
    _legend(axes)
    _save(figure, file)


def _lines(grown: Sequence[Growth], file: Path) -> None:
    """A plot for each axis of growth, both scales logarithmic: the slope is the exponent."""
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator

    figure, plots = pyplot.subplots(1, len(grown), figsize=(4 * len(grown), 3.6), squeeze=False)
    for axes, growth in zip(plots[0], grown, strict=True):
        for series in growth.series:
            sizes, costs = zip(*series.points, strict=True)
            label = f"{series.program}: {series.exponent:.2f}"
            axes.plot(sizes, costs, "o-", color=_COLOURS[series.program], label=label, markersize=4)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(growth.cost)
        axes.set_xlabel(growth.axis)
        axes.set_ylabel(growth.unit)
        # Costs may span less than a decade.
        costs_of_all = [cost for series in growth.series for _, cost in series.points]
        wide = max(costs_of_all) > 1000 * min(costs_of_all)
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
        axes.minorticks_off()
        measured = sorted({count for series in growth.series for count, _ in series.points})
        axes.set_xticks(measured, [f"{count:,.0f}" for count in measured])
        axes.yaxis.set_major_formatter(lambda value, _: seconds(value))
        axes.grid(visible=True, which="major", color="#e5e5e5")
        axes.legend(fontsize=7, frameon=False)
    _save(figure, file)


def _legend(axes: Any) -> None:
    """Each program once, in our order."""
    handles, labels = axes.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    shown = [name for name in (*PROGRAMS, LITERAL) if name in first]
    axes.legend([first[name] for name in shown], shown, fontsize=7, frameon=False)


def _save(figure: Any, file: Path) -> None:
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None}, facecolor="white", bbox_inches="tight")
