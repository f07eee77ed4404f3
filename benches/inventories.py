"""Inventories are what is measured: generated ones (`gen`), or real ones beside the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.programs import KEPT, REPOSITORY, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(os.environ.get("RECLASS_SHARED", REPOSITORY.parent / "shared")).resolve()
GENERATOR = REPOSITORY / "benches/gen"
REAL = SHARED / "conformance/real"


@dataclass(frozen=True)
class Inventory:
    """A folder with nodes and classes."""

    name: str
    base: Path
    nodes: list[str]
    settings: dict[str, Any] = field(default_factory=dict)

    def sample(self, count: int) -> list[str]:
        """So many nodes, evenly spread."""
        step = max(1, len(self.nodes) // count)
        return self.nodes[step // 2 :: step][:count]

    def read(self) -> None:
        """Has every file read once, so that the file system is warm for whoever comes first."""
        for file in self.base.rglob("*.yml"):
            file.read_bytes()


def generated(name: str, *options: str) -> Inventory:
    """An inventory of the generator, which makes the same files for the same options: made if it is
    not there yet."""
    folder = KEPT / ("inventory" + "".join(options).replace("--", "-"))
    done = folder / ".done"
    changed = max(file.stat().st_mtime for file in GENERATOR.glob("*.py"))
    if not done.exists() or done.stat().st_mtime < changed:
        command = [sys.executable, "-m", "benches.gen", "--out", str(folder), *options]
        subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL, env=environment())
        done.touch()
    nodes = sorted(file.stem for file in (folder / "nodes").rglob("*.yml"))
    inventory = Inventory(name, folder, nodes)
    inventory.read()
    return inventory


def preset(name: str, *options: str) -> Inventory:
    """One of the generator's sizes, S, M, L, XL, with queries or without."""
    return generated(f"{name}, queries" if options else name, "--preset", name, *options)


def real(count: int) -> Iterator[Inventory]:
    """The largest inventories of other people, with the nodes that all programs can render."""
    if not REAL.exists():
        return
    rows = json.loads((REAL / "index.json").read_text())
    for row in sorted(rows, key=lambda row: -row["bytes"])[:count]:
        folder = REAL / row["name"]
        settings = json.loads((folder / "case.json").read_text())["settings"]
        expected = json.loads((folder / "expected.json").read_text())
        nodes = [
            node
            for node in expected["kapicorp"]
            if not node.startswith("@")
            and all(_renders(expected, program, node) for program in ("kapicorp", "reclass_rs"))
        ]
        inventory = Inventory(row["name"], folder / "inventory", sorted(nodes), settings)
        inventory.read()
        yield inventory


def _renders(expected: dict[str, Any], program: str, node: str) -> bool:
    """Whether a program renders a node, in the compact notation of the corpus."""
    result = expected[program][node]
    if isinstance(result, dict) and "same_as" in result:
        return _renders(expected, result["same_as"], node)
    # A result that is written as a difference to another program's is an answer.
    return bool(result.get("status", "ok") == "ok")


def queries(inventory: Inventory) -> list[str]:
    """The nodes whose own cluster's classes ask an inventory query: those of three roles."""
    asking = {
        file.stem for file in (inventory.base / "classes/cluster").rglob("*.yml") if "$[" in file.read_text()
    }
    return [node for node in inventory.nodes if node[:3] in asking]


def without_queries(inventory: Inventory) -> list[str]:
    """The other nodes, sorted by name."""
    return sorted(set(inventory.nodes) - set(queries(inventory)))
