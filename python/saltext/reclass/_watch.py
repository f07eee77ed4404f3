"""Notices changes of an inventory and finds the nodes that they touch, in a process of Salt's master.

The process keeps all answers, so a change costs the nodes that it affects and a look at the others. Of each
node it has hashes, with a key that no other process knows.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import math
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from saltext.reclass import _check, _fleet, _metadata, _metrics, _revision
from saltext.reclass._salt import RefusedError, describe, settings_of
from saltext.reclass.errors import ReclassError

log = logging.getLogger(__name__)

TAG = "reclass/revision/new"
# Names in one event. An event goes through the memory of each process that listens.
_NAMES = 1000
# Names of nodes in a line of the log.
_LOGGED = 10

Hashes = dict[Any, bytes]
"""The hash of each value by its key."""


class Watch:
    """An inventory, as it was at the last look."""

    def __init__(self, given: Any, opts: Mapping[str, Any], runners: Mapping[str, Any]) -> None:
        self.given = given
        self.opts = opts
        self.runners = runners
        self.key = secrets.token_bytes(16)
        self.stamp: Any = None
        self.revision = ""
        self.source = ""
        self.held: list[dict[str, Any]] = []
        self.trial: tuple[str, list[str]] | None = None
        self.nodes: dict[str, Hashes | None] = {}
        """The hashes of each node by its first keys; ``None`` for a node that has no pillar."""
        self.parts: dict[bytes, Hashes] = {}
        """The hashes within a mapping, by the hash of the mapping: most nodes share most of them."""

    def look(self, settle: float) -> dict[str, Any] | None:
        """What changed since the last look. The first look only learns the state."""
        settings = self._settings()
        inventory = _metadata.opened(settings)
        # As long as this process lives, no request of a minion waits for a test.
        inventory.test_revisions()
        stamp = self._stamp(settings, inventory)
        if stamp == self.stamp:
            return None
        # Several files of one change are not written at once.
        while self.stamp is not None:
            time.sleep(settle)
            earlier, stamp = stamp, self._stamp(settings, inventory)
            if stamp == earlier:
                break
        is_first, old, before = self.stamp is None, self.revision, (self.nodes, self.parts)
        delivery = inventory.delivery() or {"held": []}
        held_before, self.held = self.held, delivery["held"]
        trial_before, self.trial = self.trial, _trial(delivery)
        state = inventory.state()
        self.nodes, self.parts = self._look_at_nodes(settings, inventory)
        self.revision = state["revision"]
        self.source = _revision.source(state)
        self.stamp = stamp
        if is_first:
            failing = sum(hashes is None for hashes in self.nodes.values())
            log.info(
                "revision %s: %s nodes, %s without a pillar", self.revision, f"{len(self.nodes):,}", failing
            )
            return None
        change = changed(*before, self.nodes, self.parts)
        known = (old, held_before, trial_before)
        if (self.revision, self.held, self.trial) == known and not change["differ"]:
            return None
        sentence = _sentence(change)
        log.log(
            logging.WARNING if change["breaks"] else logging.INFO,
            "revision %s%s: %s",
            self.revision,
            _on_trial(self.trial),
            sentence,
        )
        return {
            "source": self.source,
            "old": old,
            "new": self.revision,
            **change,
            # The setting `serve` keeps these nodes from the newest commit.
            **({"held": self.held} if self.held else {}),
            # The setting `canary` gives it to these nodes first.
            **({"trial": dict(zip(("revision", "nodes"), self.trial, strict=True))} if self.trial else {}),
        }

    def metrics(self, failed: bool) -> tuple[str | None, dict[str, Any]]:
        """The file for the metrics, and those of this inventory. After a failed look no node has a pillar."""
        settings = self._settings()
        states = _metadata.opened(settings).fetch_states()
        delivery = _metadata.opened(settings).last_delivery()
        found = _metrics.of_inventory(self.source, self.revision, states, delivery)
        failing = sum(failed or hashes is None for hashes in self.nodes.values())
        numbers = {"nodes": len(self.nodes), "nodes_failing": failing}
        return settings.get("metrics_file"), {
            **found,
            **numbers,
            **_fleet.last_drift(self.opts, self.source),
        }

    def _settings(self) -> dict[str, Any]:
        # The name of the revision is no change of a node.
        return {**settings_of(self.given, self.opts), "revision_in_pillar": False}

    def _stamp(self, settings: Mapping[str, Any], inventory: Any) -> Any:
        """Equal stamps mean that nothing changed. etcd has no revision here: its last reading counts."""
        inventory.nodes()
        states = [
            (state["source"], state["commits"] or state["fetched"]) for state in inventory.fetch_states()
        ]
        files = [(path, *_stat(path)) for path in _revision.files(inventory)]
        delivery = inventory.delivery() or {"held": []}
        decided = [delivery.get(name) for name in ("tested", "served", "held")]
        return states, files, _revision.checked_out(settings), decided, _trial(delivery)

    def _look_at_nodes(
        self, settings: Mapping[str, Any], inventory: Any
    ) -> tuple[dict[str, Hashes | None], dict[bytes, Hashes]]:
        grains: Mapping[str, Any] = {}
        if settings.get("grains") or settings.get("trusted_grains"):
            grains = self.runners["cache.grains"](tgt="*")
        nodes: dict[str, Hashes | None] = {}
        parts: dict[bytes, Hashes] = {}
        for name in inventory.nodes():
            try:
                pillar = inventory.pillar(name, None, None, dict(grains.get(name) or {}))
            except ReclassError:
                nodes[name] = None
                continue
            nodes[name] = hashes = {key: self._hash(value) for key, value in pillar.items()}
            for hash_, value in zip(hashes.values(), pillar.values(), strict=True):
                if isinstance(value, Mapping) and hash_ not in parts:
                    known = self.parts.get(hash_)
                    parts[hash_] = known or {key: self._hash(inner) for key, inner in value.items()}
        return nodes, parts

    def _hash(self, value: Any) -> bytes:
        try:
            # The order of keys is no change.
            data = json.dumps(value, default=str, sort_keys=True)
        except TypeError:
            data = json.dumps(value, default=str)
        return hashlib.blake2b(data.encode(), key=self.key, digest_size=8).digest()


def changed(
    old: Mapping[str, Hashes | None],
    old_parts: Mapping[bytes, Hashes],
    new: Mapping[str, Hashes | None],
    new_parts: Mapping[bytes, Hashes],
) -> dict[str, Any]:
    """The change between two looks, in the words of `reclass.impact`."""
    names = [name for name, hashes in new.items() if name not in old or old[name] != hashes]
    removed = [name for name in old if name not in new]
    paths: dict[str, int] = {}
    for name in names:
        before, after = old.get(name), new[name]
        if before is not None and after is not None:
            for key in _different(before, after):
                inside, inside_now = old_parts.get(before.get(key, b"")), new_parts.get(after.get(key, b""))
                both = _different(inside, inside_now) if inside and inside_now else None
                for path in [str(key)] if both is None else [f"{key}:{part}" for part in both]:
                    paths[path] = paths.get(path, 0) + 1
    return {
        "nodes": len(new),
        "differ": len(names) + len(removed),
        "names": names,
        "breaks": [name for name in names if new[name] is None],
        "removed": removed,
        "paths": dict(sorted(paths.items())),
    }


def _different(old: Hashes, new: Hashes) -> list[Any]:
    """The keys whose values differ."""
    return [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]


def bounded(event: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The event with at most 1,000 names in each list. Then a file of the master has all of them."""
    lists = [name for name in ("names", "breaks", "removed", "paths") if len(event[name]) > _NAMES]
    if not lists:
        return event
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "revision.json"
    new = path.with_suffix(".new")
    # Only the master may know which nodes there are.
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(event, file)
    os.replace(new, path)
    cut = {
        name: type(event[name])(list(event[name].items() if name == "paths" else event[name])[:_NAMES])
        for name in lists
    }
    return {**event, **cut, "file": str(path)}


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
        """The options as the configuration has them."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                similar = difflib.get_close_matches(name, known, n=1)
                raise RefusedError(
                    f"no option {name!r}" + "".join(f"; {one!r} is similar" for one in similar)
                )
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


def _options(given: Mapping[str, Any]) -> Options:
    """The options; with a wrong one, this process does nothing more."""
    try:
        return Options.of(given)
    except RefusedError as error:
        log.error("the engine watches nothing: %s", error)
    while True:
        # Salt would start a process that ends again and again.
        time.sleep(3600)


def run(
    opts: Mapping[str, Any],
    runners: Mapping[str, Any],
    fire: Callable[[dict[str, Any], str], Any],
    given: Mapping[str, Any],
) -> None:
    """Looks at all inventories of the master, until its process ends."""
    options = _options(given)
    watches = [Watch(given, opts, runners) for _, given in _check.configured(opts)]
    failed: dict[Watch, str] = {}
    unwritten = False
    while True:
        for watch in watches:
            try:
                event = watch.look(options.settle)
                failed.pop(watch, None)
                if event is None:
                    continue
                fire(bounded(event, Path(str(opts["cachedir"]), "reclass")), TAG)
                if options.refresh:
                    execute, keys = runners["salt.execute"], _fleet.accepted(opts)
                    groups = (options.canary, options.batch)
                    _report(_fleet.refresh(event["names"], event["breaks"], execute, keys, *groups))
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:  # noqa: BLE001 - a panic is no `Exception`, and the next look may work
                if failed.get(watch) != str(error):
                    failed[watch] = str(error)
                    describe(error, "the inventory cannot be watched: ")
        try:
            _write_metrics(opts, watches, failed)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            if not unwritten:
                # The log may be on the disk that is full.
                is_known = isinstance(error, (OSError, ReclassError, RefusedError))
                reason = error if is_known else describe(error)
                log.warning("the metrics cannot be written: %s", reason)
            unwritten = True
        else:
            if unwritten:
                log.info("the metrics are written again")
            unwritten = False
        time.sleep(options.interval)


def _write_metrics(opts: Mapping[str, Any], watches: list[Watch], failed: Mapping[Watch, str]) -> None:
    """Writes the metrics of all inventories that name the same file together."""
    files: dict[str, list[dict[str, Any]]] = {}
    for watch in watches:
        path, found = watch.metrics(watch in failed)
        if path and watch.revision:
            files.setdefault(path, []).append(found)
    for path, inventories in files.items():
        _metrics.write(path, {**_metrics.summed(opts), "inventories": inventories})


def _report(done: Mapping[str, Any]) -> None:
    failed = [f"{name}: {answer}" for name, answer in done["minions"].items() if answer.startswith("failed")]
    level = logging.ERROR if failed else logging.INFO
    log.log(level, "pillars refreshed: %s%s", done["refreshed"], "".join(f"; {text}" for text in failed))


def _sentence(change: Mapping[str, Any]) -> str:
    differ, breaks = change["differ"], len(change["breaks"])
    return (
        f"{differ:,} of {change['nodes']:,} nodes {'changes' if differ == 1 else 'change'}, "
        f"{breaks:,} {'breaks' if breaks == 1 else 'break'}"
    )


def _on_trial(trial: tuple[str, list[str]] | None) -> str:
    """What is on trial, for a line of the log."""
    if trial is None:
        return ""
    revision, nodes = trial
    more = [f"{len(nodes) - _LOGGED} more"] if len(nodes) > _LOGGED else []
    return f", with {revision} on trial for {', '.join([*nodes[:_LOGGED], *more]) or 'no node'}"


def _trial(delivery: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The revision on trial with its nodes."""
    trial = delivery.get("trial")
    return (trial["revision"], trial["nodes"]) if trial else None


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
