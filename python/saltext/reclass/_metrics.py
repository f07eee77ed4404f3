"""Counts the answers of all workers of a master, and writes the numbers for Prometheus.

Each process has a file of counters in the cache of the master, mapped into its memory, so that a count is no
call of the system. It holds a lock on the file as long as it lives. Who reads adds the counters of the dead
to a total.
"""

from __future__ import annotations

import bisect
import contextlib
import fcntl
import json
import mmap
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass._files import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BOUNDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""The upper bounds of the histogram, in seconds."""

_ANSWERS = tuple((what, how) for what in ("pillar", "top") for how in ("remembered", "computed"))
# The answers, the nanoseconds of all, and the histogram, whose last part has no bound.
_BYTES = 8 * (len(_ANSWERS) + 1 + len(BOUNDS) + 1)
_TIME, _HISTOGRAM = len(_ANSWERS), len(_ANSWERS) + 1
_PLACES = {(what, how == "remembered"): place for place, (what, how) in enumerate(_ANSWERS)}
_TOTAL = "total"
# The errors by code come after the numbers, as JSON with a zero behind it.
_SIZE = 8192


class _Counters:
    """The counters of one file."""

    def __init__(self, file: int) -> None:
        self.file = file
        if os.fstat(file).st_size != _SIZE:
            # On a full disk, a write to memory without a place on the disk would end the process.
            os.posix_fallocate(file, 0, _SIZE)
        self.memory = mmap.mmap(file, _SIZE)
        # The numbers are these bytes: a count is one write to the memory.
        self.numbers = memoryview(self.memory)[:_BYTES].cast("Q")

    def errors(self) -> dict[str, int]:
        end = self.memory.find(b"\0", _BYTES)
        try:
            return json.loads(self.memory[_BYTES:end])  # type: ignore[no-any-return]
        except ValueError:
            # There are none, or a process ended while it wrote.
            return {}

    def add_errors(self, more: Mapping[str, int]) -> None:
        errors = Counter(self.errors())
        errors.update(more)
        data = json.dumps(errors).encode() + b"\0"
        if len(data) <= _SIZE - _BYTES:
            self.memory[_BYTES : _BYTES + len(data)] = data

    def is_at(self, path: Path) -> bool:
        """Whether the file is the one with this name: the cache may have been deleted or moved away."""
        try:
            return os.path.samestat(os.fstat(self.file), os.stat(path))
        except OSError:
            return False

    def close(self) -> None:
        self.numbers.release()
        self.memory.close()
        os.close(self.file)


# Nanoseconds after which a process looks whether its file is still there.
_LOOK = 1_000_000_000


class _Process:
    """The counters of this process; ``None`` before the first answer, and where no file can be made."""

    counters: _Counters | None = None
    path: Path
    look: float = 0
    """When it looks for its file, by the clock of :func:`counted`."""
    was_remembered: Callable[[], bool]


def _forked() -> None:
    # The file is that of the parent.
    _Process.counters, _Process.look = None, 0


os.register_at_fork(after_in_child=_forked)


def counted(what: str, opts: Mapping[str, Any], answer: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of the engine to these arguments, counted. Where no counter can be written, it is not."""
    begun = time.perf_counter_ns()
    try:
        given = answer(*arguments)
    except BaseException as error:
        took = time.perf_counter_ns() - begun
        code = getattr(error, "code", "internal") if isinstance(error, Exception) else "internal"
        counters = _of_this_process(opts, begun)
        if counters is not None:
            counters.add_errors({str(code): 1})
            _count_time(counters, took)
        raise
    took = time.perf_counter_ns() - begun
    counters = _of_this_process(opts, begun)
    if counters is not None:
        counters.numbers[_PLACES[what, _Process.was_remembered()]] += 1
        _count_time(counters, took)
    return given


def _count_time(counters: _Counters, took: int) -> None:
    counters.numbers[_TIME] += took
    counters.numbers[_HISTOGRAM + bisect.bisect_left(BOUNDS, took / 1e9)] += 1


def _of_this_process(opts: Mapping[str, Any], now: int) -> _Counters | None:
    if now < _Process.look:
        return _Process.counters
    _Process.look = now + _LOOK
    if _Process.counters is not None and not _Process.counters.is_at(_Process.path):
        # The cache was cleared. What nobody can read any more is no count.
        _Process.counters.close()
        _Process.counters = None
    if _Process.counters is None:
        from saltext.reclass._engine import was_remembered

        _Process.was_remembered = staticmethod(was_remembered)
        # The cache may be full or read-only. Then nothing is counted.
        with contextlib.suppress(OSError):
            # In `salt-ssh`, root answers with the cache of the master, whose user could not use its files.
            cache = Path(str(opts["cachedir"]))
            if os.geteuid() != 0 or not cache.exists() or cache.stat().st_uid == 0:
                _Process.path = _folder(opts) / str(os.getpid())
                _Process.counters = _opened(_Process.path)
    return _Process.counters


