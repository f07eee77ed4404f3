"""Times the engine beside kapicorp-reclass on generated inventories, in one run.

    python benches/bench.py [--sizes S,M] [--peer PYTHON] [--generator GEN]

Runs with the Python that has saltext-reclass; ``--peer`` names one that has
kapicorp-reclass. Inventories are made by ``../shared/bench/gen.py`` beside the
repository. Prints the median of each scenario and the ratio to the peer; what the
peer would take minutes for is measured on a sample of nodes and scaled, and marked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = Path(__file__).resolve().parent.parent
QUERIES = "+queries"

PEER = """
import json, sys, time
from reclass import get_storage
from reclass.core import Core
from reclass.settings import Settings
from reclass.adapters.salt import ext_pillar

base, nodes = sys.argv[1], sys.argv[2:]

def core():
    return Core(get_storage("yaml_fs", f"{base}/nodes", f"{base}/classes", False), None, Settings({}))

def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin

begin = time.perf_counter()
kept = core()
kept.nodeinfo(nodes[0])
cold = time.perf_counter() - begin
warm = [timed(lambda: kept.nodeinfo(node)) for node in nodes]
pillar = [timed(lambda: ext_pillar(node, {}, inventory_base_uri=base)) for node in nodes[:5]]
print(json.dumps({"cold": cold, "warm": warm, "pillar": pillar}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--sizes", default=f"S,M,S{QUERIES}", help="S, M, L or XL, each with or without +queries"
    )
    parser.add_argument("--peer", default=REPOSITORY / ".venv-oracle/bin/python", type=Path)
    parser.add_argument("--generator", default=REPOSITORY.parent / "shared/bench/gen.py", type=Path)
    arguments = parser.parse_args()
    if not arguments.generator.exists():
        print(f"skipped: the generator {arguments.generator} is not there")
        return 0
    peer = arguments.peer if arguments.peer.exists() else None
    if peer is None:
        print(f"no peer: {arguments.peer} is not there")
    print("| inventory | scenario | saltext-reclass | kapicorp-reclass | ratio |")
    print("|---|---|---|---|---|")
    for size in arguments.sizes.split(","):
        with tempfile.TemporaryDirectory() as folder:
            make(arguments.generator, size, Path(folder))
            measure(size, Path(folder), peer)
    return 0


def make(generator: Path, size: str, folder: Path) -> None:
    queries = ["--queries", "1"] if size.endswith(QUERIES) else []
    preset = size.removesuffix(QUERIES)
    command = [sys.executable, str(generator), "--out", str(folder), "--preset", preset, *queries]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def measure(size: str, base: Path, peer: Path | None) -> None:
    from saltext.reclass import Inventory

    options = {"inventory_base_uri": str(base)}
    nodes = Inventory(**options).nodes()
    asked = [node for node in nodes if size.endswith(QUERIES) and has_query(base, node)] or nodes
    sample = asked[:: max(1, len(asked) // 20)][:20]

    everything = median(lambda: Inventory(cache="off", **options).inventory(), 3)
    program = [str(Path(sys.executable).parent / "reclass"), "-b", str(base), "-o", "json", "-n", sample[0]]
    cold = median(lambda: subprocess.run(program, check=True, stdout=subprocess.DEVNULL), 11)

    fresh = Inventory(**options, default_environment="base")
    first = statistics.median(timed(partial(fresh.pillar, node)) for node in sample)
    again = statistics.median(timed(partial(fresh.pillar, node)) for _ in range(20) for node in sample)
    edit = statistics.median(edited(fresh, base, sample[0], number) for number in range(9))

    theirs = peer_times(peer, base, sample) if peer else None
    warm = statistics.median(theirs["warm"]) if theirs else None
    pillar = statistics.median(theirs["pillar"]) if theirs else None
    row(
        size,
        f"all {len(nodes)} nodes",
        everything,
        warm * len(nodes) if warm else None,
        "estimated from a sample",
    )
    row(
        size,
        "`reclass --nodeinfo`, a new process",
        cold,
        theirs["cold"] if theirs else None,
        "without its start",
    )
    row(size, "`ext_pillar`, first call for a node", first, pillar)
    row(size, "`ext_pillar` again, nothing changed", again, pillar)
    row(size, "`ext_pillar` after a class was edited", edit, pillar)


def has_query(base: Path, node: str) -> bool:
    from saltext.reclass import Inventory

    classes = Inventory(inventory_base_uri=str(base)).nodeinfo(node)["classes"]
    files = (base / "classes" / (name.replace(".", "/") + ".yml") for name in classes)
    return any("$[" in file.read_text() for file in files if file.exists())


def edited(inventory: object, base: Path, node: str, number: int) -> float:
    """The time of the call after a parameter of the node's file was changed."""
    file = next((base / "nodes").rglob(f"{node}.yml"))
    before = file.read_text()
    file.write_text(before + f"# {number}\n" + f"environment: base{number}\n")
    try:
        return timed(lambda: inventory.pillar(node))  # type: ignore[attr-defined]
    finally:
        file.write_text(before)


def peer_times(peer: Path, base: Path, nodes: list[str]) -> dict[str, list[float]]:
    command = [str(peer), "-c", PEER, str(base), *nodes]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def median(work: Callable[[], object], times: int) -> float:
    work()
    return statistics.median(timed(work) for _ in range(times))


def row(size: str, scenario: str, ours: float, theirs: float | None, remark: str = "") -> None:
    peer = f"{seconds(theirs)}{f' ({remark})' if remark else ''}" if theirs else "not measured"
    ratio = f"{theirs / ours:,.0f}" if theirs else ""
    print(f"| {size} | {scenario} | {seconds(ours)} | {peer} | {ratio} |", flush=True)


def seconds(value: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


if __name__ == "__main__":
    sys.exit(main())
