"""Functions of Salt for what an inventory gives to its nodes. Their texts are those of `sys.doc`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass import _graph, _metadata
from saltext.reclass._edits import text
from saltext.reclass._salt import RefusedError
from saltext.reclass.errors import ReclassError

if TYPE_CHECKING:
    from saltext.reclass._place import Place

# At most 255 bytes: the file system refuses longer names.
_REVISION = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@{}~^/-]{0,254}")


def node_pillar(place: Place, node_name: str) -> dict[str, Any]:
    """
    Return the pillar of a node as ``{node: pillar}``.

    CLI Example::

        salt-call reclass.node_pillar web1.example.com
    """
    inventory, name = _metadata.opened(place.settings(node_name)), text(node_name)
    return {name: inventory.pillar(name, place.earlier(node_name))}


def show_pillar(place: Place, minion: str) -> dict[str, Any]:
    """
    Return the pillar that the inventory gives to a minion.

    CLI Example::

        salt-run reclass.show_pillar web1.example.com
    """
    [pillar] = node_pillar(place, minion).values()
    return pillar  # type: ignore[no-any-return]


def top(place: Place, node_name: str) -> dict[str, list[str]]:
    """
    Return the top of a node: its applications, by environment.

    CLI Example::

        salt-call reclass.top web1.example.com
    """
    found: dict[str, list[str]] = _metadata.opened(place.settings_of_tops(node_name)).top(text(node_name))
    return found


def show_top(place: Place, minion: str) -> dict[str, list[str]]:
    """
    Return the top that the inventory gives to a minion: its applications, by environment.

    CLI Example::

        salt-run reclass.show_top web1.example.com
    """
    return top(place, minion)


def nodes(place: Place) -> list[str]:
    """
    Return the names of all nodes.

    CLI Example::

        salt-run reclass.nodes
    """
    names: list[str] = _metadata.opened(place.settings()).nodes()
    return names


def explain(place: Place, node_name: str, *paths: str) -> Any:
    """
    Explain the values of a node: the file and line that set a value, the include chain of the file, the
    values that it replaced, and the values that its references found. Secrets are masked. ``salt-run`` prints
    a text; ``--out json`` and other callers get the data. An error is reported in full, with places and
    include chains.

    paths
        Paths as in references. Keys may be globs; ``**`` matches any number of keys. Default: all values.

    CLI Example::

        salt-call reclass.explain web1.example.com nginx:listen
    """
    settings, asked = place.settings(node_name), map(text, (node_name, *paths))
    try:
        inventory = _metadata.opened(settings)
        if place.is_read_by_people():
            return as_text(inventory.explain_text(*asked))
        return inventory.explain(*asked, plain=True)
    except ReclassError as error:
        raise place.error(error.full_text()) from None


def diff(place: Place, old: str, new: str = ".", *nodes: str) -> Any:
    """
    Compare the rendered values of nodes in two states of the inventory. Secrets are masked. The exit code is
    1 if anything differs. ``salt-run`` prints a text; ``--out json`` and other callers get the data.

    old, new
        Revisions of the git repository that contains the inventory. ``.`` is the current state of the files.

    nodes
        Globs. Default: all nodes.

    CLI Example::

        salt-call reclass.diff HEAD
        salt-call reclass.diff HEAD~1 HEAD 'db*'
    """
    settings, asked = place.settings(*nodes or "*"), (*states(old, new), *map(text, nodes))
    inventory = _metadata.opened(settings)
    return _differences(place, inventory.diff_text, inventory.diff, *asked)


def _differences(
    place: Place, told: Callable[..., tuple[str, bool]], data: Callable[..., Any], *asked: Any, **more: Any
) -> Any:
    """The answer of a comparison, as text or as data."""
    if place.is_read_by_people():
        lines, differs = told(*asked, **more)
        return place.failed(None, [lines]) if differs else as_text(lines)
    answer = data(*asked, **more, plain=True)
    return place.with_code(answer, bool(answer["touched"]))


def states(old: Any, new: Any) -> tuple[str, str]:
    """The names of two states: revisions or ``.``."""
    for state in (text(old), text(new)):
        # The engine would read any folder of the system.
        if state != "." and (not _REVISION.fullmatch(state) or Path(state).exists()):
            raise RefusedError("the states must be revisions of git, or '.' for the files as they are")
    return text(old), text(new)


def as_text(answer: str) -> dict[str, str] | str:
    """An answer for people; Salt prints it line by line."""
    if "retcode" in answer:
        # Salt 3008 would look for an exit code in it, and fail.
        return answer
    return {"outputter": "txt", "data": answer}


def compare(place: Place, *nodes: str, only: Any = None, exclude: Any = None) -> Any:
    """
    Compare the pillars that the master has cached with those of the inventory, and name the ruling behind
    each difference. So a master whose minions still get their pillars from another adapter of reclass shows
    what this one would change. Secrets are masked. The exit code is 1 if anything differs. ``salt-run``
    prints a text; ``--out json`` and other callers get the data.

    The cache holds the pillar of each minion's last request (``minion_data_cache``). Nodes without a cached
    pillar are not compared.

    nodes
        Globs. Default: all nodes.

    only
        Compare only the parameters below these first keys, a glob or a list of them.

    exclude
        Leave out the parameters below these first keys, such as those of other pillars.

    CLI Example::

        salt-run reclass.compare
        salt-run reclass.compare 'web*' exclude='[mine_functions, schedule]'
    """
    pillars = {minion: pillar for minion, pillar in place.salt["cache.pillar"](tgt="*").items() if pillar}
    inventory = _metadata.opened(place.settings(*nodes or "*"))
    asked = (pillars, *map(text, nodes))
    return _differences(place, inventory.compare_text, inventory.compare, *asked, **of_keys(only, exclude))


def of_keys(only: Any, exclude: Any) -> dict[str, list[str]]:
    """The globs of keys that are compared, and of those that are not: each a text, or a list of them."""

    def listed(given: Any) -> list[str]:
        if given is None:
            return []
        return [text(key) for key in given] if isinstance(given, (list, tuple)) else [text(given)]

    return {"only": listed(only), "exclude": listed(exclude)}


def inventory(place: Place) -> dict[str, Any]:
    """
    Return all nodes with their services and roles, which are the first two levels of their parameters.

    CLI Example::

        salt-call reclass.inventory
    """
    return _metadata.inventory(place.settings("*"))


def graph_data(place: Place) -> dict[str, Any]:
    """
    Return the services of all nodes and their relations, from the roles of the inventory and from the grain
    ``salt:graph``. It asks all minions. ``salt-call`` can do that only on the machine of the master;
    ``salt-run`` does it there.

    CLI Example::

        salt-call reclass.graph_data
    """
    settings = place.settings("*")
    answers = place.grains_of_all(["salt:graph", "ipv4", "ipv6", "fqdn"])
    roles = {name: found["roles"] for name, found in _metadata.inventory(settings).items()}
    grains = {minion: found for minion, found in answers.items() if isinstance(found, Mapping)}
    return {"graph": _graph.graph(roles, grains)}
