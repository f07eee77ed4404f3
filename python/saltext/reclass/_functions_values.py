"""Functions of Salt for what an inventory gives to its nodes. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _commands, _metadata
from saltext.reclass.errors import ReclassError

if TYPE_CHECKING:
    from saltext.reclass._place import Place


def node_pillar(place: Place, node_name: str) -> dict[str, Any]:
    """
    Return the pillar of a node as ``{node: pillar}``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_pillar web1.example.com
    """
    return _commands.node_pillar(place.settings(node_name), node_name, place.earlier(node_name))


def show_pillar(place: Place, minion: str) -> dict[str, Any]:
    """
    Return the pillar that the inventory gives to a minion.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.show_pillar web1.example.com
    """
    [pillar] = node_pillar(place, minion).values()
    return pillar  # type: ignore[no-any-return]


def top(place: Place, node_name: str) -> dict[str, list[str]]:
    """
    Return the top of a node: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.top web1.example.com
    """
    return _commands.top(place.settings_of_tops(node_name), node_name)


def show_top(place: Place, minion: str) -> dict[str, list[str]]:
    """
    Return the top that the inventory gives to a minion: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.show_top web1.example.com
    """
    return top(place, minion)


def nodes(place: Place) -> list[str]:
    """
    Return the names of all nodes.

    CLI Example:

    .. code-block:: bash

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

    CLI Example:

    .. code-block:: bash

        salt-call reclass.explain web1.example.com nginx:listen
    """
    settings = place.settings(node_name)
    try:
        if place.is_read_by_people():
            return _commands.as_text(_commands.explain_text(settings, node_name, paths))
        return _commands.explain(settings, node_name, paths)
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

    CLI Example:

    .. code-block:: bash

        salt-call reclass.diff HEAD
        salt-call reclass.diff HEAD~1 HEAD 'db*'
    """
    settings = place.settings(*nodes or "*")
    if place.is_read_by_people():
        text, differs = _commands.diff_text(settings, old, new, nodes)
        return place.failed(None, [text]) if differs else _commands.as_text(text)
    answer = _commands.diff(settings, old, new, nodes)
    return place.with_code(answer, bool(answer["touched"]))


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

    CLI Example:

    .. code-block:: bash

        salt-run reclass.compare
        salt-run reclass.compare 'web*' exclude='[mine_functions, schedule]'
    """
    pillars = {minion: pillar for minion, pillar in place.salt["cache.pillar"](tgt="*").items() if pillar}
    settings = place.settings(*nodes or "*")
    if place.is_read_by_people():
        text, differs = _commands.compare_text(settings, pillars, nodes, only, exclude)
        return place.failed(None, [text]) if differs else _commands.as_text(text)
    answer = _commands.compare(settings, pillars, nodes, only, exclude)
    return place.with_code(answer, bool(answer["touched"]))


def inventory(place: Place) -> dict[str, Any]:
    """
    Return all nodes with their services and roles, which are the first two levels of their parameters.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.inventory
    """
    return _metadata.inventory(place.settings("*"))


def graph_data(place: Place) -> dict[str, Any]:
    """
    Return the services of all nodes and their relations, from the roles of the inventory and from the grain
    ``salt:graph``. It asks all minions. ``salt-call`` can do that only on the machine of the master;
    ``salt-run`` does it there.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.graph_data
    """
    return _commands.graph_data(place.settings("*"), place.grains_of_all(list(_commands.GRAPH_GRAINS)))
