"""Instructions are counted of the program that ships. A count that rises by more than 3 % is an error.

    make bench-instructions   counts, and holds against what is recorded
    make bench-record         counts, and records

The recorded counts (``instructions.json``) are those of one compiler, one architecture, one library of C
and one Python. With others the counts are printed and not held.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from benches import callgrind
from benches.inventories import REAL, preset, real
from benches.programs import NATIVE, OURS, PYTHON, REPOSITORY

if TYPE_CHECKING:
    from benches.inventories import Inventory

RECORDED = Path(__file__).with_name("instructions.json")
# How many times the recorded count a count may be.
ALLOWED = 1.03

# The largest real inventory of which every node renders without settings.
_MODEL = "mirantis-stacklight"
# How many nodes are asked for, for the first time and again.
_FIRST, _AGAIN = 100, 200


@dataclass(frozen=True)
class Recorded:
    """Counts by the names of their scenarios, and what they are counts of."""

    made_with: str
    counts: dict[str, int]


def made_with() -> str:
    """What a count depends on beside our code. The library of C has the allocator."""
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    library = " ".join(platform.libc_ver())
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{compiler.stdout.strip()}, {platform.machine()}, {library}, Python {python}"


def recorded() -> Recorded:
    """The counts of the last ``make bench-record``."""
    return Recorded(**json.loads(RECORDED.read_text()))


def counts() -> dict[str, int]:
    """The count of each scenario. One of a real inventory that is not there is left out."""
    medium, large, asking = preset("M"), preset("L"), preset("L", "--queries", "1")
    model = next((inventory for inventory in real(count=100) if inventory.name == _MODEL), None)
    spread = large.sample(2 * _FIRST)
    # Those of the second half have the roles of those of the first half.
    nodes, later = spread[::2], spread[1::2]
    with _processors() as pool:
        whole = [asking, medium, *([model] if model else [])]
        everything = [pool.submit(_program, inventory, "--inventory") for inventory in whole]
        warm, warmer, again = (
            pool.submit(_pillars, large, asked)
            for asked in (nodes, nodes + later, nodes + nodes * (_AGAIN // _FIRST))
        )
        one = pool.submit(_program, large, "--nodeinfo", large.sample(1)[0])
    counted = {
        f"all nodes of {inventory.name}, per node": total.result() // len(inventory.nodes)
        for inventory, total in zip(whole, everything, strict=True)
    }
    return counted | {
        "`reclass --nodeinfo` of L": one.result(),
        "`ext_pillar` of L for a new node, warm process": (warmer.result() - warm.result()) // _FIRST,
        "`ext_pillar` of L again, nothing changed": (again.result() - warm.result()) // _AGAIN,
    }


def risen(counted: dict[str, int], before: dict[str, int]) -> list[str]:
    """The names of the counts that rose by more than is allowed."""
    return [name for name, count in counted.items() if name in before and count > before[name] * ALLOWED]


def record(counted: dict[str, int], made: str) -> None:
    """Records counts. Those of scenarios that could not be counted stay if they are still comparable."""
    before = recorded()
    kept = before.counts if before.made_with == made else {}
    RECORDED.write_text(json.dumps(asdict(Recorded(made, {**kept, **counted})), indent=2) + "\n")


def judge(counted: dict[str, int], made: str, before: Recorded) -> int:
    """Says how the counts compare. Returns the exit code: 1 if one rose by more than is allowed."""
    held = before.counts if before.made_with == made else {}
    print(f"Instructions, counted of {made}:")
    for name, count in counted.items():
        change = f"{count / held[name] - 1:+.1%}" if name in held else "not recorded"
        print(f"  {name:<50}{count:>12,}  {change}")
    if not held:
        print(f"The recorded counts are of {before.made_with}: these are not held against them.")
    high = risen(counted, held)
    for name in high:
        print(f"error: the instructions of '{name}' rose from {held[name]:,} to {counted[name]:,}")
    if high:
        print(
            f"At most {ALLOWED - 1:.0%} more are allowed. If this change is worth more, `make bench-record`"
        )
        print("records the counts anew, and the message of the commit says why.")
    if any(name in held and count * ALLOWED < held[name] for name, count in counted.items()):
        print("`make bench-record` makes what was gained the new floor.")
    return 1 if high else 0


def _processors() -> ThreadPoolExecutor:
    """A thread for each processor. A process that it starts sees one processor and starts no threads of its
    own, whose turns would move the count."""
    free: SimpleQueue[int] = SimpleQueue()
    processors = os.sched_getaffinity(0)
    for processor in processors:
        free.put(processor)
    return ThreadPoolExecutor(len(processors), initializer=lambda: os.sched_setaffinity(0, {free.get()}))


def _program(inventory: Inventory, *mode: str) -> int:
    return callgrind.count([NATIVE, "-b", ".", "-o", "json", *mode], inventory.base)


def _pillars(inventory: Inventory, nodes: list[str]) -> int:
    """A process of Python that asks for pillars. The difference of two is what the pillars of one need."""
    told = [["open", {"base": ".", "settings": {}}], ["pillar", {"nodes": nodes}]]
    return callgrind.count(
        [PYTHON[OURS], "-B", "-m", "benches.workers.ours"],
        inventory.base,
        "".join(json.dumps(line) + "\n" for line in told),
        PYTHONPATH=str(REPOSITORY),
        PYTHONHASHSEED="0",
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.instructions")
    parser.add_argument("--record", action="store_true", help="record the counts as those to hold against")
    arguments = parser.parse_args()
    if not REAL.exists():
        print(f"All nodes of {_MODEL} are left out: the real inventories are not at {REAL}.")
    made, counted = made_with(), counts()
    if arguments.record:
        record(counted, made)
    return judge(counted, made, recorded())


if __name__ == "__main__":
    sys.exit(main())
