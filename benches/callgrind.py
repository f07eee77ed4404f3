"""Callgrind counts the instructions of our program, which no noise of the machine can touch.

A count is of one compiler on one kind of processor: another version moves it by some percent, a
change of an algorithm by more than the tenth that the gate allows.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from benches.programs import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benches.inventories import Inventory

RECORDED = Path(__file__).with_name("instructions.json")
# How much a count may rise over the recorded one.
ALLOWED = 1.10

_COLLECTED = re.compile(r"Collected : (\d+)")


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def counts(whole: Iterable[Inventory], large: Inventory) -> dict[str, int]:
    """Instructions per node of all nodes of some inventories, and of a cold process for one of another."""
    counted = {
        f"all nodes of {many.name}, per node": _count(many, "--inventory") // len(many.nodes)
        for many in whole
    }
    one = _count(large, "--nodeinfo", large.sample(1)[0])
    return counted | {f"`reclass --nodeinfo` of {large.name}": one}


def recorded() -> dict[str, int]:
    """What the gate holds against: the counts of the last ``make bench-record``."""
    counts: dict[str, int] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    return counts


def record(counted: dict[str, int]) -> None:
    """Makes these counts the recorded ones."""
    RECORDED.write_text(json.dumps(counted, indent=2) + "\n")


def risen(counted: dict[str, int], before: dict[str, int]) -> list[str]:
    """The names of the counts that rose by more than a tenth."""
    return [name for name, count in counted.items() if name in before and count > before[name] * ALLOWED]


def _count(inventory: Inventory, *mode: str) -> int:
    """One thread runs at a time under valgrind. Paths are short and the same everywhere, and so is
    the environment: both are read by the program."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [NATIVE, "-b", ".", "-o", "json", *mode]
    ended = subprocess.run(
        command,
        cwd=inventory.base,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    collected = _COLLECTED.search(ended.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind printed no count:\n{ended.stderr}")
    return int(collected[1])
