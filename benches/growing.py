"""Growing: what more nodes, and more classes per node, cost."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from benches.all_nodes import AllNodes, native
from benches.inventories import generated
from benches.measure import Series
from benches.programs import KAPICORP, OURS, PROGRAMS, RECLASS_RS, worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.effort import Effort
    from benches.inventories import Inventory

_FORMULAS_PER_ROLE = (6, 12, 24, 48)


def with_nodes(effort: Effort, inventories: Sequence[Inventory], largest: AllNodes) -> list[Series]:
    """The processor's seconds for all nodes, by their number; `largest` is of the last inventory,
    and for reclass-rs of the second one."""
    points: dict[str, list[tuple[float, float]]] = {program: [] for program in PROGRAMS}
    for inventory in inventories[:-1]:
        rendered = AllNodes()
        native(effort.few, inventory, rendered)
        points[OURS].append((len(inventory.nodes), rendered.processor[OURS].median))
    # Three points of one peer and two of the other take minutes enough.
    for inventory in inventories[:2]:
        with worker(KAPICORP, inventory.base) as peer:
            points[KAPICORP].append((len(inventory.nodes), peer("inventory")[1]))
    with worker(RECLASS_RS, inventories[0].base) as peer:
        points[RECLASS_RS].append((len(inventories[0].nodes), peer("inventory", threads=2)[1]))
    points[RECLASS_RS].append((len(inventories[1].nodes), largest.processor[RECLASS_RS].median))
    for program in (OURS, KAPICORP):
        points[program].append((len(inventories[-1].nodes), largest.processor[program].median))
    return [Series(program, of_program) for program, of_program in points.items()]


def with_classes(effort: Effort) -> list[Series]:
    """The processor's seconds for a node in a warm process, by the number of its classes."""
    points: dict[str, list[tuple[float, float]]] = {program: [] for program in PROGRAMS}
    for formulas in _FORMULAS_PER_ROLE:
        options = ("--nodes", "100", "--classes", "400", "--formulas-per-role", str(formulas))
        inventory = generated(f"{formulas} formulas per role", *options)
        nodes = inventory.sample(effort.sample)
        with worker(OURS, inventory.base) as ours:
            classes = statistics.mean(len(ours("classes", node=node)) for node in nodes)
        points[OURS].append((classes, _first(effort, inventory)))
        for program in (KAPICORP, RECLASS_RS):
            with worker(program, inventory.base) as peer:
                peer("count_processor_time")
                # The second time: by then the classes have been read.
                asked = nodes[:: max(1, len(nodes) // 4)]
                peer("nodeinfo", nodes=asked)
                times = peer("nodeinfo", nodes=asked)
            points[program].append((classes, statistics.median(times)))
    return [Series(program, of_program) for program, of_program in points.items()]


def _first(effort: Effort, inventory: Inventory) -> float:
    """The median of our first answers for nodes, once half of them have been asked for."""
    times: list[float] = []
    for _ in range(effort.few):
        with worker(OURS, inventory.base) as ours:
            ours("count_processor_time")
            ours("pillar", nodes=inventory.nodes[::2])
            times += ours("pillar", nodes=inventory.nodes[1::2])
    return statistics.median(times)
