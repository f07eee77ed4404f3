"""Finds the nodes that a change touches and the minions that have not got it, and refreshes these.

No answer has a value: it has names of nodes and paths of parameters.
"""

from __future__ import annotations

import fcntl
import fnmatch
import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from saltext.reclass._edits import Settings, text
from saltext.reclass._metadata import opened
from saltext.reclass._salt import RefusedError

log = logging.getLogger(__name__)

Execute = Callable[..., Mapping[str, Any]]
"""Salt's runner function ``salt.execute``."""

# Seconds that a minion may take for its new pillar.
_TIMEOUT = 60
# A minion needs no package of ours for it: it hashes what it has below the keys of its own node. All minions
# can read a question that Salt publishes, so the names of the keys are hashed too, with a random number.
_DIGEST = (
    "{%- set ours = {} -%}{%- for key in pillar if (nonce ~ key) | sha256 in keys -%}"
    "{%- do ours.update({key: pillar[key]}) -%}{%- endfor -%}{{ (nonce ~ (ours | json)) | sha256 }}"
)
_CANARY = "'canary' must be a glob like 'web1*', a list of names, or a percentage like 5%, from 1%"
_BATCH = "'batch' must be a number like 50, or a percentage like 10%, from 1%"
YIELDED = "left out: a newer revision is served"
_ERRORS = "{{ '_errors' in pillar }}"


def held(inventory: Any) -> list[str]:
    """The nodes that keep an earlier revision (``serve``), because the newest one breaks them."""
    return names_held(inventory.delivery())


def names_held(delivery: Mapping[str, Any] | None) -> list[str]:
    """The nodes that keep an earlier revision, in the table of a delivery."""
    return [name for held in (delivery or {"held": []})["held"] for name in held["nodes"]]


def different(
    cached: Mapping[str, Any], pillar: Mapping[str, Any], only: Sequence[str], exclude: Sequence[str]
) -> set[str]:
    """The first keys below which two pillars of a minion differ. ``only`` and ``exclude`` are globs."""

    def compared(key: str) -> bool:
        # The name of another revision is no difference.
        wanted = key != "__reclass__" and (not only or _matches(key, only))
        return wanted and not _matches(key, exclude)

    none = object()
    keys = {key for key in (*cached, *pillar) if cached.get(key, none) != pillar.get(key, none)}
    return {str(key) for key in keys if compared(str(key))}


def _matches(key: str, globs: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(key, glob) for glob in globs)


def drift(
    comparison: Mapping[str, Any],
    more: Mapping[str, set[str]],
    updated: Callable[[str], float | None],
) -> dict[str, Any]:
    """The minions whose cached pillars differ. ``more`` has the paths of others that were compared.

    ``updated`` is the time when a pillar was cached.
    """
    paths: dict[str, set[str]] = {name: found for name, found in more.items() if found}
    breaks: set[str] = set()
    for difference in (cause["difference"] for cause in comparison["causes"]):
        broken = [one["node"] for kind in ("broken", "unrendered", "otherwise") for one in difference[kind]]
        breaks.update(broken)
        mended = (one["node"] for one in difference["mended"])
        for name in (*broken, *mended, *difference["added"], *difference["removed"]):
            paths.setdefault(name, set())
        for change in difference["changes"]:
            for name in change["nodes"]:
                paths.setdefault(name, set()).add(_path(change))
    details: dict[str, dict[str, Any]] = {}
    for name in sorted(paths):
        at = updated(name)
        age = None if at is None else max(0, round(time.time() - at))
        details[name] = {"age": age, "paths": sorted(paths[name])}
    return {
        "compared": comparison["nodes"] + len(more),
        "differ": len(details),
        "oldest": max((one["age"] or 0 for one in details.values()), default=None),
        "names": list(details),
        "breaks": sorted(breaks),
        "details": details,
    }


def remember_drift(opts: Mapping[str, Any], source: str, minions: int) -> None:
    """Keeps the number of minions that differ from an inventory, for the metrics of the master."""
    import salt.cache

    cache = salt.cache.factory(opts)
    known = _drifts(cache)
    now = {"drift_minions": minions, "drift_timestamp_seconds": int(time.time())}
    cache.store("reclass", "drift", {**known, source: now})


