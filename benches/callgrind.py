"""Callgrind counts the instructions of a process, which no noise of the machine can touch."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_COLLECTED = re.compile(r"Collected : (\d+)")


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count(command: list[str], folder: Path, told: str = "", **variables: str) -> int:
    """The instructions of a process in a folder, with what it is told on its standard input.

    Raises ``RuntimeError`` for one that fails.
    """
    ended = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        cwd=folder,
        # The environment is read by the process, so it is the same everywhere.
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", **variables},
        input=told,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    collected = _COLLECTED.search(ended.stderr)
    if ended.returncode != 0 or collected is None:
        raise RuntimeError(f"{command} ended with {ended.returncode}:\n{ended.stderr}")
    return int(collected[1])
