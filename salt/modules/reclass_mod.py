"""
Soft metadata and nodes of reclass
==================================

Read and edit the inventory that this minion uses, or the master on the same machine.

An edit changes one entry and keeps every other byte of the file. A lock protects the edit, and the
file is replaced as a whole or not at all. Names are checked, and no path leads out of the inventory.
Every failure is an error with exit code 1.

Soft metadata are the parameters below ``_param`` in a class file of a cluster, by default
``classes/cluster/<cluster>/overrides.yml``. The settings ``cluster_folder`` and ``cluster_file`` choose
another file.

The inventory is on the master's machine. There, ``salt-run reclass.…`` runs as the user of the master and
``salt-call reclass.…`` as the user of the minion. ``salt '*' reclass.…`` would repeat the edit on each
minion that has an inventory.

The settings come from the first of these that exists: the option ``reclass`` of the minion, its
``ext_pillar`` or ``master_tops``, the same options of a master whose configuration is in the same folder,
``/etc/reclass/reclass-config.yml``.

.. code-block:: yaml

    reclass:
      inventory_base_uri: /srv/salt/reclass
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _commands, _configuration, _edits, _metadata
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
    return (False, MISSING) if MISSING else __virtualname__


def _settings() -> dict[str, Any]:
    settings = _configuration.of_minion(__opts__)
    return _configuration.with_grains(settings, lambda: {__opts__["id"]: globals().get("__grains__") or {}})


def _test(test: bool | None) -> bool:
    return bool(__opts__.get("test") if test is None else test)


def set_cluster_param(
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    test: bool | None = None,
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

        salt-call reclass.set_cluster_param database_address 10.0.0.5 cluster=prague
        salt-call reclass.set_cluster_param resolvers '[10.0.0.2, 10.0.0.3]' cluster=prague test=True
        salt-call reclass.set_cluster_param database_address 10.0.0.5 cluster=prague store=etcd
    """
    with commands():
        return _edits.set_param(_settings(), name, value, cluster, file_name, interpolate, _test(test), store)


def get_cluster_param(
    name: str, cluster: str = "", file_name: str = "", store: str = "file", **kwargs: Any
) -> Any:
    """
    Return the value of a soft parameter from the metadata file of a cluster, with references unresolved.

    store
        ``file`` or ``etcd``.

    default
        The result if the parameter does not exist. Without a default, that is an error.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.get_cluster_param database_address cluster=prague
        salt-call reclass.get_cluster_param database_address cluster=prague default=none
    """
    with commands():
        return _edits.get_param(_settings(), name, cluster, file_name, store, **kwargs)


def list_cluster_params(cluster: str = "", file_name: str = "", store: str = "file") -> dict[str, Any]:
    """
    Return all soft parameters from the metadata file of a cluster, with references unresolved. ``store`` is
    ``file`` or ``etcd``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.list_cluster_params cluster=prague
    """
    with commands():
        return _edits.params(_settings(), cluster, file_name, store)


def delete_cluster_param(
    name: str,
    cluster: str = "",
    file_name: str = "",
    test: bool | None = None,
    store: str = "file",
) -> dict[str, Any]:
    """
    Delete a soft parameter of a cluster. ``store`` is ``file`` or ``etcd``.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the value ``old``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.delete_cluster_param database_address cluster=prague
        salt-call reclass.delete_cluster_param database_address cluster=prague test=True
    """
    with commands():
        return _edits.delete_param(_settings(), name, cluster, file_name, _test(test), store)


def cluster_meta_list(file_name: str = "overrides.yml", cluster: str = "", **kwargs: Any) -> dict[str, Any]:
    """
    Return the content of the metadata file of a cluster, or ``{}`` if there is no file.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cluster_meta_list cluster=prague
    """
    with commands():
        return _edits.cluster_data(_settings(), cluster, file_name)


