"""Reviewing: what a commit hook and a pull request ask, lints and differences, as whole processes."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from benches.measure import Figure
from benches.programs import KEPT, NATIVE, OURS, run

if TYPE_CHECKING:
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
