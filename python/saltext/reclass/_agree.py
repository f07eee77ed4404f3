"""Compares the revisions that several masters serve.

The engine of each master writes a small record into a folder that all of them share, and reads those of the
others. There is nothing else between the masters, so a master that is away harms no other.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from saltext.reclass._salt import RefusedError

log = logging.getLogger(__name__)

TAG = "reclass/agree"
AFTER = 120
"""Seconds that masters may differ, and that a record may be old: a minute beyond ``git_fetch_interval``."""

Records = dict[str, dict[str, Any]]
"""By master: ``time``, and by inventory ``serves`` with ``revision``, ``since``, and the time when the master
found that another one ``differs``."""


class Masters:
    """What this master tells the others, and what it found at its last look."""

    def __init__(self, opts: Mapping[str, Any], folder: str, after: float) -> None:
        self.name, self.folder, self.after = str(opts["id"]), Path(folder), after
        self.problems: list[str] = []

    def look(
        self, served: Iterable[tuple[str, str, str]], fire: Callable[[dict[str, Any], str], Any]
    ) -> None:
        """Tells which revisions this master serves since when, and reports if those of another differ."""
        now = time.time()
        records = _read(self.folder)[0]
        # It also tells what was known before a restart.
        own = records.get(self.name, {"time": 0, "serves": {}})
        known = own["serves"] if now - own["time"] <= self.after else {}
        serves: dict[str, dict[str, Any]] = {
            source: {"revision": revision, "since": since} for source, revision, since in served
        }
        records[self.name] = {"time": now, "serves": serves}
        for source, all_ in _compared(records, self.after).items():
            if source in serves and len(set(all_.values())) > 1:
                serves[source]["differs"] = known.get(source, {}).get("differs", now)
        path = self.folder / f"{quote(self.name, safe='')}.json"
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"master": self.name, "time": now, "serves": serves}), encoding="utf-8")
        os.replace(new, path)
        problems = report(self.folder, self.after)["problems"]
        if problems != self.problems:
            self.problems = problems
            for problem in problems:
                log.warning("%s", problem)
            if not problems:
                log.info("all masters agree again")
            fire({"problems": problems}, TAG)


def report(folder: Path, after: float) -> dict[str, Any]:
    """Who serves what since when, and what is wrong with it."""
    records, problems = _read(folder)
    now = time.time()
    if not records:
        problems.append(f"no master has written a record into '{folder}'")
    old = [name for name, record in records.items() if now - record["time"] > after]
    problems += [f"master '{name}' has written no record for longer than {after:g} seconds" for name in old]
    differ = {}
    for source, all_ in _compared(records, after).items():
        if len(set(all_.values())) > 1:
            served = [records[name]["serves"].get(source, {}) for name in all_]
            began = min((one["differs"] for one in served if "differs" in one), default=now)
            differ[source] = max(0, round(now - began))
            if now - began > after:
                each = ", ".join(
                    f"'{name}' serves {revision or 'nothing'}" for name, revision in all_.items()
                )
                problems.append(f"the masters differ in '{source}' for longer than {after:g} seconds: {each}")
    inventories: dict[str, dict[str, Any]] = {}
    for name, record in records.items():
        for source, one in record["serves"].items():
            inventories.setdefault(source, {})[name] = {"revision": one["revision"], "since": one["since"]}
    ages = {name: max(0, round(now - record["time"])) for name, record in records.items()}
    return {"ages": ages, "inventories": inventories, "differ": differ, "problems": problems}


def _compared(records: Records, after: float) -> dict[str, dict[str, str | None]]:
    """The revision of each inventory by master; ``None`` for one without it. Old records do not count."""
    fresh = {name: one["serves"] for name, one in records.items() if time.time() - one["time"] <= after}
    sources = sorted({source for serves in fresh.values() for source in serves})
    return {
        source: {name: serves.get(source, {}).get("revision") for name, serves in fresh.items()}
        for source in sources
    }


def _read(folder: Path) -> tuple[Records, list[str]]:
    """The records of all masters, and the problems of files that are none."""
    if not folder.is_dir():
        raise RefusedError(f"'{folder}' is no folder: all masters must share it")
    records: Records = {}
    problems = []
    for path in sorted(folder.glob("*.json")):
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
            serves = {
                str(source): {key: one[key] for key in ("revision", "since", "differs") if key in one}
                for source, one in given["serves"].items()
            }
            _ = [(one["revision"], one["since"], float(one.get("differs", 0))) for one in serves.values()]
            records[str(given["master"])] = {"time": float(given["time"]), "serves": serves}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            problems.append(f"'{path}' is no record of a master ({type(error).__name__})")
    return records, problems


def options(opts: Mapping[str, Any]) -> tuple[str | None, float]:
    """``agree_dir`` and ``agree_after`` of the engine in the configuration of a master."""
    engines = opts.get("engines") or []
    entries = (
        [engines] if isinstance(engines, Mapping) else [one for one in engines if isinstance(one, Mapping)]
    )
    for name, given in (pair for entry in entries for pair in entry.items()):
        if (
            isinstance(given, Mapping)
            and given.get("engine_module", name) == "reclass"
            and "agree_dir" in given
        ):
            return str(given["agree_dir"]), seconds("agree_after", given.get("agree_after", AFTER))
    return None, AFTER


def seconds(name: str, given: Any) -> float:
    """A number of seconds, from 0."""
    try:
        found = float("nan" if isinstance(given, bool) else given)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise RefusedError(f"'{name}' must be a number of seconds, not {given!r}")
    return found
