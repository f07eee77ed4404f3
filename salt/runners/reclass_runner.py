"""
Soft metadata and nodes of reclass, on the master
=================================================

Show the pillars and tops that the master's inventory gives to minions, and edit the inventory. The
functions are those of the execution module ``reclass``. The configuration is the master's own
``ext_pillar``, or ``master_tops``.

If ``ext_pillar`` has several entries ``reclass``, each function uses the first one. The argument
``inventory`` selects another one, by its number (from 1) or by its ``inventory_base_uri``. The key
``__reclass__`` of a pillar comes from the last entry.

If the inventory reads grains, these functions use the grains that the master has cached. Those of a minion
that has not asked for its pillar yet are not known.

``check`` and ``versions`` report on the setup of the master.

An edit changes one entry and keeps every other byte of the file. Every failure is an error with exit
code 1.
"""

from __future__ import annotations

from typing import Any

import salt.exceptions
from salt.exceptions import CommandExecutionError

try:
    from saltext.reclass import (
        ReclassError,
        _check,
        _commands,
        _configuration,
        _edits,
        _metadata,
        _minions,
        _versions,
    )
    from saltext.reclass._salt import commands

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]
__salt__: dict[str, Any]
__context__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    if MISSING:
        return (False, MISSING)
    # Salt loads all runners when a master starts, but pillars and tops only when the first minion asks. So
    # the master's options are checked here; options that cannot work are errors in the log.
    _check.at_start(__opts__)
    return __virtualname__


def _settings(inventory: Any = None) -> dict[str, Any]:
    return _configuration.with_grains(_configuration.of_master(__opts__, inventory), _cached_grains)


def _cached_grains() -> dict[str, Any]:
    return {minion: grains for minion, grains in __salt__["cache.grains"](tgt="*").items() if grains}


def _earlier(minion: Any, inventory: Any) -> dict[str, Any] | None:
    return _configuration.earlier_pillar(__opts__, _edits.text(minion), inventory)


def _test(test: bool | None) -> bool:
    return bool(__opts__.get("test") if test is None else test)


def check() -> dict[str, Any]:
    """
    Check the installation: settings, folders, permissions of the master's user, locks, git caches, versions.

    Returns ``user``, ``inventories``, ``versions``, and the lists ``problems`` and ``remarks``. With
    problems, ``retcode`` and the exit code are 1.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.check
    """
    with commands():
        report = _check.check(__opts__)
        # Makes the job fail; the exit code of `salt-run` is that of the report.
        __context__["retcode"] = report["retcode"]
        return report


def versions() -> dict[str, Any]:
    """
    Return the versions of the package, the engine and Salt, the start time of the master, and the program
    ``reclass`` on the path.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.versions
    """
    with commands():
        return _versions.versions(__opts__)


def show_pillar(minion: str, inventory: Any = None) -> dict[str, Any]:
    """
    Return the pillar that the inventory gives to a minion.

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
    Return the top that the inventory gives to a minion: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.show_top web1.example.com
    """
    with commands():
        if inventory is not None:
            return _commands.top(_settings(inventory), minion)
        settings = _configuration.with_grains(_configuration.of_tops(__opts__), _cached_grains)
        return _commands.top(settings, minion)


def top(node_name: str, inventory: Any = None) -> dict[str, list[str]]:
    """
    The same as :py:func:`show_top`, by its name in the execution module.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.top web1.example.com
    """
    return show_top(node_name, inventory)


def nodes(inventory: Any = None) -> list[str]:
    """
    Return the names of all nodes.

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
    store: str = "file",
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster. A missing file is created; its folder must exist.

    name
        The name of the parameter.

    value
        The value, of any type.

    cluster
        The folder of the cluster below ``classes/cluster``. Default: ``classes/cluster`` itself.

    file_name
        The file. Default: ``overrides.yml``.

    interpolate
        Allow references (``${…}``) and queries (``$[…]``) in the value.

    test
        Report the edit without making it.

    store
        ``file``, or ``etcd`` for the key of the class that the file is. The setting ``etcd_endpoints`` names
        the servers.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the values ``old`` and ``new``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.set_cluster_param database_address 10.0.0.5 cluster=prague
        salt-run reclass.set_cluster_param resolvers '[10.0.0.2, 10.0.0.3]' cluster=prague test=True
    """
    with commands():
        return _edits.set_param(
            _settings(inventory), name, value, cluster, file_name, interpolate, _test(test), store
        )


def get_cluster_param(
    name: str,
    cluster: str = "",
    file_name: str = "",
    inventory: Any = None,
    store: str = "file",
    **kwargs: Any,
) -> Any:
    """
    Return the value of a soft parameter from the metadata file of a cluster, with references unresolved.

    store
        ``file`` or ``etcd``.

    default
        The result if the parameter does not exist. Without a default, that is an error.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.get_cluster_param database_address cluster=prague
        salt-run reclass.get_cluster_param database_address cluster=prague default=none
    """
    with commands():
        return _edits.get_param(_settings(inventory), name, cluster, file_name, store, **kwargs)