def last_drift(opts: Mapping[str, Any], source: str) -> dict[str, int]:
    """What was kept last; nothing before the first comparison."""
    import salt.cache

    return _drifts(salt.cache.factory(opts)).get(source, {})


_damaged: set[str] = set()


def _drifts(cache: Any) -> dict[str, dict[str, int]]:
    """What was kept, by inventory. Damaged data count as nothing, with one line in the log."""
    try:
        found = cache.fetch("reclass", "drift") or {}
        names = ("drift_minions", "drift_timestamp_seconds")
        drifts = {str(source): {name: int(one[name]) for name in names} for source, one in found.items()}
    except Exception as error:  # noqa: BLE001 - a cache of Salt may be anything
        kind = type(error).__name__
        if kind not in _damaged:
            _damaged.add(kind)
            log.warning(
                "what reclass.drift found last cannot be read from the cache of the master (%s)", kind
            )
        # Salt has a line of its own for each attempt to read it.
        with suppress(Exception):
            cache.flush("reclass", "drift")
        return {}
    _damaged.clear()
    return drifts


def live(
    settings: Settings,
    names: Iterable[str],
    execute: Execute,
    keys: set[str],
    earlier: Callable[[str], Mapping[str, Any] | None],
) -> dict[str, Any]:
    """The minions whose own pillars differ, by hashes that they compute.

    Those with the same keys are asked together. ``keys`` are the accepted minions. ``earlier`` returns the
    pillar of a minion before reclass.
    """
    import salt.utils.json

    inventory = opened(settings)
    names = list(names)
    there = connected(names, keys, execute)
    pillars: dict[tuple[str, ...], dict[str, str]] = {}
    differ, breaks, silent = [], [], [*({*names} - {*there})]
    for name in there:
        try:
            pillar = inventory.pillar(name, earlier(name))
            if "revision" in pillar.get("__reclass__", {}):
                # An older revision whose values are the same is no difference.
                del pillar["__reclass__"]
            written = salt.utils.json.dumps(pillar, sort_keys=True)
        except TypeError:
            # Keys of several types have no order. The minion would fail too.
            silent.append(name)
        except Exception:  # noqa: BLE001 - `reclass.validate_pillar` says why
            breaks.append(name)
        else:
            pillars.setdefault(tuple(pillar), {})[name] = written
    nonce = secrets.token_hex()

    def digest(value: Any) -> str:
        return hashlib.sha256(f"{nonce}{value}".encode()).hexdigest()

    for first, alike in pillars.items():
        hashed = [digest(key) for key in first]
        given = {"string": _DIGEST, "default_renderer": "jinja", "keys": hashed, "nonce": nonce}
        answers = execute(list(alike), "slsutil.renderer", tgt_type="list", kwarg=given, timeout=_TIMEOUT)
        differ += [name for name, written in alike.items() if answers.get(name) != digest(written)]
    return {
        "compared": sum(map(len, pillars.values())),
        "differ": len(differ),
        "names": sorted(differ),
        "breaks": breaks,
        "silent": sorted(silent),
    }


def accepted(opts: Mapping[str, Any]) -> set[str]:
    """The minions whose keys the master has accepted."""
    import salt.key

    return set(salt.key.get_key(opts).list_keys()["minions"])


def connected(names: Iterable[str], keys: set[str], execute: Execute) -> list[str]:
    """The minions that answer, sorted."""
    # Salt prints a message for a question to no accepted minion.
    asked = sorted(keys.intersection(names))
    pinged = execute(asked, "test.ping", tgt_type="list") if asked else {}
    return [name for name in asked if pinged.get(name) is True]