def _folder(opts: Mapping[str, Any]) -> Path:
    folder = Path(str(opts["cachedir"]), "reclass", "metrics")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _opened(path: Path, mode: int = fcntl.LOCK_SH) -> _Counters:
    """The counters of a file, locked. A file that was removed while this process waited is made again."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, mode)
            if os.fstat(file).st_nlink:
                return _Counters(file)
        except OSError:
            os.close(file)
            raise
        os.close(file)


def summed(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The counters of all processes of the master, those that ended included."""
    folder = _folder(opts)
    total = _opened(folder / _TOTAL, fcntl.LOCK_EX)
    try:
        living = list(_living(folder, total))
        all_ = [*living, (list(total.numbers), total.errors())]
    finally:
        total.close()
    numbers = [sum(column) for column in zip(*(numbers for numbers, _ in all_), strict=True)]
    errors: Counter[str] = Counter()
    for _, more in all_:
        errors.update(more)
    answers: dict[str, dict[str, int]] = {}
    for (what, how), number in zip(_ANSWERS, numbers, strict=False):
        answers.setdefault(what, {})[how] = number
    buckets, below = {}, 0
    for bound, number in zip([*map(str, BOUNDS), "+Inf"], numbers[_HISTOGRAM:], strict=True):
        below += number
        buckets[bound] = below
    return {
        "processes": len(living),
        "answers": answers,
        "errors": dict(sorted(errors.items())),
        "seconds": {"sum": numbers[_TIME] / 1e9, "count": below, "buckets": buckets},
    }


def _living(folder: Path, total: _Counters) -> Iterator[tuple[list[int], dict[str, int]]]:
    """The numbers and errors of processes that live. Those of the others go to the total."""
    for path in folder.iterdir():
        if not path.name.isdigit():
            continue
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            counters = _Counters(file)
        except (OSError, ValueError):
            os.close(file)
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield list(counters.numbers), counters.errors()
        else:
            for place, number in enumerate(counters.numbers):
                total.numbers[place] += number
            total.add_errors(counters.errors())
            path.unlink(missing_ok=True)
        counters.close()


def text(stats: Mapping[str, Any]) -> str:
    """The numbers in the text format of Prometheus."""
    lines: list[str] = []

    def metric(name: str, kind: str, help_: str, *samples: tuple[str, Mapping[str, Any], Any]) -> None:
        lines.extend([f"# HELP reclass_{name} {help_}", f"# TYPE reclass_{name} {kind}"])
        for suffix, labels, value in samples:
            given = ",".join(f"{label}={_quoted(str(text))}" for label, text in labels.items())
            lines.append(f"reclass_{name}{suffix}{f'{{{given}}}' if given else ''} {value}")

    answers = stats["answers"]
    metric(
        "answers_total",
        "counter",
        "Pillars and tops that were answered.",
        *(("", {"what": what, "how": how}, answers[what][how]) for what, how in _ANSWERS),
    )
    metric(
        "errors_total",
        "counter",
        "Pillars and tops that failed, by code.",
        *(("", {"code": code}, number) for code, number in stats["errors"].items()),
    )
    seconds = stats["seconds"]
    metric(
        "answer_seconds",
        "histogram",
        "Times of answers and errors.",
        *(("_bucket", {"le": bound}, number) for bound, number in seconds["buckets"].items()),
        ("_sum", {}, seconds["sum"]),
        ("_count", {}, seconds["count"]),
    )
    metric("processes", "gauge", "Processes that answer.", ("", {}, stats["processes"]))
    inventories: list[tuple[dict[str, Any], Mapping[str, Any]]] = []
    sources: Counter[str] = Counter()
    for one in stats["inventories"]:
        source = one["source"]
        sources[source] += 1
        # Two entries with different options may read one repository. A sample must not be there twice.
        entry = {"entry": sources[source]} if sources[source] > 1 else {}
        inventories.append(({"inventory": source, **entry}, one))
    metric(
        "revision_info",
        "gauge",
        "The state that is served.",
        *(("", {**labels, "revision": one["revision"]}, 1) for labels, one in inventories),
    )
    for name, help_ in (
        ("age_seconds", "Seconds since the last fetch."),
        ("stale", "Whether the last fetch failed."),
        ("nodes", "Nodes of the inventory."),
        ("nodes_failing", "Nodes that have no pillar."),
        ("commit_waiting_seconds", "Seconds since the fetch of a commit that is not tested; 0 without one."),
        ("commit_refused", "Whether the commit that was tested last is served to none."),
        ("nodes_held", "Nodes that keep an earlier commit, because the newest one breaks them."),
        ("trial_seconds", "Seconds since a trial began; 0 without one."),
        ("drift_minions", "Minions whose pillar differed, as reclass.drift found last."),
        ("drift_timestamp_seconds", "When reclass.drift found it."),
    ):
        known = [("", labels, one[name]) for labels, one in inventories if one.get(name) is not None]
        if known:
            metric(name, "gauge", help_, *known)
    return "\n".join([*lines, ""])


def _quoted(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def write(path: str, stats: Mapping[str, Any]) -> None:
    """Replaces the file for node_exporter, which reads files that end with ``.prom``."""
    replace(path, text(stats).encode())


def of_inventory(
    source: str, revision: str, states: list[dict[str, Any]], delivery: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What is served of one inventory. ``states`` are its repositories and its etcd.

    ``delivery`` is the way of its newest commits to the minions, if commits are tested.
    """
    now = time.time()
    ages = [max(0, round(now - one["fetched"])) for one in states if one["fetched"] is not None]
    return {
        "source": source,
        "revision": revision,
        "age_seconds": max(ages, default=None),
        "stale": int(any(one["stale"] for one in states)),
        **({} if delivery is None else _of_delivery(delivery)),
    }


def _of_delivery(delivery: Mapping[str, Any]) -> dict[str, int]:
    return {
        "commit_waiting_seconds": delivery.get("waiting", 0),
        "commit_refused": int(not delivery["is_served"]),
        "nodes_held": sum(len(held["nodes"]) for held in delivery["held"]),
        "trial_seconds": delivery.get("trial", {}).get("seconds", 0),
    }