def list_cluster_params(
    cluster: str = "", file_name: str = "", inventory: Any = None, store: str = "file"
) -> dict[str, Any]:
    """
    Return all soft parameters from the metadata file of a cluster, with references unresolved. ``store`` is
    ``file`` or ``etcd``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.list_cluster_params cluster=prague
    """
    with commands():
        return _edits.params(_settings(inventory), cluster, file_name, store)


def delete_cluster_param(
    name: str,
    cluster: str = "",
    file_name: str = "",
    test: bool | None = None,
    inventory: Any = None,
    store: str = "file",
) -> dict[str, Any]:
    """
    Delete a soft parameter of a cluster. ``store`` is ``file`` or ``etcd``.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the value ``old``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.delete_cluster_param database_address cluster=prague
        salt-run reclass.delete_cluster_param database_address cluster=prague test=True
    """
    with commands():
        return _edits.delete_param(_settings(inventory), name, cluster, file_name, _test(test), store)


def cluster_meta_list(
    file_name: str = "overrides.yml", cluster: str = "", inventory: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """
    Return the content of the metadata file of a cluster, or ``{}`` if there is no file.

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
    Return a soft parameter of a cluster as ``{name: value}``, or ``{}`` if it does not exist.

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
    Set a soft parameter of a cluster, with the arguments and results of salt-formula-reclass. See
    :py:func:`set_cluster_param`, also for ``interpolate`` and ``test``.

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
    Delete a soft parameter of a cluster, with the arguments and results of salt-formula-reclass: ``{}`` if
    it does not exist. See :py:func:`delete_cluster_param`, also for ``test``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cluster_meta_delete database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_delete(_settings(inventory), name, file_name, cluster, _test(test))


def soft_meta_list(inventory: Any = None) -> dict[str, Any]:
    """
    Return all soft parameters, with the files that set them (``created_at``) and the files that refer to
    them (``required_at``).

    CLI Example:

    .. code-block:: bash

        salt-run reclass.soft_meta_list
    """
    with commands():
        return _metadata.soft_params(_settings(inventory))


def soft_meta_get(name: str, inventory: Any = None) -> dict[str, Any]:
    """
    Return one entry of :py:func:`soft_meta_list`.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.soft_meta_get database_address
    """
    with commands():
        return _metadata.soft_param(_settings(inventory), name)


def class_list(inventory: Any = None) -> dict[str, Any]:
    """
    Return all class and node files, each with its path, its classes (``includes``), the soft parameters
    that it sets (``params_created``) and those that it refers to (``params_required``).

    CLI Example:

    .. code-block:: bash

        salt-run reclass.class_list
    """
    with commands():
        return _metadata.classes(_settings(inventory))


def class_get(name: str, inventory: Any = None) -> dict[str, Any]:
    """
    Return one entry of :py:func:`class_list`.

    name
        The name of the entry, without the leading dot.

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
    Create the file of a node. An existing file is kept as it is.

    name
        The name of the node.

    path
        The folder below ``nodes``. It is created if it is missing.

    cluster, environment
        The values of ``linux:system:cluster`` and ``linux:system:environment``. If one of them is given, the
        file gets ``linux:system:name`` and ``linux:system:domain`` too; otherwise it has no ``linux:system``.

    reclass_environment
        The environment of the node: reclass and Salt use it to choose classes and states.

    classes
        A list of classes, or JSON.

    parameters
        A mapping of soft parameters, or JSON.

    Also takes ``interpolate`` and ``test``. The result is that of :py:func:`node_get`.

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
    Return a node file: the parts of its name, its folder (``path``), its classes and its soft parameters.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_get web1.example.com
    """
    with commands():
        return _commands.node_get(_settings(inventory), name, path)


def node_list(inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    Return all node files, each in the form of :py:func:`node_get`.

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
    Add classes to a node file, and set its soft parameters and its ``reclass_environment``. The rest of the
    file is kept.

    Also takes ``interpolate`` and ``test``. The result is that of :py:func:`node_get`.

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
        The folder below ``nodes`` in which the file must be. Default: any folder.

    Also takes ``test``.

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
    Create or update a node, and the parameters of its cluster, from data about a machine.

    node_data
        A mapping with the data. ``node_name`` is always set to the name of the node. The data are trusted:
        any minion can send an event, so do not pass its data on unchecked.

    class_mapping
        The rules. Each rule has an ``expression``: ``all``, ``<<name>>__equals__text``,
        ``<<name>>__startswith__text``, or a list of expressions that must all be true. If it is true, the
        ``value`` or ``value_template`` of ``node_class``, ``node_param`` and ``cluster_param`` is applied.

    Returns ``node_create``, the node in the form of :py:func:`node_get`, and ``cluster_param``, the values
    by name. With ``test``, it returns the planned changes and makes none.

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
    Create or update the node of a minion from rules and from data in one of its grains. For reactors: an
    event does not prove its sender, but the master has verified whose grains it stores. The grains are
    those of the minion's last pillar request. Each ``salt-call`` makes such a request.

    minion
        The id of the minion.

    class_mapping
        The rules, as for :py:func:`node_classify`.

    grain
        The grain that holds the data, a mapping.

    Also takes ``test``. The result is that of :py:func:`node_classify`.

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
    Delete the file of a node if a grain of its minion is ``False``. For reactors, like
    :py:func:`classify_minion`.

    minion
        The id of the minion.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    grain
        The grain that must be ``False``.

    Also takes ``test``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.declassify_minion web3.example.com
    """
    with commands():
        cached = __salt__["cache.grains"]
        return _minions.declassify(_settings(inventory), cached, minion, path, grain, _test(test))


def node_pillar(node_name: str, inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    Return the pillar of a node as ``{node: pillar}``.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.node_pillar web1.example.com
    """
    with commands():
        return _commands.node_pillar(_settings(inventory), node_name, _earlier(node_name, inventory))


def explain(node_name: str, *paths: str, inventory: Any = None) -> dict[str, Any]:
    """
    Explain the values of a node: the file and line that set a value, the include chain of the file, the
    values that it replaced, and the values that its references found. Secrets are masked.

    ``salt-run`` prints a text; ``--out json`` and other callers get the data.

    An error, such as a file that cannot be read, is reported in full, with places and include chains. The
    exit code is then 1.

    paths
        Paths as in references. Keys may be globs; ``**`` matches any number of keys. Default: all values.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.explain web1.example.com nginx:listen
    """
    with commands():
        try:
            if _commands.is_read_by_people(__opts__):
                return _commands.as_text(_commands.explain_text(_settings(inventory), node_name, paths))
            return _commands.explain(_settings(inventory), node_name, paths)
        except ReclassError as error:
            # The one exception of a runner that Salt shows without a traceback.
            raise salt.exceptions.NotImplemented(error.full_text()) from None


def lint(*nodes: str, inventory: Any = None) -> list[dict[str, Any]] | dict[str, str]:
    """
    Report errors and probable mistakes of the inventory, or of some nodes only. The exit code is always 0;
    use the program ``reclass lint`` if you need an exit code. ``salt-run`` prints a text; ``--out json`` and
    other callers get the data.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.lint
        salt-run reclass.lint web1.example.com
    """
    with commands():
        if _commands.is_read_by_people(__opts__):
            return _commands.as_text(_commands.lint_text(_settings(inventory), nodes))
        return _commands.lint(_settings(inventory), nodes)


def diff(old: str, new: str = ".", *nodes: str, inventory: Any = None) -> dict[str, Any]:
    """
    Compare the rendered values of nodes in two states of the inventory. Secrets are masked. ``salt-run``
    prints a text; ``--out json`` and other callers get the data.

    old, new
        Revisions of the git repository that contains the inventory. ``.`` is the current state of the files.

    nodes
        Globs. Default: all nodes.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.diff HEAD
        salt-run reclass.diff HEAD~1 HEAD 'db*'
    """
    with commands():
        if _commands.is_read_by_people(__opts__):
            return _commands.as_text(_commands.diff_text(_settings(inventory), old, new, nodes))
        return _commands.diff(_settings(inventory), old, new, nodes)


def compare(*nodes: str, only: Any = None, exclude: Any = None, inventory: Any = None) -> dict[str, Any]:
    """
    Compare the pillars that the master has cached with those of the inventory, and name the ruling behind
    each difference. So a master whose minions still get their pillars from another adapter of reclass shows
    what this one would change. Secrets are masked. ``salt-run`` prints a text; ``--out json`` and other
    callers get the data.

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
    with commands():
        pillars = {minion: pillar for minion, pillar in __salt__["cache.pillar"](tgt="*").items() if pillar}
        if _commands.is_read_by_people(__opts__):
            answer = _commands.compare_text(_settings(inventory), pillars, nodes, only, exclude)
            return _commands.as_text(answer)
        return _commands.compare(_settings(inventory), pillars, nodes, only, exclude)


def cache_info(inventory: Any = None) -> dict[str, Any]:
    """
    Return the content of this process's cache, and the counts of reads, parses and computations. Each
    command has its own process, so the figures do not describe the workers of the master.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.cache_info
    """
    with commands():
        return _commands.cache_info(_settings(inventory))


def inventory(inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    Return all nodes with their services and roles, which are the first two levels of their parameters.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.inventory
    """
    with commands():
        return _metadata.inventory(_settings(inventory))


def graph_data(*args: Any, inventory: Any = None, **kwargs: Any) -> dict[str, Any]:
    """
    Return the services of all nodes and their relations, from the roles of the inventory and from the grain
    ``salt:graph``. It asks all minions.

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
    Fail if a file is not YAML or not a mapping, and name all such files.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.validate_yaml
    """
    with commands():
        _fail(_metadata.yaml_errors(_settings(inventory)))


def validate_pillar(node_name: str | None = None, inventory: Any = None, **kwargs: Any) -> dict[str, str]:
    """
    Fail if a node has no pillar, with the errors of all such nodes. Otherwise return the nodes, each with an
    empty string.

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
