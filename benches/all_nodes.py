"""All nodes: one thread, two threads, and the memory that keeping all of it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from benches.measure import Figure, alternate
from benches.programs import (
    KAPICORP,
    OURS,
    PROGRAMS,
    RECLASS_RS,
    engine,
    inventory_command,
    run,
    worker,
)

if TYPE_CHECKING:
    from benches.effort import Effort
    from benches.inventories import Inventory


@dataclass
class AllNodes:
    """What rendering all nodes took, by program."""

    one_thread: dict[str, Figure] = field(default_factory=dict)
    two_threads: dict[str, Figure] = field(default_factory=dict)
    # Our whole process that prints them as JSON.
    printed: Figure = field(default_factory=lambda: Figure([]))
    # The loop over ``ext_pillar`` in one process: one thread, two threads.
    loop: dict[int, Figure] = field(default_factory=dict)
    # Seconds of the processor, of the same runs.
    processor: dict[str, Figure] = field(default_factory=dict)
    # Bytes: all that the process ever held, and per node what it held more at the end.
    peak: dict[str, Figure] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)


def measure(effort: Effort, inventory: Inventory, part: Inventory) -> AllNodes:
    """Renders all nodes with kapicorp-reclass, however long it takes; reclass-rs, which takes three
    times as long, renders a part of them with two threads."""
    result = AllNodes()
    one: list[float] = []
    two: list[float] = []
    printed: list[float] = []

    def ours() -> None:
        # The first round of a process has to get its memory from the system: it counts.
        one.extend(engine(inventory.base, 1, effort.few))
        two.extend(engine(inventory.base, 2, effort.few))
        printed.extend(native(effort.few, inventory, result))

    ours()
    kapicorp(effort, inventory, True, result)
    ours()
    reclass_rs(effort, inventory, result)
    reclass_rs_in_part(inventory, part, result)
    ours()
    result.one_thread = {OURS: Figure(one)} | result.one_thread
    result.two_threads = {OURS: Figure(two)} | result.two_threads
    result.printed = Figure(printed)
    loop(effort, inventory, result)
    return result


def native(rounds: int, inventory: Inventory, result: AllNodes) -> list[float]:
    """The seconds of our whole process that prints all nodes as JSON."""
    run(inventory_command(inventory.base))
    ended = [run(inventory_command(inventory.base)) for _ in range(rounds)]
    result.processor[OURS] = Figure([process.processor for process in ended])
    result.peak[f"{OURS}, the program"] = Figure([process.peak for process in ended])
    return [process.seconds for process in ended]


def one_by_one(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """Opening and ``nodeinfo`` of each node in a new process: for inventories with broken nodes,
    of which nobody can render all."""

    def work(program: str, _turn: int) -> float:
        with worker(program) as opened:
            opened("open", base=str(inventory.base), settings=inventory.settings)
            return float(opened("one_by_one", nodes=inventory.nodes))

    values = alternate(effort.few, {program: partial(work, program) for program in PROGRAMS})
    return {program: Figure(times) for program, times in values.items()}


def loop(effort: Effort, inventory: Inventory, result: AllNodes) -> None:
    """All pillars in a new process, by one thread and by two, in turn."""

    def work(threads: int, _turn: int) -> float:
        with worker(OURS) as ours:
            before = ours("memory")
            ours("open", base=str(inventory.base), settings=inventory.settings)
            seconds = float(ours("loop", nodes=inventory.nodes, threads=threads))
            after = ours("memory")
            if threads == 1:
                result.kept[OURS] = (after["now"] - before["now"]) / len(inventory.nodes)
                result.peak[f"{OURS}, the module"] = Figure([after["peak"]])
            return seconds

    values = alternate(effort.few, {str(threads): partial(work, threads) for threads in (1, 2)})
    result.loop = {int(threads): Figure(times) for threads, times in values.items()}


def kapicorp(effort: Effort, inventory: Inventory, whole: bool, result: AllNodes) -> None:
    """``Core.inventory()``: once, or scaled from what a node takes in a warm process."""
    scaled = _scaled(effort, inventory, KAPICORP)
    if not whole and scaled.median > effort.patience:
        result.one_thread[KAPICORP] = scaled
        return
    with worker(KAPICORP, inventory.base, inventory.settings) as peer:
        before = peer("memory")
        wall, processor = peer("inventory")
        after = peer("memory")
        result.one_thread[KAPICORP] = Figure([wall], "once")
        result.processor[KAPICORP] = Figure([processor])
        result.kept[KAPICORP] = (after["now"] - before["now"]) / len(inventory.nodes)
        result.peak[KAPICORP] = Figure([after["peak"]])


def reclass_rs(effort: Effort, inventory: Inventory, result: AllNodes) -> None:
    """``Reclass.inventory()`` with one thread where that is short, otherwise scaled."""
    scaled = _scaled(effort, inventory, RECLASS_RS)
    result.one_thread[RECLASS_RS] = scaled
    if scaled.median <= effort.patience:
        with worker(RECLASS_RS, inventory.base, inventory.settings) as peer:
            wall, _ = peer("inventory", threads=1)
            result.one_thread[RECLASS_RS] = Figure([wall], "once")
            result.peak[RECLASS_RS] = Figure([peer("memory")["peak"]])


def reclass_rs_in_part(inventory: Inventory, part: Inventory, result: AllNodes) -> None:
    """``Reclass.inventory()`` with two threads of a part of the nodes, scaled to all of them."""
    with worker(RECLASS_RS, part.base, part.settings) as peer:
        before = peer("memory")
        wall, processor = peer("inventory", threads=2)
        after = peer("memory")
    scale = len(inventory.nodes) / len(part.nodes)
    remark = f"scaled from {len(part.nodes)} nodes"
    result.two_threads[RECLASS_RS] = Figure([wall * scale], remark)
    result.processor[RECLASS_RS] = Figure([processor], f"{len(part.nodes)} nodes")
    result.kept[RECLASS_RS] = (after["now"] - before["now"]) / len(part.nodes)
    result.peak[RECLASS_RS] = Figure([after["peak"]], f"{len(part.nodes)} nodes")


def _scaled(effort: Effort, inventory: Inventory, program: str) -> Figure:
    """The time for all nodes from a sample of them, each asked for the second time: by then the
    classes have been read, as they are for most nodes of a whole run."""
    sample = inventory.sample(effort.sample)
    with worker(program, inventory.base, inventory.settings) as peer:
        peer("nodeinfo", nodes=sample)
        times = peer("nodeinfo", nodes=sample)
    per_node = sum(times) / len(times)
    remark = f"scaled from {len(sample)} nodes"
    return Figure([per_node * len(inventory.nodes)], remark)
