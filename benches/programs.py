"""Programs starts what is measured: single processes from outside, and workers that stay."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
# Kept between runs.
KEPT = REPOSITORY / "target/bench"
LOG = KEPT / "worker.log"
OURS, KAPICORP, RECLASS_RS = "saltext-reclass", "kapicorp-reclass", "reclass-rs"
FERROCLASS = "ferroclass"
PROGRAMS = (OURS, KAPICORP, RECLASS_RS)

# The Python of each program.
PYTHON = {
    OURS: str(REPOSITORY / ".venv/bin/python"),
    KAPICORP: sys.executable,
    RECLASS_RS: sys.executable,
}
_WORKER = {OURS: "ours", KAPICORP: "kapicorp", RECLASS_RS: "reclass_rs"}
NATIVE = str(REPOSITORY / ".venv/bin/reclass")

# reclass-rs has no command line: this is the shortest program that prints a node.
_NODEINFO = """
import json, sys
from reclass_rs import Reclass
json.dump(Reclass(sys.argv[1]).nodeinfo(sys.argv[2]).as_dict(), sys.stdout)
"""


def environment() -> dict[str, str]:
    """The environment of all programs.

    `RUST_BACKTRACE` makes reclass-rs 1.45 times slower: it builds an error for each key that it
    merges. Without its byte code kapicorp-reclass would be compiled anew in each process.
    """
    slowing = ("RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in slowing}


def nodeinfo_command(program: str, base: Path, node: str) -> list[str]:
    """What prints a node as JSON, as a process of its own."""
    if program == RECLASS_RS:
        return [PYTHON[program], "-c", _NODEINFO, str(base), node]
    start = [NATIVE] if program == OURS else [str(Path(sys.executable).parent / "reclass")]
    return [*start, "-b", str(base), "-o", "json", "--nodeinfo", node]


def inventory_command(base: Path) -> list[str]:
    """What prints all nodes as JSON, as a process of our own."""
    return [NATIVE, "-b", str(base), "-o", "json", "--inventory"]


def engine(base: Path, threads: int, rounds: int) -> list[float]:
    """The seconds in which the engine alone renders all nodes, each time in an inventory that is
    opened anew: ``render.rs``."""
    command = ["cargo", "bench", "--locked", "--quiet", "--bench", "render", "--"]
    ended = subprocess.run(
        [*command, str(base), str(threads), str(rounds)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(line.split()[0]) for line in ended.stdout.splitlines()]


class Worker:
    """A process that times what it is asked to do (see ``workers``)."""

    def __init__(self, python: str, module: str) -> None:
        LOG.parent.mkdir(parents=True, exist_ok=True)
        # Programs log what they think of an inventory.
        with LOG.open("a") as log:
            self._process = subprocess.Popen(
                [python, "-m", f"benches.workers.{module}"],
                cwd=REPOSITORY,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __call__(self, operation: str, **arguments: Any) -> Any:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise RuntimeError("the worker has no pipes")
        print(json.dumps([operation, arguments]), file=requests, flush=True)
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"the worker ended in {operation!r}:\n{LOG.read_text()[-2000:]}")
        return json.loads(answer)

    def close(self) -> None:
        """Ends the process and waits for it."""
        self._process.communicate()


@contextmanager
def worker(
    program: str, base: Path | None = None, settings: dict[str, Any] | None = None
) -> Iterator[Worker]:
    """A new worker, with the inventory of ``base`` open."""
    with closing(Worker(PYTHON[program], _WORKER[program])) as started:
        if base is not None:
            started("open", base=str(base), settings=settings or {})
        yield started


@dataclass(frozen=True)
class Run:
    """A process that has ended."""

    seconds: float
    processor: float
    # Bytes; where that is not above the floor, the process needed as much or less.
    peak: int
    floor: int


def run(command: list[str], well: tuple[int, ...] = (0,)) -> Run:
    """Runs a process to its end, its output thrown away. ``well`` are the exit codes of one that ends well.

    Raises ``CalledProcessError`` for one that fails.
    """
    status, *measured = _launcher()("run", command=command)
    if status not in well:
        raise subprocess.CalledProcessError(status, command)
    return Run(*measured)


@cache
def _launcher() -> Worker:
    launcher = Worker(sys.executable, "launch")
    atexit.register(launcher.close)
    return launcher
