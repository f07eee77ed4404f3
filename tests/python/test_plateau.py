"""What a process keeps of an inventory comes to a level, however long it lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import long

ROOT = Path(__file__).resolve().parent.parent.parent
MIB = 1024


# Half a minute; a busy machine takes longer.
@long
@pytest.mark.timeout(1800)
def test_memory_comes_to_a_level(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.python.plateau", str(tmp_path), "40000"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    after = [int(line) for line in output.stdout.split()]
    assert len(after) == 4
    # Of each question 20 strings are new, some 80 bytes each: kept, they would come to 30 MiB and to 45 MiB.
    # Freed memory that cannot be returned to the system moves the level by some megabytes.
    assert after[3] - after[1] < 12 * MIB, after
    assert after[3] - after[0] < 24 * MIB, after
