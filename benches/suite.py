"""Suite runs the scenarios in order and judges them by their targets."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from benches import (
    all_nodes,
    asking,
    callgrind,
    editing,
    ferroclass,
    growing,
    heap,
    instructions,
    one_node,
    reviewing,
)
from benches.inventories import Inventory, generated, preset, real
from benches.measure import (
    Figure,
    Growth,
    Row,
    Target,
    at_least,
    at_most,
    exponent_at_most,
    ratio,
    seconds,
    size,
)
from benches.one_node import LITERAL
from benches.programs import KAPICORP, OURS, PROGRAMS, RECLASS_RS, REPOSITORY

if TYPE_CHECKING:
    from benches.all_nodes import AllNodes
    from benches.effort import Effort

PROCESSOR = "seconds of the processor"
INVENTORY = ("--inventory", "-o", "json")
LINT = ("lint", "-o", "json")
GRAPH = ("graph", "-o", "dot")


@dataclass
class Results:
    """All that the page says."""

    date: str
    machine: str
    versions: str
    # Judged: on the inventory L, and L with queries.
    targets: list[Row] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    # Instructions by name, as counted now and as recorded; both empty where they are not counted.
    counted: dict[str, int] = field(default_factory=dict)
    recorded: dict[str, int] = field(default_factory=dict)
    # Bytes per node by kind, of L with all answers kept; empty without valgrind.
    heap: dict[str, float] = field(default_factory=dict)
    # Where ferroclass can answer; None if it could not be built.
    ferroclass: ferroclass.Beside | None = None
    # Not judged: the peak of memory, and every inventory.
    memory: list[Row] = field(default_factory=list)
    overview: list[Row] = field(default_factory=list)
    minutes: float = 0


def measure(effort: Effort) -> Results:
    """Runs everything."""
    begin = time.monotonic()
    results = Results(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), machine(), versions())
    if effort.instructions and callgrind.available():
        say("instructions")
        results.counted = instructions.counts()
        recorded = instructions.recorded()
        if recorded.made_with == instructions.made_with():
            results.recorded = recorded.counts
    _large(effort, results)
    _queries(effort, results)
    _reviews(effort, results)
    _editing(effort, results)
    _whole(effort, results)
    if callgrind.available():
        say("memory by kind")
        results.heap = heap.breakdown(_sizes(effort)[-1])
    if ferroclass.available():
        say("ferroclass")
        results.ferroclass = ferroclass.measure(effort)
    say("growth with classes per node")
    classes = growing.with_classes(effort)
    target = exponent_at_most(1.05, classes[0].exponent)
    results.growth.append(Growth("first call for a node", PROCESSOR, "classes per node", classes, [target]))
    for inventory in (*map(preset, effort.presets), *real(effort.real)):
        say(f"inventory {inventory.name}")
        results.overview += _overview(effort, inventory, results.memory)
    results.minutes = (time.monotonic() - begin) / 60
    return results


def say(text: str) -> None:
    """Says on the terminal what takes its time now."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """Processor, cores, memory, system, and what else is going on, in one line."""
    fields = dict(
        line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line
    )
    processor = next((value.strip() for key, value in fields.items() if key.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{processor or platform.machine()}, {os.cpu_count()} cores, {size(memory)}, "
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}, "
        f"{os.getloadavg()[1]:.1f} processes waiting or running before the start"
    )


def versions() -> str:
    """The commit of ours, and the peers as they are installed."""
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    peers = f"{KAPICORP} {version(KAPICORP)}, {RECLASS_RS} {version(RECLASS_RS)}"
    return f"{OURS} at {commit or 'an unknown commit'}, {peers}"


def _sizes(effort: Effort, *options: str) -> list[Inventory]:
    """Inventories with more and more nodes over the same classes; the last one is L."""
    nodes, classes, clusters = effort.large
    name = "L, queries" if options else "L"
    return [
        generated(
            name if count == nodes else f"{count} nodes",
            *("--nodes", str(count), "--classes", str(classes), "--clusters", str(clusters)),
            *options,
        )
        for count in (*effort.smaller, nodes)
    ]


def _large(effort: Effort, results: Results) -> None:
    """The inventory L: all nodes, one node, memory, growth with nodes."""
    sizes = _sizes(effort)
    large = sizes[-1]
    say("all nodes of L: takes minutes")
    rendered = all_nodes.measure(effort, large, sizes[1])
    results.targets += _all_nodes(large, rendered)
    say("one node of L")
    cold, peaks = one_node.cold(effort, large)
    targets = [
        at_most(5e-3, cold[OURS], seconds),
        at_least(40, cold[KAPICORP], cold[OURS], "40 times kapicorp-reclass"),
    ]
    results.targets.append(Row("`reclass --nodeinfo`, cold process", large.name, cold, targets))
    again = one_node.again(effort, large)
    targets = [_near_the_literal(again), at_most(100e-6, again[OURS], seconds)]
    results.targets.append(Row("`ext_pillar` again, nothing changed", large.name, again, targets))
    first = one_node.first(effort, large)
    targets = [at_most(150e-6, first[OURS], seconds)]
    results.targets.append(Row("first call for a node, warm process", large.name, first, targets))
    edited = one_node.edited(effort, large)
    targets = [at_most(500e-6, edited[OURS], seconds)]
    results.targets.append(Row("a class is edited, next call", large.name, edited, targets))
    results.targets.append(_kept(large, rendered))
    for scenario, most in (("all nodes", rendered.peak), ("`reclass --nodeinfo`", peaks)):
        results.memory.append(Row(scenario, large.name, most, shown=size))
    say("growth with nodes: takes minutes")
    nodes = growing.with_nodes(effort, sizes, rendered)
    target = exponent_at_most(1.0, nodes[0].exponent)
    results.growth.append(Growth("all nodes", PROCESSOR, "nodes", nodes, [target]))


def _all_nodes(large: Inventory, rendered: AllNodes) -> list[Row]:
    one, two = rendered.one_thread, rendered.two_threads
    return [
        Row(
            "all nodes rendered, one thread",
            large.name,
            one,
            [at_least(400, one[KAPICORP], one[OURS], "400 times kapicorp-reclass")],
        ),
        Row(
            "all nodes rendered, two threads",
            large.name,
            two,
            [at_least(1.6, one[OURS], two[OURS], "1.6 times our one thread")],
        ),
        Row("all nodes, whole process, as JSON", large.name, {OURS: rendered.printed}),
        Row("all pillars in a loop, one thread", large.name, {OURS: rendered.loop[1]}),
        Row("all pillars in a loop, two threads", large.name, {OURS: rendered.loop[2]}),
    ]


def _kept(large: Inventory, rendered: AllNodes) -> Row:
    figures = {program: Figure([rendered.kept[program]]) for program in PROGRAMS}
    targets = [at_most(30e3, figures[OURS], size)]
    return Row("memory per node, everything cached", large.name, figures, targets, size)


def _near_the_literal(again: dict[str, Figure]) -> Target:
    times = ratio(again[OURS], again[LITERAL]).median
    literal = seconds(again[LITERAL].median)
    return Target(
        "within 2 times of the same dict from a literal", f"{times:.2f} times ({literal})", times <= 2
    )


def _queries(effort: Effort, results: Results) -> None:
    """The inventory L with queries, and smaller ones."""
    say("queries: takes minutes")
    sizes = _sizes(effort, "--queries", "1")
    large = sizes[-1]
    cold = asking.cold(effort, large)
    targets = [at_least(300, cold[KAPICORP], cold[OURS], "300 times kapicorp-reclass")]
    results.targets.append(Row("a node with queries, cold process", large.name, cold, targets))
    answers = [asking.warm(effort, inventory) for inventory in sizes]
    warm = answers[-1]
    targets = [at_least(20_000, warm[KAPICORP], warm[OURS], "20,000 times kapicorp-reclass")]
    results.targets.append(Row("a node with queries, `ext_pillar` again", large.name, warm, targets))
    begun, further = asking.first(effort, large)
    for scenario, figure, most in (
        ("the first node with queries, all nodes without are warm", begun, 3e-3),
        ("each node with queries after it", further, 0.5e-3),
        ("another node is edited, next call for a node with queries", None, 0.3e-3),
    ):
        figures = asking.edited(effort, large) if figure is None else {OURS: figure}
        targets = [at_most(most, figures[OURS], seconds)]
        results.targets.append(Row(scenario, large.name, figures, targets))
    grown = asking.series(sizes, answers)
    beyond = exponent_at_most(
        0.10, asking.beyond_the_answer(grown), " beyond that of the same dict from a literal"
    )
    results.growth.append(Growth("a node with queries, again", "seconds", "nodes", grown, [beyond]))


def _reviews(effort: Effort, results: Results) -> None:
    """The largest real inventory, checked, and the inventory L, compared."""
    say("lint and diff")
    for inventory in real(1):
        found = reviewing.lint(effort, inventory)
        targets = [at_most(1.0, found[OURS], seconds)]
        results.targets.append(Row("`reclass lint`, cold process", inventory.name, found, targets))
    large = _sizes(effort)[-1]
    found = reviewing.diff(effort, large)
    targets = [at_most(2.0, found[OURS], seconds)]
    results.targets.append(Row("`reclass diff` of two revisions", large.name, found, targets))


def _editing(effort: Effort, results: Results) -> None:
    """The language server on the inventory L."""
    say("language server")
    large = _sizes(effort)[-1]
    edited = editing.measure(effort, large)
    for scenario, figure, most in (
        ("start until the first diagnostics", Figure(edited.first), 0.5),
        ("hover, definition, completion after a key", Figure(edited.asked), 0.02),
        ("the same, of a hundred the slowest", edited.asked_late(), 0.05),
        ("diagnostics of the open file after a key", Figure(edited.open_file), 0.03),
        ("diagnostics of all nodes that have it", Figure(edited.all_nodes), 0.3),
        ("rename of a class that many files list", Figure(edited.renamed), 0.5),
    ):
        targets = [at_most(most, figure, seconds)]
        results.targets.append(Row(f"`reclass lsp`: {scenario}", large.name, {OURS: figure}, targets))
    peak = Figure(edited.peak)
    targets = [at_most(250e6, peak, size)]
    results.targets.append(Row("`reclass lsp`, peak of memory", large.name, {OURS: peak}, targets, size))


def _whole(effort: Effort, results: Results) -> None:
    """Whole processes of ours, by the time of the processor: queries, the largest inventory, real models."""
    say("whole processes")
    sizes, asking_sizes = _sizes(effort), _sizes(effort, "--queries", "1")
    largest = [preset(name) for name in effort.presets if name == "XL"]

    def row(
        inventory: Inventory, command: tuple[str, ...], most: float | None = None, shown: str | None = None
    ) -> Figure:
        figure, peak = reviewing.processor(effort, inventory, *command)
        targets = [] if most is None else [at_most(most, figure, seconds)]
        scenario = f"`reclass {shown or ' '.join(command)}`, processor"
        results.targets.append(Row(scenario, inventory.name, {OURS: figure}, targets))
        return peak

    plain, _ = reviewing.processor(effort, sizes[-1], *INVENTORY)
    row(asking_sizes[-1], INVENTORY, 1.5 * plain.median)
    limits = {sizes[-1].name: 120e6, "XL": 500e6}
    for inventory in (sizes[-1], *largest):
        peak = row(inventory, INVENTORY)
        targets = [at_most(limits[inventory.name], peak, size)]
        results.targets.append(
            Row("`reclass --inventory -o json`, peak of memory", inventory.name, {OURS: peak}, targets, size)
        )
    for inventory in largest:
        row(inventory, LINT, 3.0)
        row(inventory, GRAPH, 1.5)
        row(inventory, ("diff", str(inventory.base), "--summary"), shown="diff OLD --summary")
    for inventory in reviewing.whole(effort.real):
        row(inventory, INVENTORY)
    for name, command, inventories, most in (
        ("`lint`", LINT, (*sizes, *largest), 1.1),
        ("`graph`", GRAPH, (*sizes, *largest), 1.1),
        ("all nodes, a quarter with queries", INVENTORY, asking_sizes, 1.1),
    ):
        series = reviewing.grown(effort, inventories, *command)
        target = exponent_at_most(most, series.exponent)
        results.growth.append(Growth(name, PROCESSOR, "nodes", [series], [target]))


def _overview(effort: Effort, inventory: Inventory, memory: list[Row]) -> list[Row]:
    """All nodes and one node of an inventory; a peer that takes long is scaled from a sample."""
    if inventory.name in effort.presets:
        result = all_nodes.AllNodes()
        ours = Figure(all_nodes.native(effort.few, inventory, result))
        all_nodes.kapicorp(effort, inventory, False, result)
        all_nodes.reclass_rs(effort, inventory, result)
        everything = {OURS: ours, **result.one_thread}
        memory.append(Row("all nodes", inventory.name, result.peak, shown=size))
    else:
        everything = all_nodes.one_by_one(effort, inventory)
    name = f"{inventory.name} ({len(inventory.nodes):,})"
    return [
        Row("all nodes", name, everything),
        Row("first call", name, one_node.first(effort, inventory)),
        Row("again", name, one_node.again(effort, inventory)),
    ]
