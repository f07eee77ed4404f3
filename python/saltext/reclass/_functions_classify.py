"""Functions of Salt that make nodes from rules. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _commands, _minions

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

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_classify web3.example.com '{address: 10.0.0.13}' \\
          '{web: {expression: all, node_class: {value: [site.lan, role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    place.failing = f"node {node_name!r:.80} is not classified: "
    return _commands.node_classify(
        place.settings(), node_name, node_data, class_mapping, place.test(test), force
    )


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

    CLI Example:

    .. code-block:: bash

        salt-run reclass.classify_minion web3.example.com \\
          '{web: {expression: all, node_class: {value: [site.lan, role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    place.failing = f"minion {minion!r:.80} is not classified: "
    cached = place.salt["cache.grains"]
    return _minions.classify(place.settings(), cached, minion, class_mapping, grain, place.test(test), force)


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

    CLI Example:

    .. code-block:: bash

        salt-run reclass.declassify_minion web3.example.com
    """
    place.failing = f"minion {minion!r:.80} keeps its node: "
    cached = place.salt["cache.grains"]
    return _minions.declassify(place.settings(), cached, minion, path, grain, place.test(test), force)
