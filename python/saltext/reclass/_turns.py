"""Watches all inventories of a master: tests, looks, metrics and refreshes, each in a thread of its own.

None of them waits for another one, and none ends before the process does.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import math
import queue
import threading
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass import _check, _fleet, _metrics
from saltext.reclass._salt import RefusedError, describe, similar
from saltext.reclass._watch import Watch, bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

log = logging.getLogger(__name__)

TAG = "reclass/revision/new"


@dataclass
class Options:
    """The options of the engine."""

    interval: Any = 5
    settle: Any = 2
    refresh: Any = None
    canary: Any = None
    batch: Any = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise RefusedError(f"no option {name!r}{similar(name, known)}")
        options = cls(**given)
        options.interval = _seconds("interval", options.interval)
        options.settle = _seconds("settle", options.settle)
        if options.refresh not in (None, "affected"):
            raise RefusedError(f"'refresh' must be 'affected' or not there, not {options.refresh!r}")
        _fleet.check_groups(options.canary, options.batch)
        return options


def _seconds(name: str, given: Any) -> float:
    """A number of seconds, from 0."""
    try:
        found = float("nan" if isinstance(given, bool) else given)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise RefusedError(f"'{name}' must be a number of seconds, not {given!r}")
    return found


class Turn:
    """Work that is done again and again. What it raises is no end, and a line in the log until it changes."""

    def __init__(self, work: Callable[[], Any], wrong: str, right: str) -> None:
        self.work = work
        self.texts = wrong, right
        self.failed = ""

    def take(self) -> None:
        wrong, right = self.texts
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - a panic is no `Exception`, and Salt raises `SystemExit` too
            failed = f"{type(error).__name__}: {error}"
            # The log may be on the disk that is full.
            if failed != self.failed:
                if isinstance(error, OSError):
                    log.warning("%s: %s", wrong, error)
                else:
                    describe(error, f"{wrong}: ")
            self.failed = failed
        else:
            if self.failed:
                log.info("%s", right)
            self.failed = ""

    def start(self, end: threading.Event, interval: float) -> None:
        """Begins a thread that takes turns until the end."""

        def repeat() -> None:
            while not end.is_set():
                self.take()
                end.wait(interval)

        # What Salt's loader knows of a thread is in its context.
        work = contextvars.copy_context().run
        threading.Thread(target=work, args=(repeat,), name="reclass", daemon=True).start()


class Rollout:
    """Refreshes the minions that changes touch. A newer change stops it, and takes over who is left."""

    def __init__(self, refresh: Callable[..., dict[str, Any]]) -> None:
        self.refresh = refresh
        self.events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.left: set[str] = set()

    def work(self) -> None:
        """Waits for a change and refreshes."""
        event = self.events.get()
        if event is None:
            return
        self.left = self.left.union(event["names"]).difference(event["removed"])
        done = self.refresh(sorted(self.left), event["breaks"], yields=lambda: not self.events.empty())
        self.left = {name for name, answer in done["minions"].items() if answer == _fleet.YIELDED}
        failed = [
            f"; {name}: {answer}" for name, answer in done["minions"].items() if answer.startswith("failed")
        ]
        stopped = "; stopped: a newer revision is served" if self.left else ""
        level = logging.ERROR if failed else logging.INFO
        log.log(level, "pillars refreshed: %s%s%s", done["refreshed"], stopped, "".join(failed))


class Engine:
    """The turns of all inventories."""

    def __init__(self, opts: Mapping[str, Any], runners: Mapping[str, Any], options: Options) -> None:
        self.opts = opts
        self.options = options
        self.events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.watches = [Watch(given, opts, runners) for _, given in _check.configured(opts)]
        self.looks, self.tests, self.rollouts = [], [], []

        def refresh(names: Sequence[str], breaks: Sequence[str], **more: Any) -> dict[str, Any]:
            execute, keys = runners["salt.execute"], _fleet.accepted(opts)
            return _fleet.refresh(names, breaks, execute, keys, options.canary, options.batch, **more)

        for watch in self.watches:
            rollout = Rollout(refresh)
            look = functools.partial(self._look, watch, rollout)
            self.looks.append(Turn(look, "the inventory cannot be watched", "the inventory is watched again"))
            self.tests.append(Turn(watch.test, "commits cannot be tested", "commits are tested again"))
            self.rollouts.append(rollout)
        self.metrics = Turn(
            self._write_metrics, "the metrics cannot be written", "the metrics are written again"
        )

    def run(self, fire: Callable[[dict[str, Any], str], Any]) -> None:
        """Sends events until the process ends, or until one ends it."""
        end = threading.Event()
        try:
            for turn in (*self.tests, *self.looks, self.metrics):
                turn.start(end, self.options.interval)
            for rollout in self.rollouts if self.options.refresh else ():
                turn = Turn(rollout.work, "pillars cannot be refreshed", "pillars are refreshed again")
                turn.start(end, 0)
            while True:
                event = self.events.get()
                try:
                    fire(bounded(event, Path(str(self.opts["cachedir"]), "reclass")), TAG)
                except Exception as error:  # noqa: BLE001 - the next one may be sent
                    describe(error, "a new revision is no event: ")
        finally:
            end.set()
            for rollout in self.rollouts:
                rollout.events.put(None)

    def _look(self, watch: Watch, rollout: Rollout) -> None:
        event = watch.look(self.options.settle)
        if event is not None:
            self.events.put(event)
            if self.options.refresh:
                rollout.events.put(event)

    def _write_metrics(self) -> None:
        """Writes the metrics of all inventories that name the same file together."""
        files: dict[str, list[dict[str, Any]]] = {}
        for watch, look in zip(self.watches, self.looks, strict=True):
            path, found = watch.metrics(bool(look.failed))
            if path:
                files.setdefault(path, []).extend([found] if found else [])
        for path, inventories in files.items():
            _metrics.write(path, {**_metrics.summed(self.opts), "inventories": inventories})


def run(
    opts: Mapping[str, Any],
    runners: Mapping[str, Any],
    fire: Callable[[dict[str, Any], str], Any],
    given: Mapping[str, Any],
) -> None:
    """Watches all inventories of the master, until its process ends. With a wrong option it does nothing."""
    try:
        options = Options.of(given)
    except RefusedError as error:
        log.error("the engine watches nothing: %s", error)
        while True:
            # Salt would start a process that ends again and again.
            time.sleep(3600)
    Engine(opts, runners, options).run(fire)
