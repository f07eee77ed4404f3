"""
Soft metadata and nodes of reclass, on the master
=================================================

Shows what minions get from the inventory of the master, and edits it: the functions of the
execution module ``reclass``, with the master's own ``ext_pillar`` (or ``master_tops``) as the configuration.

Where ``ext_pillar`` has several entries ``reclass``, each function works on the first one, or on the one
that ``inventory`` names by its number, from 1, or by its ``inventory_base_uri``. Of such entries
``__reclass__`` in the pillar is that of the last.

An edit changes the entry that is asked for and leaves every other byte of the file as it is. What
goes wrong is an error, and the exit code is 1.
"""

from __future__ import annotations

from typing import Any

import salt.exceptions
from salt.exceptions import CommandExecutionError

try:
    from saltext.reclass import ReclassError, _commands, _configuration, _edits, _metadata, _minions
    from saltext.reclass._salt import commands

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Put here by Salt's loader.
__opts__: dict[str, Any]
__salt__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    return (False, MISSING) if MISSING else __virtualname__


def _settings(inventory: Any = None) -> dict[str, Any]:
    return _configuration.of_master(__opts__, inventory)


def _earlier(minion: Any, inventory: Any) -> dict[str, Any] | None:
    return _configuration.earlier_pillar(__opts__, _edits.text(minion), inventory)


def _test(test: bool | None) -> bool:
    return bool(__opts__.get("test") if test is None else test)


def show_pillar(minion: str, inventory: Any = None) -> dict[str, Any]:
    """
    What a minion gets from the inventory as its pillar.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.show_pillar web1.example.com
    """
    with commands():
        pillars = _commands.node_pillar(_settings(inventory), minion, _earlier(minion, inventory))
        [pillar] = pillars.values()
        return pillar  # type: ignore[no-any-return]


def show_top(minion: str, inventory: Any = None) -> dict[str, list[str]]:
    """
    What a minion gets from the inventory as its top: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.show_top web1.example.com
    """
    with commands():
        settings = _configuration.of_tops(__opts__) if inventory is None else _settings(inventory)
        return _commands.top(settings, minion)


def top(node_name: str, inventory: Any = None) -> dict[str, list[str]]:
    """
    :py:func:`show_top` by the name that it has in the execution module.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.top web1.example.com
    """
    return show_top(node_name, inventory)


def nodes(inventory: Any = None) -> list[str]:
    """
    The names of all nodes.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.nodes
    """
    with commands():
        names: list[str] = _metadata.opened(_settings(inventory)).nodes()
        return names