def refresh(
    names: Sequence[str],
    breaks: Sequence[str],
    execute: Execute,
    keys: set[str],
    canary: Any = None,
    batch: Any = None,
    test: bool = False,
    yields: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Refreshes the pillars of the connected minions among the nodes, in groups, until one fails.

    ``yields`` is asked before each group whether the others are left out, as a newer revision is served.
    A node that breaks is left out: Salt would replace the pillar of its minion by one without reclass.
    """
    check_groups(canary, batch)
    known = [*keys, *names, *breaks]
    if known and not (canary is None or _is_share(canary) or _canaries(known, canary)):
        raise RefusedError(f"'canary' names no minion: {canary!r}")
    answers = dict.fromkeys(sorted(names), "not connected")
    answers |= dict.fromkeys(breaks, "left out: the node has no pillar")
    there = connected({*names} - {*breaks}, keys, execute)
    groups = _groups(there, canary, batch)
    stopped = bool(_canaries(list(breaks), None if _is_share(canary) else canary))
    left_out = "left out: another one failed"
    for group in groups:
        if not stopped and yields():
            stopped, left_out = True, YIELDED
        if stopped:
            answers |= dict.fromkeys(group, left_out)
        elif test:
            answers |= dict.fromkeys(group, "would be refreshed")
        else:
            done = _refresh(group, execute)
            answers |= done
            stopped = any(answer != "refreshed" for answer in done.values())
    return {
        "refreshed": sum(answer == "refreshed" for answer in answers.values()),
        "stopped": stopped,
        "groups": groups,
        "minions": answers,
        "retcode": 1 if stopped or breaks else 0,
    }


@contextmanager
def alone(opts: Mapping[str, Any]) -> Iterator[bool]:
    """Waits until no other process or thread is inside; ``False`` at once if another one waits already."""
    folder = Path(str(opts["cachedir"]), "reclass")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with ExitStack() as files:
        waits, works = (os.open(folder / f"refresh.{name}", flags, 0o600) for name in ("waits", "works"))
        files.callback(os.close, waits)
        files.callback(os.close, works)
        try:
            fcntl.flock(waits, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        fcntl.flock(works, fcntl.LOCK_EX)
        fcntl.flock(waits, fcntl.LOCK_UN)
        yield True


def _refresh(group: list[str], execute: Execute) -> dict[str, str]:
    given: dict[str, Any] = {"wait": True, "timeout": _TIMEOUT}
    done = execute(group, "saltutil.refresh_pillar", tgt_type="list", kwarg=given, timeout=_TIMEOUT + 10)
    # Salt answers `True` for a pillar that has errors, too.
    given = {"string": _ERRORS, "default_renderer": "jinja"}
    failed = execute(group, "slsutil.renderer", tgt_type="list", kwarg=given, timeout=_TIMEOUT)
    words = {"False": "refreshed", "True": "failed: the pillar has errors"}
    return {
        name: words.get(str(failed.get(name)), "failed: no answer")
        if done.get(name) is True
        else "failed: no answer"
        for name in group
    }


def _groups(names: list[str], canary: Any, batch: Any) -> list[list[str]]:
    """The canaries, then the others in batches."""
    first = _canaries(names, canary)
    others = [name for name in names if name not in first]
    size = _share(batch, len(names)) if batch is not None else len(others)
    batches = [others[at : at + size] for at in range(0, len(others), size or 1)]
    return [group for group in (first, *batches) if group]


def _canaries(names: list[str], canary: Any) -> list[str]:
    if canary is None:
        return []
    if isinstance(canary, (list, tuple)):
        chosen = {text(name) for name in canary}
        return [name for name in names if name in chosen]
    if _is_share(canary):
        return names[: _share(canary, len(names))]
    return [name for name in names if fnmatch.fnmatchcase(name, text(canary))]


def _is_share(canary: Any) -> bool:
    return isinstance(canary, str) and canary.endswith("%")


def check_groups(canary: Any, batch: Any) -> None:
    if not (canary is None or isinstance(canary, (str, list, tuple))) or str(canary).isdigit():
        raise RefusedError(_CANARY)
    if _is_share(canary):
        _share(canary, 0, _CANARY)
    if batch is not None:
        _share(batch, 0)


def _share(given: Any, total: int, wrong: str = _BATCH) -> int:
    """A number, or a percentage of the total; at least one."""
    number, percent, rest = ("" if isinstance(given, bool) else str(given)).partition("%")
    if not number.isdecimal() or rest or int(number) == 0:
        raise RefusedError(wrong)
    return max(1, -(-total * int(number) // 100)) if percent else int(number)


def _path(change: Mapping[str, Any]) -> str:
    """The section and the path of a change; most are parameters."""
    parts = [change["path"]] if change["section"] == "parameters" else [change["section"], change["path"]]
    return " ".join(filter(None, parts))
