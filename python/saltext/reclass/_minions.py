"""Creates, updates and deletes the node of a minion, as a grain of this minion requests.

An event on the bus of the master proves nothing: any accepted minion can fire any tag with any content,
including the ids of other minions (Salt's ``_minion_event``, for a list of events and with ``pretag``). So
an event is only a trigger. The edit depends on a grain of the minion that the event names. The master
stores the grains of a minion when the minion requests its pillar, after it has authenticated the minion.
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
    settings: Settings, cached: Cached, minion: Any, class_mapping: Any, grain: str, test: bool, force: bool
) -> dict[str, Any]:
    """Creates or updates the node of a minion from the rules and the data in its grain."""
    value = _grain_value(cached, minion, grain)
    if not isinstance(value, Mapping):
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is no mapping of data")
    return _commands.node_classify(settings, minion, value, class_mapping, test, force)


def declassify(
    settings: Settings, cached: Cached, minion: Any, folder: str, grain: str, test: bool, force: bool
) -> str:
    """Deletes the node file of a minion in a folder, if its grain is ``False``."""
    if _grain_value(cached, minion, grain) is not False:
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is not false: its node stays")
    return _commands.node_delete(settings, minion, folder, test, force)


def _grain_value(cached: Cached, minion: Any, grain: str) -> Any:
    """The value of a grain of a minion, from the cache of the master."""
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
