"""Page turns the results into the Markdown of ``docs/benchmarks.md``. It reads only its template."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from benches.instructions import ALLOWED
from benches.measure import Figure, Growth, Row, number, ratio, seconds, size
from benches.one_node import LITERAL
from benches.programs import FERROCLASS, KAPICORP, OURS, PROGRAMS, RECLASS_RS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benches.ferroclass import Beside
    from benches.suite import Results

TEMPLATE = Path(__file__).with_name("page.md")


def page(results: Results) -> str:
    """The whole page."""
    judged = [target for row in results.targets for target in row.targets]
    judged += [target for growth in results.growth for target in growth.targets]
    return Template(TEMPLATE.read_text()).substitute(
        date=results.date,
        machine=results.machine,
        versions=results.versions,
        minutes=f"{results.minutes:.0f}",
        reached=sum(target.reached for target in judged),
        judged=len(judged),
        targets=targets(results.targets),
        growth=growths(results.growth),
        instructions=instructions(results.counted, results.recorded),
        memory=plain(results.memory),
        heap=heap(results.heap),
        ferroclass=ferroclass(results.ferroclass),
        overview=overview(results.overview),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def targets(rows: Sequence[Row]) -> str:
    """Each scenario beside the peers, a line for each of its targets."""
    lines = []
    for row in rows:
        peers = [_peer(row, KAPICORP), _peer(row, RECLASS_RS)]
        shown = [f"{row.scenario} ({row.inventory})", _shown(row, row.figures[OURS]), *peers]
        verdicts = [
            [target.text, target.value, "yes" if target.reached else "**missed**"] for target in row.targets
        ]
        for verdict in verdicts or [["", "", ""]]:
            lines.append([*shown, *verdict])
            shown = ["", "", "", ""]
    return table(["scenario (inventory)", OURS, KAPICORP, RECLASS_RS, "target", "measured", "reached"], lines)


def growths(grown: Sequence[Growth]) -> str:
    """The exponents, by program."""
    lines = []
    for growth in grown:
        by_program = {series.program: series for series in growth.series}
        exponents = [
            f"{by_program[program].exponent:.2f}" if program in by_program else ""
            for program in (*PROGRAMS, LITERAL)
        ]
        verdicts = ["yes" if target.reached else f"**missed**: {target.value}" for target in growth.targets]
        texts = [target.text for target in growth.targets]
        lines.append([growth.cost, growth.axis, *exponents, "; ".join(texts), "; ".join(verdicts)])
    return table(["cost", "grows with", *PROGRAMS, LITERAL, "target", "reached"], lines)


def instructions(counted: dict[str, int], recorded: dict[str, int]) -> str:
    """The counts beside the recorded ones."""
    if not counted:
        return "Not counted in this run."
    lines = []
    for name, count in counted.items():
        before = recorded.get(name)
        change = f"{(count / before - 1) * 100:+.1f}%" if before else ""
        verdict = "" if before is None else "yes" if count <= before * ALLOWED else "**risen**"
        lines.append([name, f"{count:,}", f"{before:,}" if before else "none", change, verdict])
    return table(["instructions", "now", "recorded", "change", f"within {ALLOWED - 1:.0%}"], lines)


def plain(rows: Sequence[Row]) -> str:
    """A figure of each program, with one line for each of them."""
    lines = [
        [f"{row.scenario} ({row.inventory})", program, _shown(row, figure)]
        for row in rows
        for program, figure in row.figures.items()
    ]
    return table(["scenario (inventory)", "program", "peak"], lines)


def heap(by_kind: dict[str, float]) -> str:
    """Bytes per node by kind."""
    if not by_kind:
        return "Not measured in this run: valgrind is not installed."
    whole = sum(by_kind.values())
    lines = [
        [kind, size(part), f"{part / whole:.0%}"] for kind, part in by_kind.items() if part >= whole / 200
    ]
    return table(["kind", "per node", "share"], [*lines, ["all", size(whole), "100%"]])


def ferroclass(beside: Beside | None) -> str:
    """The inventories that ferroclass renders, ours beside it."""
    if beside is None:
        return "Not measured in this run: ferroclass could not be built."
    lines = []
    for inventory, figures in beside.figures:
        times = ratio(figures[FERROCLASS], figures[OURS])
        spread = f"{number(times.median)} times, {number(times.low)} to {number(times.high)}"
        theirs = f"{seconds(figures[FERROCLASS].median)}: {spread}"
        name = f"{inventory.name} ({len(inventory.nodes)})"
        lines.append([name, seconds(figures[OURS].median), theirs])
    said = f"It renders all nodes of {beside.rendered} of {beside.asked} real inventories."
    return said + "\n\n" + table(["inventory (nodes)", OURS, FERROCLASS], lines)


def overview(rows: Sequence[Row]) -> str:
    """Every inventory, ours beside the peers."""
    lines = [
        [
            row.inventory,
            row.scenario,
            _shown(row, row.figures[OURS]),
            _peer(row, KAPICORP),
            _peer(row, RECLASS_RS),
        ]
        for row in rows
    ]
    return table(["inventory (nodes)", "scenario", OURS, KAPICORP, RECLASS_RS], lines)


def _shown(row: Row, figure: Figure) -> str:
    remark = f" ({figure.remark})" if figure.remark else ""
    return f"{row.shown(figure.median)}{remark}"


def _peer(row: Row, program: str) -> str:
    """A peer's figure, how many times ours it is, and between which ratios the rounds were."""
    figure = row.figures.get(program)
    if figure is None:
        return ""
    times = ratio(figure, row.figures[OURS])
    spread = f", {number(times.low)} to {number(times.high)}" if times.low != times.high else ""
    return f"{_shown(row, figure)}: {number(times.median)} times{spread}"
