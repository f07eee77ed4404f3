"""Turns the wish of a minion for a node of its own into the edit, on the word of that minion alone.

An event on the bus of the master proves nothing: any accepted minion can fire any tag with any content,
other minions' ids included (Salt's ``_minion_event``, for a list of events and with ``pretag``). So an
event is only the occasion. What is done follows from a grain of the minion that it names: the master
stores the grains of a minion when that minion asks for its pillar, and then it has checked who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltext.reclass import _commands
from saltext.reclass._edits import Settings, text
from saltext.reclass._salt import RefusedError

Cached = Callable[..., Mapping[str, Any]]
"""Salt's runner function ``cache.grains``."""


def classify(
    settings: Settings, cached: Cached, minion: Any, class_mapping: Any, grain: str, test: bool
) -> dict[str, Any]:
    """Makes or updates the node of a minion by rules and what its grain says."""
    said = _said(cached, minion, grain)
    if not isinstance(said, Mapping):
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is no mapping of data")
    return _commands.node_classify(settings, minion, said, class_mapping, test)


def declassify(settings: Settings, cached: Cached, minion: Any, folder: str, grain: str, test: bool) -> str:
    """Deletes the node file of a minion in a folder, if its grain is ``False``."""
    if _said(cached, minion, grain) is not False:
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is not false: its node stays")
    return _commands.node_delete(settings, minion, folder, test)


def _said(cached: Cached, minion: Any, grain: str) -> Any:
    """What a minion says in a grain, by the cache of the master."""
    name = text(minion)
    grains = cached(tgt=[name], tgt_type="list").get(name)
    if not grains:
        raise RefusedError(
            f"the master has no grains of minion {name!r}: its key is not accepted, it has not asked for its "
            "pillar yet, or minion_data_cache is off"
        )
    if grain not in grains:
        raise RefusedError(f"minion {name!r} has no grain {grain!r}")
    return grains[grain]
