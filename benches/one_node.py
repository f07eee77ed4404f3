"""One node: a cold process, the first answer, the same answer again, the answer after an edit."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from benches.measure import Figure, alternate
from benches.programs import (
    KAPICORP,
    OURS,
    PROGRAMS,
    RECLASS_RS,
    Worker,
    nodeinfo_command,
    run,
    worker,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.effort import Effort
    from benches.inventories import Inventory

# Seconds between an edit and the question: a file that was written just now is waited for (`settle_time`).
SETTLED = 0.1
LITERAL = "Python, from a literal"


def cold(effort: Effort, inventory: Inventory) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """Whole processes that print a node as JSON: their seconds, and their peaks of memory."""
    nodes = inventory.sample(effort.rounds)
    peaks: dict[str, Figure] = {}

    def work(program: str) -> Callable[[int], float]:
        def once(turn: int) -> float:
            ended = run(nodeinfo_command(program, inventory.base, nodes[turn % len(nodes)]))
            peaks[program] = Figure([ended.peak], "" if ended.peak > ended.floor else "or less")
            return ended.seconds

        once(0)
        return once

    values = alternate(effort.rounds, {program: work(program) for program in PROGRAMS})
    return {program: Figure(times) for program, times in values.items()}, peaks


def again(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """``ext_pillar`` for a node that was asked for before, and the same dict from a literal."""
    nodes = inventory.sample(effort.rounds)
    with ExitStack() as stack:
        workers = _workers(stack, inventory)
        ours = workers[OURS]
        ours("pillar", nodes=nodes)

        def median(operation: str, **arguments: Any) -> float:
            return float(statistics.median(ours(operation, **arguments, repeat=effort.calls)))

        def peer(program: str) -> Callable[[int], float]:
            workers[program]("pillar", nodes=nodes[:1])
            return lambda turn: float(workers[program]("pillar", nodes=[nodes[turn % len(nodes)]])[0])

        works: dict[str, Callable[[int], float]] = {
            OURS: lambda turn: median("pillar", nodes=[nodes[turn % len(nodes)]]),
            LITERAL: lambda turn: median("literal", node=nodes[turn % len(nodes)]),
        }
        works |= {program: peer(program) for program in (KAPICORP, RECLASS_RS)}
        return {name: Figure(values) for name, values in alternate(effort.rounds, works).items()}


def first(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """A node that was never asked for, in a process that has answered for others."""
    asked = set(inventory.sample(max(1, len(inventory.nodes) // 10)))
    new = [node for node in inventory.nodes if node not in asked]
    new = replace(inventory, nodes=new).sample(effort.rounds)
    # reclass-rs keeps nothing that a second node would profit from.
    before = {OURS: sorted(asked), KAPICORP: sorted(asked), RECLASS_RS: sorted(asked)[:1]}
    operation = {OURS: "pillar", KAPICORP: "nodeinfo", RECLASS_RS: "nodeinfo"}
    with ExitStack() as stack:
        workers = _workers(stack, inventory)

        def call(program: str) -> Callable[[int], float]:
            workers[program](operation[program], nodes=before[program])
            return lambda turn: float(workers[program](operation[program], nodes=[new[turn]])[0])

        rounds = min(effort.rounds, len(new))
        values = alternate(rounds, {program: call(program) for program in PROGRAMS})
    return {program: Figure(times) for program, times in values.items()}


def edited(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """``ext_pillar`` after a class of the node was written anew with another parameter."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        copy = replace(inventory, base=Path(folder) / "inventory")
        shutil.copytree(inventory.base, copy.base)
        workers = _workers(stack, copy)
        ours = workers[OURS]
        nodes = copy.sample(effort.rounds)

        def work(program: str) -> Callable[[int], float]:
            def once(turn: int) -> float:
                node = nodes[turn % len(nodes)]
                file = _class_of(ours, copy, node, turn)
                if program == OURS:
                    # Every answer is there, as the files are before the edit.
                    ours("pillar", nodes=copy.nodes)
                before = file.read_text()
                file.write_text(before.replace("\nparameters:\n", f"\nparameters:\n  edited: {turn}\n", 1))
                sleep(SETTLED)
                try:
                    time, shown = workers[program]("edited", node=node)
                finally:
                    file.write_text(before)
                if shown != turn:
                    raise ValueError(f"{program}: the answer for {node!r} does not show the edit of {file}")
                return float(time)

            return once

        values = alternate(effort.rounds, {program: work(program) for program in PROGRAMS})
    return {program: Figure(times) for program, times in values.items()}


def _class_of(ours: Worker, inventory: Inventory, node: str, turn: int) -> Path:
    """The file of a class of the node that has parameters, another one each turn."""
    names: list[str] = ours("classes", node=node)
    files = [inventory.base / "classes" / name.replace(".", "/") for name in names]
    found = [
        file
        for path in files
        for file in (path.with_suffix(".yml"), path / "init.yml")
        if file.exists() and "\nparameters:\n  " in file.read_text()
    ]
    return found[turn * 7 % len(found)]


def _workers(stack: ExitStack, inventory: Inventory) -> dict[str, Worker]:
    return {
        program: stack.enter_context(worker(program, inventory.base, inventory.settings))
        for program in PROGRAMS
    }
