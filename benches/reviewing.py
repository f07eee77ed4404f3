"""Reviewing: whole processes of ours, as a commit hook and a pull request start them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import islice
from typing import TYPE_CHECKING

from benches.inventories import real
from benches.measure import Figure, Series
from benches.programs import KEPT, NATIVE, OURS, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benches.effort import Effort
    from benches.inventories import Inventory

# Both end with 1 where there is something to say.
_ENDS = (0, 1)


def lint(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """All files and nodes looked at."""
    command = [NATIVE, "lint", "-b", str(inventory.base), "-o", "json"]
    return {OURS: Figure([run(command, _ENDS).seconds for _ in range(effort.few)])}


def diff(effort: Effort, inventory: Inventory) -> dict[str, Figure]:
    """All nodes rendered on both sides of a commit that changes a class of a cluster."""
    base = str(_repository(inventory))
    command = [NATIVE, "diff", "-b", base, "HEAD~1", "HEAD", "--summary"]
    return {OURS: Figure([run(command, _ENDS).seconds for _ in range(effort.few)])}


def processor(effort: Effort, inventory: Inventory, *command: str) -> tuple[Figure, Figure]:
    """The processor's seconds and the peak of memory of a command."""
    line = [NATIVE, *command, "-b", str(inventory.base)]
    ended = [run(line, _ENDS) for _ in range(effort.few)]
    return Figure([one.processor for one in ended]), Figure([one.peak for one in ended])


def whole(count: int) -> list[Inventory]:
    """The largest real inventories of which every node renders without other settings."""

    def renders(inventory: Inventory) -> bool:
        command = [NATIVE, "-b", str(inventory.base), "--inventory"]
        return not inventory.settings and _ends_well(command)

    return list(islice(filter(renders, real(count=100)), count))


def _ends_well(command: list[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def grown(effort: Effort, inventories: Sequence[Inventory], *command: str) -> Series:
    """The processor's seconds of a command, by the number of nodes."""
    points: list[tuple[float, float]] = [
        (len(of.nodes), processor(effort, of, *command)[0].median) for of in inventories
    ]
    return Series(OURS, points)


def _repository(inventory: Inventory) -> Path:
    """A copy of an inventory with two commits."""
    folder = KEPT / "repository"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inventory.base, folder)
    _git(folder, "init", "-q")
    _commit(folder)
    changed = min((folder / "classes/cluster").glob("*/init.yml"))
    text = changed.read_text()
    changed.write_text(text.replace("    region: ", "    region: another-", 1))
    _commit(folder)
    return folder


def _commit(folder: Path) -> None:
    _git(folder, "add", "-A")
    identity = ("-c", "user.name=benches", "-c", "user.email=benches@example.com")
    _git(folder, *identity, "commit", "-q", "-m", "a commit")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)
