"""Functions of Salt that make nodes from rules. Their texts are those of `sys.doc`.

An event on the bus of the master proves nothing: any accepted minion can fire any tag with any content,
including the ids of other minions (Salt's ``_minion_event``, for a list of events and with ``pretag``). So
for the functions of reactors, an event is only a trigger. The edit depends on a grain of the minion that the
event names. The master stores the grains of a minion when the minion requests its pillar, after it has
authenticated the minion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltext.reclass import _classify, _commit
from saltext.reclass._edits import Settings, text
from saltext.reclass._functions_nodes import deleted, edited
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from saltext.reclass._place import Place


def node_classify(
    place: Place,
    node_name: str,
    node_data: Any = None,
    class_mapping: Any = None,
    test: bool | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """
    Create or update a node, and the parameters of its cluster, from data about a machine.

    node_data
        A mapping with the data. ``node_name`` is always set to the name of the node. The data are trusted:
        any minion can send an event, so do not pass its data on unchecked.

    class_mapping
        The rules. Each rule has an ``expression``: ``all``, ``<<name>>__equals__text``,
        ``<<name>>__startswith__text``, or a list of expressions that must all be true. If it is true, the
        ``value`` or ``value_template`` of ``node_class``, ``node_param`` and ``cluster_param`` is applied.

    Returns ``node_create``, the node in the form of :py:func:`node_get`, and ``cluster_param``, the values
    by name. With ``test``, it returns the planned changes and makes none. With ``force``, it makes
    them even if they break nodes.

    CLI Example::

        salt-call reclass.node_classify web3.example.com '{address: 10.0.0.13}' \\
          '{web: {expression: all, node_class: {value: [site.lan, role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    place.failing = f"node {node_name!r:.80} is not classified: "
    return _classified(place.settings(), text(node_name), node_data, class_mapping, place.test(test), force)


def _classified(
    settings: Settings, name: str, node_data: Any, class_mapping: Any, test: bool, force: bool
) -> dict[str, Any]:
    done = _classify.classify(settings, name, node_data, class_mapping, test, force)
    node, edits = done["node"], done["cluster_params"]
    if test or _commit.is_pushed(settings):
        return {"node_create": node or "", "cluster_param": edits}
    warnings = [edit["warning"] for edit in (node or {}, *edits.values()) if "warning" in edit]
    return {
        "node_create": edited(settings, name, node) if node else "",
        "cluster_param": {param: {param: edit["new"]} for param, edit in edits.items()},
        **({"warning": warnings[0]} if warnings else {}),
    }


def classify_minion(
    place: Place,
    minion: str,
    class_mapping: Any,
    grain: str = "reclass",
    test: bool | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """
    Create or update the node of a minion from rules and from data in one of its grains. For reactors: an
    event does not prove its sender, but the master has verified whose grains it stores. The grains are
    those of the minion's last pillar request. Each ``salt-call`` makes such a request.

    minion
        The id of the minion.

    class_mapping
        The rules, as for :py:func:`node_classify`.

    grain
        The grain that holds the data, a mapping.

    Also takes ``test`` and ``force``. The result is that of :py:func:`node_classify`.

    CLI Example::

        salt-run reclass.classify_minion web3.example.com \\
          '{web: {expression: all, node_class: {value: [site.lan, role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    place.failing = f"minion {minion!r:.80} is not classified: "
    settings, value = place.settings(), _grain_value(place, minion, grain)
    if not isinstance(value, Mapping):
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is no mapping of data")
    return _classified(settings, text(minion), value, class_mapping, place.test(test), force)


def declassify_minion(
    place: Place,
    minion: str,
    path: str = "_generated",
    grain: str = "reclass",
    test: bool | None = None,
    force: bool = False,
) -> str:
    """
    Delete the file of a node if a grain of its minion is ``False``. For reactors, like
    :py:func:`classify_minion`.

    minion
        The id of the minion.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    grain
        The grain that must be ``False``.

    Also takes ``test`` and ``force``.

    CLI Example::

        salt-run reclass.declassify_minion web3.example.com
    """
    place.failing = f"minion {minion!r:.80} keeps its node: "
    settings = place.settings()
    if _grain_value(place, minion, grain) is not False:
        raise RefusedError(f"the grain {grain!r} of minion {text(minion)!r} is not false: its node stays")
    return deleted(settings, text(minion), path, place.test(test), force)


def _grain_value(place: Place, minion: str, grain: str) -> Any:
    """The value of a grain of a minion, from the cache of the master."""
    name = text(minion)
    grains = place.salt["cache.grains"](tgt=[name], tgt_type="list").get(name)
    if not grains:
        raise RefusedError(
            f"the master has no grains of minion {name!r}: its key is not accepted, it has not asked for its "
            "pillar yet, or minion_data_cache is off"
        )
    if grain not in grains:
        raise RefusedError(f"minion {name!r} has no grain {grain!r}")
    return grains[grain]
