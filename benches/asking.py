"""Asking: nodes with inventory queries, which read the exports of all other nodes."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from benches.inventories import queries, without_queries
from benches.measure import Figure, Series, growth
from benches.one_node import LITERAL, SETTLED
from benches.programs import KAPICORP, OURS, nodeinfo_command, run, worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.effort import Effort
    from benches.inventories import Inventory


def cold(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """Whole processes that print a node with queries as JSON. The peer takes part once."""
    node = queries(inventory)[0]
    command = nodeinfo_command(OURS, inventory.base, node)
    run(command)
    ours = [run(command).seconds for _ in range(effort.few)]
    peer = run(nodeinfo_command(KAPICORP, inventory.base, node))
    ours += [run(command).seconds for _ in range(effort.few)]
    return {OURS: Figure(ours), KAPICORP: Figure([peer.seconds], "once")}


def warm(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """``ext_pillar`` again for a node with queries, and the same dict from a literal."""
    node = queries(inventory)[0]
    with worker(OURS, inventory.base) as ours:
        ours("pillar", nodes=[node])
        rounds = [
            (
                statistics.median(ours("pillar", nodes=[node], repeat=effort.calls)),
                statistics.median(ours("literal", node=node, repeat=effort.calls)),
            )
            for _ in range(effort.few)
        ]
    with worker(KAPICORP, inventory.base) as kapicorp:
        kapicorp("pillar", nodes=without_queries(inventory)[:1])
        peer = kapicorp("pillar", nodes=[node])
    return {
        OURS: Figure([time for time, _ in rounds]),
        LITERAL: Figure([time for _, time in rounds]),
        KAPICORP: Figure(peer, "once"),
    }


def first(effort: Effort, inventory: Inventory) -> tuple[Figure, Figure]:
    """``ext_pillar`` for the first node with queries in a process that has answered for all nodes without,
    and for the next ones with queries."""
    asking = queries(inventory)
    others = without_queries(inventory)
    began: list[float] = []
    went_on: list[float] = []
    for _ in range(effort.few):
        with worker(OURS, inventory.base) as ours:
            ours("pillar", nodes=others)
            time, *times = ours("pillar", nodes=asking[: effort.rounds + 1])
        began.append(time)
        went_on += times
    return Figure(began), Figure(went_on)


def edited(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """``ext_pillar`` for a node with queries after the file of another node got another parameter, and the
    same dict from a literal."""
    asking = queries(inventory)
    others = without_queries(inventory)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "inventory"
        shutil.copytree(inventory.base, base)
        with worker(OURS, base) as ours:
            ours("pillar", nodes=inventory.nodes)
            times: list[float] = []
            literal: list[float] = []
            for turn in range(effort.rounds):
                node = asking[turn % len(asking)]
                file = next((base / "nodes").rglob(f"{others[turn % len(others)]}.yml"))
                file.write_text(
                    file.read_text().replace("\nparameters:\n", f"\nparameters:\n  edited: {turn}\n", 1)
                )
                sleep(SETTLED)
                times += ours("pillar", nodes=[node])
                literal.append(statistics.median(ours("literal", node=node, repeat=effort.calls)))
    return {OURS: Figure(times), LITERAL: Figure(literal)}


def series(inventories: Sequence[Inventory], answers: Sequence[dict[str, Figure]]) -> list[Series]:
    """What a warm answer costs over inventories with more and more nodes."""
    sizes = [len(inventory.nodes) for inventory in inventories]
    return [
        Series(program, [(size, of[program].median) for size, of in zip(sizes, answers, strict=True)])
        for program in answers[0]
    ]


def beyond_the_answer(grown: list[Series]) -> float:
    """The exponent of what our answer costs more than building the same dict from a literal."""
    points = {line.program: line.points for line in grown}
    pairs = zip(points[OURS], points[LITERAL], strict=True)
    return growth([(size, ours / literal) for (size, ours), (_, literal) in pairs])
