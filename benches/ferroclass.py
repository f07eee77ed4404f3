"""Ferroclass, a crate: whole processes, beside ours, over the inventories that it renders."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from benches.inventories import real
from benches.measure import Figure, alternate
from benches.programs import FERROCLASS, KEPT, OURS, inventory_command, run

if TYPE_CHECKING:
    from pathlib import Path

    from benches.effort import Effort
    from benches.inventories import Inventory

VERSION = "0.12.0"
_ROOT = KEPT / "ferroclass"
_PROGRAM = _ROOT / "bin/ferroclass"


@dataclass
class Beside:
    """What ferroclass was measured on: seconds by program, for the largest inventories that it renders."""

    figures: list[tuple[Inventory, dict[str, Figure]]] = field(default_factory=list)
    # Of how many inventories it prints all nodes, and of how many both were asked.
    rendered: int = 0
    asked: int = 0


def available() -> bool:
    """Whether the program is there, or could be built; it is built once."""
    if not _PROGRAM.exists() and shutil.which("cargo"):
        command = ["cargo", "install", "--quiet", "--root", str(_ROOT), "--version", VERSION, "ferroclass"]
        subprocess.run(command, check=False)
    return _PROGRAM.exists()


def measure(effort: Effort) -> Beside:
    """Prints all nodes as JSON, in turns."""
    result = Beside()
    for inventory in real(count=1_000):
        if inventory.settings:
            continue
        result.asked += 1
        if subprocess.run(_command(inventory.base), check=False, capture_output=True).returncode:
            continue
        result.rendered += 1
        if len(result.figures) < effort.real:
            result.figures.append((inventory, _figures(effort, inventory)))
    return result


def _figures(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    def work(command: list[str], _turn: int) -> float:
        return run(command).seconds

    commands = {OURS: inventory_command(inventory.base), FERROCLASS: _command(inventory.base)}
    works = {program: partial(work, command) for program, command in commands.items()}
    return {program: Figure(times) for program, times in alternate(effort.rounds, works).items()}


def _command(base: Path) -> list[str]:
    return [str(_PROGRAM), "-b", str(base), "-o", "json", "--inventory"]
