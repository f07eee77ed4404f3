"""Serve turns lines of JSON on standard input into calls, and what they return into lines of JSON.

A worker is one process of one program. It stays, so that rounds of several programs can alternate
while each keeps what it has in memory; the clock runs inside of it, around the work alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def serve(program: object) -> None:
    """Answers ``[method of the program, keyword arguments]`` until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # What a program prints is not an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        work = COMMON.get(operation) or getattr(program, operation)
        print(json.dumps(work(**arguments)), file=answers, flush=True)


_clock = time.perf_counter


def count_processor_time() -> None:
    """From now on seconds are those of the processor: what other processes take is not in them."""
    global _clock  # noqa: PLW0603 - one for all that is timed in this process
    _clock = time.process_time


def timed(work: Callable[[], object]) -> float:
    """The seconds that one call takes, its result thrown away included."""
    begin = _clock()
    work()
    return _clock() - begin


def keeping(work: Callable[[], Any], read: Callable[[Any], Any]) -> tuple[float, Any]:
    """The seconds that one call takes, and what ``read`` returns for its result."""
    begin = _clock()
    result = work()
    return _clock() - begin, read(result)


def twice_timed(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds of the wall and of the processor that one call takes."""
    begin, begin_of_processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - begin_of_processor


def each(work: Callable[[str], object], names: Iterable[str]) -> list[float]:
    """The seconds of the call for each name."""
    return [timed(lambda name=name: work(name)) for name in names]  # type: ignore[misc]


def memory() -> dict[str, int]:
    """The bytes that the process holds now (``VmRSS``) and held at most (``VmHWM``)."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {
        name: int(fields[field].split()[0]) * 1024 for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


# What every worker can do beside the methods of its program.
COMMON: dict[str, Callable[..., Any]] = {"memory": memory, "count_processor_time": count_processor_time}
