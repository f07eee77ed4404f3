"""A process that gets no memory while it works, and while Python objects are made of the answer.

Rust ends a process whose memory is refused. No such process is ended here: it has an error, lives on, and
its next answers are right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024

CHILD = """
import json, resource, sys
from concurrent.futures import ThreadPoolExecutor
from saltext.reclass import Inventory
from saltext.reclass.errors import ReclassError

inventory = Inventory(inventory_base_uri=sys.argv[1])
questions = {
    "pillar": lambda: inventory.pillar("large"),
    "explain": lambda: inventory.explain("large", "list:7:name"),
    "lint": lambda: inventory.lint(),
    "params": lambda: inventory.params("**"),
    "refs": lambda: inventory.refs("**"),
    "inventory": lambda: sorted(inventory.inventory()["nodes"]),
    "threads": lambda: list(pool.map(lambda _: inventory.pillar("large"), range(4))),
}
# The threads are there before the limit.
pool = ThreadPoolExecutor(4)
list(pool.map(lambda _: inventory.pillar("small"), range(64)))
ask = questions[sys.argv[3]]
before = inventory.pillar("small")
status = open("/proc/self/status").read().splitlines()
now = next(int(line.split()[1]) for line in status if line.startswith("VmSize")) * 1024
limit = now + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
try:
    answer, outcome = ask(), "answered"
except MemoryError:
    outcome = "MemoryError"
except ReclassError as error:
    assert "no more memory" in str(error), error
    outcome = error.code
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert inventory.pillar("small") == before
assert [item["name"] for item in inventory.pillar("large")["list"]] == [f"item{n}" for n in range(20_000)]
assert outcome != "answered" or answer == ask()
print(outcome)
"""


@pytest.mark.parametrize("question", ["pillar", "explain", "lint", "params", "refs", "inventory", "threads"])
def test_without_memory_there_is_an_error_and_the_process_lives(tmp_path: Path, question: str) -> None:
    for folder in ("nodes", "classes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "nodes/small.yml").write_text("parameters: {a: 1}\n")
    items = [{"name": f"item{number}", "x": [number, f"${{t}}{number}"]} for number in range(20_000)]
    lines = [f"  - {json.dumps(item)}\n" for item in items]
    (tmp_path / "nodes/large.yml").write_text("parameters:\n  t: t\n  list:\n" + "".join(lines))
    outcomes: Counter[str] = Counter()
    for spare in [0, 30, 60, *range(90, 210, 20), 300, 400, 2000]:
        command = [sys.executable, "-c", CHILD, str(tmp_path), str(spare * MIB), question]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{spare} MiB: {done.returncode} {done.stderr}"
        outcomes[done.stdout.strip()] += 1
    print(dict(outcomes))
    assert outcomes["memory-exhausted"] >= 5
    assert outcomes["answered"] >= 1
    assert set(outcomes) <= {"memory-exhausted", "answered", "MemoryError"}
