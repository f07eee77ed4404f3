"""A process that gets no memory while it renders, and while Python objects are made of the answer.

Rust ends a process whose memory is refused, Python raises a ``MemoryError``. No answer is wrong, and no
process ends in another way.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024

CHILD = """
import json, resource, sys
from saltext.reclass import Inventory

inventory = Inventory(inventory_base_uri=sys.argv[1])
before = inventory.pillar("small")
status = open("/proc/self/status").read().splitlines()
now = next(int(line.split()[1]) for line in status if line.startswith("VmSize")) * 1024
limit = now + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
try:
    answer, failed = inventory.pillar("large"), None
except MemoryError:
    answer, failed = None, "MemoryError"
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
again = [inventory.pillar("small") == before, inventory.pillar("large")]
print(json.dumps([failed, answer, *again]))
"""


def test_without_memory_an_answer_is_right_or_none(tmp_path: Path) -> None:
    for folder in ("nodes", "classes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "nodes/small.yml").write_text("parameters: {a: 1}\n")
    items = [{"name": f"item{number}", "x": [number, f"t{number}"]} for number in range(20_000)]
    lines = [f"  - {json.dumps(item)}\n" for item in items]
    (tmp_path / "nodes/large.yml").write_text("parameters:\n  list:\n" + "".join(lines))
    outcomes: Counter[str] = Counter()
    for spare in [*range(0, 20, 4), *range(20, 40, 2), 128]:
        command = [sys.executable, "-c", CHILD, str(tmp_path), str(spare * MIB)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        if done.returncode == -signal.SIGABRT:
            assert "memory allocation of" in done.stderr, done.stderr
            outcomes["ended"] += 1
            continue
        assert done.returncode == 0, f"{spare} MiB: {done.returncode} {done.stderr}"
        failed, answer, small, large = json.loads(done.stdout)
        assert small, f"{spare} MiB: then"
        assert large["list"] == items, f"{spare} MiB: then"
        assert failed or answer["list"] == items, f"{spare} MiB"
        outcomes[failed or "answered"] += 1
    print(dict(outcomes))
    assert outcomes["ended"] >= 5
    assert outcomes["answered"] >= 1