def cluster_meta_get(
    name: str, file_name: str = "overrides.yml", cluster: str = "", **kwargs: Any
) -> dict[str, Any]:
    """
    Return a soft parameter of a cluster as ``{name: value}``, or ``{}`` if it does not exist.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cluster_meta_get database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_get(_settings(), name, file_name, cluster)


def cluster_meta_set(
    name: str,
    value: Any,
    file_name: str = "overrides.yml",
    cluster: str = "",
    interpolate: bool = False,
    test: bool | None = None,
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster, with the arguments and results of salt-formula-reclass. See
    :py:func:`set_cluster_param`, also for ``interpolate`` and ``test``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cluster_meta_set database_address 10.0.0.5 cluster=prague
    """
    with commands():
        return _commands.cluster_meta_set(
            _settings(), name, value, file_name, cluster, interpolate, _test(test)
        )


def cluster_meta_delete(
    name: str, file_name: str = "overrides.yml", cluster: str = "", test: bool | None = None
) -> str | dict[str, Any]:
    """
    Delete a soft parameter of a cluster, with the arguments and results of salt-formula-reclass: ``{}`` if
    it does not exist. See :py:func:`delete_cluster_param`, also for ``test``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cluster_meta_delete database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_delete(_settings(), name, file_name, cluster, _test(test))


def soft_meta_list() -> dict[str, Any]:
    """
    Return all soft parameters, with the files that set them (``created_at``) and the files that refer to
    them (``required_at``).

    CLI Example:

    .. code-block:: bash

        salt-call reclass.soft_meta_list
    """
    with commands():
        return _metadata.soft_params(_settings())


def soft_meta_get(name: str) -> dict[str, Any]:
    """
    Return one entry of :py:func:`soft_meta_list`.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.soft_meta_get database_address
    """
    with commands():
        return _metadata.soft_param(_settings(), name)


def class_list() -> dict[str, Any]:
    """
    Return all class and node files, each with its path, its classes (``includes``), the soft parameters
    that it sets (``params_created``) and those that it refers to (``params_required``).

    CLI Example:

    .. code-block:: bash

        salt-call reclass.class_list
    """
    with commands():
        return _metadata.classes(_settings())


def class_get(name: str) -> dict[str, Any]:
    """
    Return one entry of :py:func:`class_list`.

    name
        The name of the entry, without the leading dot.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.class_get classes.role.web
    """
    with commands():
        return _metadata.class_(_settings(), name)


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

        salt-call reclass.node_create web3.example.com path=_generated classes='[site.lan, role.web]'
    """
    with commands():
        return _commands.node_create(
            _settings(),
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


def node_get(name: str, path: str | None = None, **kwargs: Any) -> dict[str, Any]:
    """
    Return a node file: the parts of its name, its folder (``path``), its classes and its soft parameters.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_get web1.example.com
    """
    with commands():
        return _commands.node_get(_settings(), name, path)


def node_list(**kwargs: Any) -> dict[str, Any]:
    """
    Return all node files, each in the form of :py:func:`node_get`.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_list
    """
    with commands():
        return _metadata.nodes(_settings())


def node_update(
    name: str,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool | None = None,
    reclass_environment: str | None = None,
) -> dict[str, Any]:
    """
    Add classes to a node file, and set its soft parameters and its ``reclass_environment``. The rest of the
    file is kept.

    Also takes ``interpolate`` and ``test``. The result is that of :py:func:`node_get`.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_update web1.example.com classes='[role.web]' parameters='{address: 10.0.0.9}'
    """
    with commands():
        return _commands.node_update(
            _settings(),
            name,
            classes=classes,
            parameters=parameters,
            reclass_environment=reclass_environment,
            interpolate=interpolate,
            test=_test(test),
        )


def node_delete(name: str, path: str | None = None, test: bool | None = None) -> str:
    """
    Delete the file of a node.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    Also takes ``test``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_delete web3.example.com
    """
    with commands():
        return _commands.node_delete(_settings(), name, path, _test(test))


def node_classify(
    node_name: str, node_data: Any = None, class_mapping: Any = None, test: bool | None = None
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

        salt-call reclass.node_classify web3.example.com '{address: 10.0.0.13}' \\
          '{web: {expression: all, node_class: {value: [role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    with commands():
        return _commands.node_classify(_settings(), node_name, node_data, class_mapping, _test(test))


def node_pillar(node_name: str, **kwargs: Any) -> dict[str, Any]:
    """
    Return the pillar of a node as ``{node: pillar}``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_pillar web1.example.com
    """
    with commands():
        return _commands.node_pillar(_settings(), node_name)


def top(node_name: str) -> dict[str, list[str]]:
    """
    Return the top of a node: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.top web1.example.com
    """
    with commands():
        return _commands.top(_settings(), node_name)


def explain(node_name: str, *paths: str) -> dict[str, Any]:
    """
    Explain the values of a node: the file and line that set a value, the include chain of the file, the
    values that it replaced, and the values that its references found. Secrets are masked.

    paths
        Paths as in references. Keys may be globs; ``**`` matches any number of keys. Default: all values.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.explain web1.example.com nginx:listen
    """
    with commands():
        return _commands.explain(_settings(), node_name, paths)


def lint(*nodes: str) -> list[dict[str, Any]]:
    """
    Report errors and probable mistakes of the inventory, or of some nodes only. The exit code is 1 if there
    is an error or a warning.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.lint
        salt-call reclass.lint web1.example.com
    """
    with commands():
        findings = _commands.lint(_settings(), nodes)
        if any(finding["level"] in ("error", "warning") for finding in findings):
            __context__["retcode"] = 1
        return findings


def diff(old: str, new: str = ".", *nodes: str) -> dict[str, Any]:
    """
    Compare the rendered values of nodes in two states of the inventory. Secrets are masked.

    old, new
        Revisions of the git repository that contains the inventory. ``.`` is the current state of the files.

    nodes
        Globs. Default: all nodes.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.diff HEAD
        salt-call reclass.diff HEAD~1 HEAD 'db*'
    """
    with commands():
        return _commands.diff(_settings(), old, new, nodes)


def cache_info() -> dict[str, Any]:
    """
    Return the content of this process's cache, and the counts of reads, parses and computations. Each job
    has its own process, so the figures do not describe the workers of a master.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cache_info
    """
    with commands():
        return _commands.cache_info(_settings())


def inventory(**kwargs: Any) -> dict[str, Any]:
    """
    Return all nodes with their services and roles, which are the first two levels of their parameters.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.inventory
    """
    with commands():
        return _metadata.inventory(_settings())


def graph_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """
    Return the services of all nodes and their relations, from the roles of the inventory and from the grain
    ``salt:graph`` of all minions. It asks all minions, so it works only on the minion of the master's
    machine. ``salt-run reclass.graph_data`` runs on the master itself.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.graph_data
    """
    with commands():
        wanted = list(_commands.GRAPH_GRAINS)
        try:
            answers = __salt__["saltutil.cmd"](tgt="*", fun="grains.item", arg=wanted, timeout=10) or {}
        except Exception as error:  # noqa: BLE001 - whatever Salt meets where there is no master
            raise _commands.not_the_master(error) from None
        grains = {name: answer.get("ret") for name, answer in answers.items()}
        return _commands.graph_data(_settings(), grains)


def validate_yaml() -> dict[str, list[str]] | None:
    """
    Return the files that are not YAML or not a mapping as ``{"Errors": […]}``, or nothing if there are
    none. With errors, the exit code is 1.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.validate_yaml
    """
    with commands():
        return _commands.validate_yaml(_settings(), __context__)


def validate_pillar(node_name: str | None = None, **kwargs: Any) -> dict[str, str]:
    """
    Return, for one node or for all, the error that prevents its pillar, or an empty string. With errors,
    the exit code is 1.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.validate_pillar
        salt-call reclass.validate_pillar web1.example.com
    """
    with commands():
        return _commands.validate_pillar(_settings(), node_name, __context__)
