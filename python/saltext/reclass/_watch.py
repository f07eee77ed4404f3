"""Notices changes of an inventory and finds the nodes that they touch, in a process of Salt's master.

The process keeps all answers, so a change costs the nodes that it affects and a look at the others. Of each
node it has hashes, with a key that no other process knows.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltext.reclass import _fleet, _metadata, _metrics, _revision
from saltext.reclass._files import replace
from saltext.reclass._salt import settings_of
from saltext.reclass.errors import ReclassError

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

# Names in one event. An event goes through the memory of each process that listens.
_NAMES = 1000
# Names of nodes in a line of the log.
_LOGGED = 10
# How often a change may be followed by another one while it settles.
_SETTLES = 10
# How often all nodes are looked at, if something changes meanwhile. The next look finds the rest.
_LOOKS = 3

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
        self.delivered: dict[str, Any] = {}
        self.nodes: dict[str, Hashes | None] = {}
        """The hashes of each node by its first keys; ``None`` for a node that has no pillar."""
        self.parts: dict[bytes, Hashes] = {}
        """The hashes within a mapping, by the hash of the mapping: most nodes share most of them."""

    def test(self) -> None:
        """Tests commits that were fetched. As long as this process does it, no request of a minion waits."""
        inventory = _metadata.opened(self._settings())
        inventory.test_revisions()
        inventory.delivery()

    def look(self, settle: float) -> dict[str, Any] | None:
        """What changed since the last look. The first look only learns the state."""
        settings = self._settings()
        inventory = _metadata.opened(settings)
        stamp = self._stamp(settings, inventory)
        if stamp == self.stamp:
            return None
        # Several files of one change are not written at once. Some folders are never at rest.
        for _ in range(0 if self.stamp is None else _SETTLES):
            time.sleep(settle)
            earlier, stamp = stamp, self._stamp(settings, inventory)
            if stamp == earlier:
                break
        nodes, parts = self.nodes, self.parts
        # Of many nodes a look takes long. Its end is to be the state that minions get then.
        for _ in range(_LOOKS):
            nodes, parts = self._look_at_nodes(settings, inventory, parts)
            seen, stamp = stamp, self._stamp(settings, inventory)
            if stamp == seen:
                break
        state, delivered = inventory.state(), _delivered(inventory.delivery())
        old, known, is_first = self.revision, (self.revision, self.delivered), self.stamp is None
        change = changed(self.nodes, self.parts, nodes, parts)
        self.nodes, self.parts, self.stamp, self.delivered = nodes, parts, seen, delivered
        self.revision, self.source = state["revision"], _revision.source(state)
        if is_first:
            failing = sum(hashes is None for hashes in self.nodes.values())
            sentence = f"{len(self.nodes):,} nodes, {failing} without a pillar"
            _log(self.revision, delivered, failing, sentence)
            return None
        if (self.revision, delivered) == known and not change["differ"]:
            return None
        _log(self.revision, delivered, len(change["breaks"]), _sentence(change))
        return {"source": self.source, "old": old, "new": self.revision, **change, **delivered}

    def metrics(self, failed: bool) -> tuple[str | None, dict[str, Any] | None]:
        """The file for the metrics, and those of this inventory; ``None`` if no look has succeeded yet.

        After a failed look no node has a pillar. Before the first look there is no file.
        """
        settings = self._settings()
        if not self.revision:
            return settings.get("metrics_file") if failed else None, None
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
        delivery = inventory.delivery() or {}
        decided = [delivery.get(name) for name in ("tested", "served")], _delivered(delivery)
        return states, files, _revision.checked_out(settings), decided

    def _look_at_nodes(
        self, settings: Mapping[str, Any], inventory: Any, known_parts: Mapping[bytes, Hashes]
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
                    known = known_parts.get(hash_)
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
    # Only the master may know which nodes there are.
    replace(path, json.dumps(event).encode(), 0o600)
    cut = {
        name: type(event[name])(list(event[name].items() if name == "paths" else event[name])[:_NAMES])
        for name in lists
    }
    return {**event, **cut, "file": str(path)}


def _log(revision: str, delivered: Mapping[str, Any], breaks: int, sentence: str) -> None:
    level = logging.WARNING if breaks or "held" in delivered else logging.INFO
    log.log(level, "revision %s%s: %s", revision, _beside(delivered), sentence)


def _sentence(change: Mapping[str, Any]) -> str:
    differ, breaks = change["differ"], len(change["breaks"])
    return (
        f"{differ:,} of {change['nodes']:,} nodes {'changes' if differ == 1 else 'change'}, "
        f"{breaks:,} {'breaks' if breaks == 1 else 'break'}"
    )


def _delivered(delivery: Mapping[str, Any] | None) -> dict[str, Any]:
    """What minions have beside the revision of most, in the words of an event."""
    delivery = delivery or {}
    held, trial = delivery.get("held"), delivery.get("trial")
    return {
        # The setting `serve` keeps these nodes from the newest commit, or all of them.
        **({"held": held} if held else {}),
        **({} if delivery.get("is_served", True) else {"refused": delivery["tested"]}),
        # The setting `canary` gives it to these nodes first.
        **({"trial": {name: trial[name] for name in ("revision", "nodes")}} if trial else {}),
    }


def _beside(delivered: Mapping[str, Any]) -> str:
    """The same, for a line of the log."""
    held = delivered.get("held", [])
    told = ""
    if refused := delivered.get("refused"):
        told += f", as {refused} is served to none"
    elif held:
        told += f", with the newest not served to {_listed(_fleet.names_held(delivered))}"
    if held:
        told += f" ({held[0]['problem']})"
    if trial := delivered.get("trial"):
        told += f", with {trial['revision']} on trial for {_listed(trial['nodes'])}"
    return told


def _listed(nodes: list[str]) -> str:
    more = [f"{len(nodes) - _LOGGED} more"] if len(nodes) > _LOGGED else []
    return ", ".join([*nodes[:_LOGGED], *more]) or "no node"


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