def set_cluster_param(
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    test: bool | None = None,
    inventory: Any = None,
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster. A missing file is made; its folder has to be there.

    name
        The name of the parameter.

    value
        The value, of any type.

    cluster
        The folder of the cluster below ``classes/cluster``; without, that folder itself.

    file_name
        The file, ``overrides.yml`` if not given.

    interpolate
        Let the value hold references (``${…}``) and queries (``$[…]``).

    test
        Only say what would be done.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the values ``old`` and ``new``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.set_cluster_param database_address 10.0.0.5 cluster=prague
        salt-run reclass.set_cluster_param resolvers '[10.0.0.2, 10.0.0.3]' cluster=prague test=True
    """
    with commands():
        return _edits.set_param(
            _settings(inventory), name, value, cluster, file_name, interpolate, _test(test)
        )


def get_cluster_param(
    name: str, cluster: str = "", file_name: str = "", inventory: Any = None, **kwargs: Any
) -> Any:
    """
    The value of a soft parameter in the metadata file of a cluster, as it is written there.

    default
        What to return where there is none; without a default that is an error.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.get_cluster_param database_address cluster=prague
        salt-run reclass.get_cluster_param database_address cluster=prague default=none
    """
    with commands():
        return _edits.get_param(_settings(inventory), name, cluster, file_name, **kwargs)


def list_cluster_params(cluster: str = "", file_name: str = "", inventory: Any = None) -> dict[str, Any]:
    """
    All soft parameters in the metadata file of a cluster, as they are written there.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.list_cluster_params cluster=prague
    """
    with commands():
        return _edits.params(_settings(inventory), cluster, file_name)


def delete_cluster_param(
    name: str, cluster: str = "", file_name: str = "", test: bool | None = None, inventory: Any = None
) -> dict[str, Any]:
    """
    Delete a soft parameter of a cluster.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the value ``old``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.delete_cluster_param database_address cluster=prague
        salt-run reclass.delete_cluster_param database_address cluster=prague test=True
    """
    with commands():
        return _edits.delete_param(_settings(inventory), name, cluster, file_name, _test(test))


def cluster_meta_list(
    file_name: str = "overrides.yml", cluster: str = "", inventory: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """
    All that the metadata file of a cluster says; ``{}`` for no file.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cluster_meta_list cluster=prague
    """
    with commands():
        return _edits.cluster_data(_settings(inventory), cluster, file_name)


def cluster_meta_get(
    name: str, file_name: str = "overrides.yml", cluster: str = "", inventory: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """
    A soft parameter of a cluster as ``{name: value}``; ``{}`` where there is none.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cluster_meta_get database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_get(_settings(inventory), name, file_name, cluster)


def cluster_meta_set(
    name: str,
    value: Any,
    file_name: str = "overrides.yml",
    cluster: str = "",
    interpolate: bool = False,
    test: bool | None = None,
    inventory: Any = None,
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster; like :py:func:`set_cluster_param`, with the arguments and
    answers of salt-formula-reclass. It takes ``interpolate`` and ``test`` too.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cluster_meta_set database_address 10.0.0.5 cluster=prague
    """
    with commands():
        return _commands.cluster_meta_set(
            _settings(inventory), name, value, file_name, cluster, interpolate, _test(test)
        )


def cluster_meta_delete(
    name: str,
    file_name: str = "overrides.yml",
    cluster: str = "",
    test: bool | None = None,
    inventory: Any = None,
) -> str | dict[str, Any]:
    """
    Delete a soft parameter of a cluster; like :py:func:`delete_cluster_param`, with the arguments and
    answers of salt-formula-reclass: ``{}`` where there is none. It takes ``test`` too.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cluster_meta_delete database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_delete(_settings(inventory), name, file_name, cluster, _test(test))


def soft_meta_list(inventory: Any = None) -> dict[str, Any]:
    """
    All soft parameters: which files set them (``created_at``), and which need them (``required_at``).

    CLI Example:

    .. code-block:: bash

        salt-run reclass.soft_meta_list
    """
    with commands():
        return _metadata.soft_params(_settings(inventory))


def soft_meta_get(name: str, inventory: Any = None) -> dict[str, Any]:
    """
    One of :py:func:`soft_meta_list`.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.soft_meta_get database_address
    """
    with commands():
        return _metadata.soft_param(_settings(inventory), name)


def class_list(inventory: Any = None) -> dict[str, Any]:
    """
    All files of the inventory, nodes too, each with its path, what it includes (``includes``), and
    the soft parameters that it sets (``params_created``) and needs (``params_required``).

    CLI Example:

    .. code-block:: bash

        salt-run reclass.class_list
    """
    with commands():
        return _metadata.classes(_settings(inventory))


def class_get(name: str, inventory: Any = None) -> dict[str, Any]:
    """
    One of :py:func:`class_list`.

    name
        The name as there, without the point before it.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.class_get classes.role.web
    """
    with commands():
        return _metadata.class_(_settings(inventory), name)


def node_create(
    name: str,
    path: str | None = None,
    cluster: str | None = None,
    environment: str | None = None,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool | None = None,
    reclass_environment: str | None = None,
    inventory: Any = None,
) -> dict[str, Any]:
    """
    Make the file of a node. A node that has one is left as it is.

    name
        The name of the node.

    path
        The folder below ``nodes``, made where it is missing.

    cluster, environment
        The values of ``linux:system:cluster`` and ``linux:system:environment``. With one of them, the file
        also has ``name`` and ``domain`` there; without, it has no ``linux:system``.

    reclass_environment
        The environment of the node, by which reclass and Salt choose states and classes.

    classes
        A list of classes, or JSON.

    parameters
        A mapping of soft parameters, or JSON.

    Takes ``interpolate`` and ``test`` too. Returns what :py:func:`node_get` does.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_create web3.example.com path=_generated classes='[site.lan, role.web]'
    """
    with commands():
        return _commands.node_create(
            _settings(inventory),
            name,
            path=path,
            cluster=cluster,
            environment=environment,
            classes=classes,
            parameters=parameters,
            reclass_environment=reclass_environment,
            interpolate=interpolate,
            test=_test(test),
        )


def node_get(name: str, path: str | None = None, inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    A node file: the parts of its name, its folder (``path``), its classes and soft parameters.

    path
        Only if the file is in this folder below ``nodes``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_get web1.example.com
    """
    with commands():
        return _commands.node_get(_settings(inventory), name, path)


def node_list(inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    All node files, each as :py:func:`node_get` has it.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_list
    """
    with commands():
        return _metadata.nodes(_settings(inventory))


def node_update(
    name: str,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool | None = None,
    reclass_environment: str | None = None,
    inventory: Any = None,
) -> dict[str, Any]:
    """
    Add classes to a node file, set its soft parameters and ``reclass_environment``. All else stays.

    Takes ``interpolate`` and ``test`` too. Returns what :py:func:`node_get` does.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_update web1.example.com classes='[role.web]' parameters='{address: 10.0.0.9}'
    """
    with commands():
        return _commands.node_update(
            _settings(inventory),
            name,
            classes=classes,
            parameters=parameters,
            reclass_environment=reclass_environment,
            interpolate=interpolate,
            test=_test(test),
        )


def node_delete(name: str, path: str | None = None, test: bool | None = None, inventory: Any = None) -> str:
    """
    Delete the file of a node.

    path
        Only if the file is in this folder below ``nodes``.

    Takes ``test`` too.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_delete web3.example.com
    """
    with commands():
        return _commands.node_delete(_settings(inventory), name, path, _test(test))


def node_classify(
    node_name: str,
    node_data: Any = None,
    class_mapping: Any = None,
    test: bool | None = None,
    inventory: Any = None,
) -> dict[str, Any]:
    """
    Make or update a node by what is known of its machine, and the parameters of its cluster.

    node_data
        What is known, a mapping. ``node_name`` is in it, whatever was given for it. It is taken for true:
        data of an event are those of any minion that likes to send it.

    class_mapping
        The rules. Each has an ``expression`` (``all``, ``<<name>>__equals__text`` or
        ``<<name>>__startswith__text``, or a list of which all must hold), and what follows from it:
        ``node_class``, ``node_param``, ``cluster_param``, with a ``value`` or a ``value_template``.

    Returns ``node_create``, the node as :py:func:`node_get` has it, and ``cluster_param``, the values
    by name. Takes ``test`` too, and then returns what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_classify web3.example.com '{address: 10.0.0.13}' \\
          '{web: {expression: all, node_class: {value: [role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    with commands():
        return _commands.node_classify(_settings(inventory), node_name, node_data, class_mapping, _test(test))


def classify_minion(
    minion: str, class_mapping: Any, grain: str = "reclass", test: bool | None = None, inventory: Any = None
) -> dict[str, Any]:
    """
    Make or update the node of a minion by rules, and by what the minion says of its machine in a grain.
    For reactors: an event does not prove who sent it, but the master has checked whose grains it keeps.
    They are those of the minion's last request for its pillar, which each ``salt-call`` makes anew.

    minion
        The id of the minion.

    class_mapping
        The rules, as for :py:func:`node_classify`.

    grain
        The grain with the data, a mapping.

    Takes ``test`` too. Returns what :py:func:`node_classify` does.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.classify_minion web3.example.com \\
          '{web: {expression: all, node_class: {value: [role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    with commands():
        cached = __salt__["cache.grains"]
        return _minions.classify(_settings(inventory), cached, minion, class_mapping, grain, _test(test))


def declassify_minion(
    minion: str,
    path: str = "_generated",
    grain: str = "reclass",
    test: bool | None = None,
    inventory: Any = None,
) -> str:
    """
    Delete the file of a node whose minion asks for it: its grain is ``False``. For reactors, as
    :py:func:`classify_minion`.

    minion
        The id of the minion.

    path
        Only if the file is in this folder below ``nodes``.

    grain
        The grain that has to be ``False``.

    Takes ``test`` too.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.declassify_minion web3.example.com
    """
    with commands():
        cached = __salt__["cache.grains"]
        return _minions.declassify(_settings(inventory), cached, minion, path, grain, _test(test))


def node_pillar(node_name: str, inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    The pillar of a node as ``{node: pillar}``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_pillar web1.example.com
    """
    with commands():
        return _commands.node_pillar(_settings(inventory), node_name, _earlier(node_name, inventory))


def explain(node_name: str, *paths: str, inventory: Any = None) -> dict[str, Any]:
    """
    Where the values of a node come from: the file and line that set each, how the file came in, what it
    replaced, and what references in it found. Secrets are masked.

    What stands in the way, such as a file that cannot be read, is told in full, with places and the
    classes that lead there; the exit code is 1.

    paths
        Paths as in references; keys may be globs, ``**`` is any number of keys. Without, everything.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.explain web1.example.com nginx:listen
    """
    with commands():
        try:
            return _commands.explain(_settings(inventory), node_name, paths)
        except ReclassError as error:
            # The one exception of a runner that Salt shows without a traceback.
            raise salt.exceptions.NotImplemented(error.full_text()) from None


def lint(*nodes: str, inventory: Any = None) -> list[dict[str, Any]]:
    """
    What is wrong with the inventory, or probably not meant; with nodes, of those alone. The
    exit code is 0; that of the program ``reclass lint`` tells.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.lint
        salt-run reclass.lint web1.example.com
    """
    with commands():
        return _commands.lint(_settings(inventory), nodes)


def diff(old: str, new: str = ".", *nodes: str, inventory: Any = None) -> dict[str, Any]:
    """
    What nodes get in one state of the inventory and not in another, rendered. Secrets are masked.

    old, new
        Revisions of the git repository that the inventory is in; ``.`` for the files as they are.

    nodes
        Globs; without, all nodes.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.diff HEAD
        salt-run reclass.diff HEAD~1 HEAD 'db*'
    """
    with commands():
        return _commands.diff(_settings(inventory), old, new, nodes)


def cache_info(inventory: Any = None) -> dict[str, Any]:
    """
    What this process remembers of the inventory, and how often it read, parsed and computed. A
    command is a process of its own, so it tells of that command, and not of the workers of the master.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cache_info
    """
    with commands():
        return _commands.cache_info(_settings(inventory))


def inventory(inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    All nodes with their services and roles: the outer two levels of their parameters.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.inventory
    """
    with commands():
        return _metadata.inventory(_settings(inventory))


def graph_data(*args: Any, inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    The services of all nodes and their relations: the roles of the inventory, and what minions
    say in the grain ``salt:graph``. Asks all minions.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.graph_data
    """
    with commands():
        wanted = list(_commands.GRAPH_GRAINS)
        grains = __salt__["salt.execute"]("*", "grains.item", arg=wanted) or {}
        return _commands.graph_data(_settings(inventory), grains)


def validate_yaml(inventory: Any = None) -> None:
    """
    Fails with the files that are not YAML or not a mapping, if there are any.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.validate_yaml
    """
    with commands():
        _fail(_metadata.yaml_errors(_settings(inventory)))


def validate_pillar(node_name: str | None = None, inventory: Any = None, **kwargs: Any) -> dict[str, str]:
    """
    Fails with the nodes that have no pillar, and why. Otherwise returns the nodes, each with empty text.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.validate_pillar
        salt-run reclass.validate_pillar web1.example.com
    """
    with commands():

        def earlier(minion: str) -> dict[str, Any] | None:
            return _earlier(minion, inventory)

        errors = _metadata.pillar_errors(_settings(inventory), node_name, earlier)
        _fail([f"{name}: {error}" for name, error in errors.items() if error])
        return errors


def _fail(errors: list[str]) -> None:
    """An exception makes ``salt-run`` end with 1. A mapping of errors would not."""
    if errors:
        raise CommandExecutionError("\n".join(errors))
