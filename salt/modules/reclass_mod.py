"""
Soft metadata and nodes of reclass
==================================

Reads and edits the inventory that this minion, or the master beside it, is configured for. The work
is done by the engine in ``saltext.reclass``.

An edit changes the entry that is asked for and leaves every other byte of the file as it is. It
is made under a lock, and the file is replaced at once or not at all. Names are checked and no path
leads out of the inventory. What goes wrong is an error, and the exit code is 1.

Soft metadata are the parameters below ``_param`` in a class file of a cluster, by default
``classes/cluster/<cluster>/overrides.yml``. The settings ``cluster_folder`` and ``cluster_file`` name
another place.

An inventory lies with its master: there ``salt-run reclass.…`` does the same as the user of the master, and
``salt-call reclass.…`` as that of the minion. ``salt '*' reclass.…`` would edit it from each minion that
has one.

The settings come from the first that there is: the option ``reclass`` of the minion, its
``ext_pillar`` or ``master_tops``, those of the master whose configuration is in the same folder,
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

# Put here by Salt's loader.
__opts__: dict[str, Any]
__salt__: dict[str, Any]
__context__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    return (False, MISSING) if MISSING else __virtualname__


def _settings() -> dict[str, Any]:
    return _configuration.of_minion(__opts__)


def _test(test: bool | None) -> bool:
    return bool(__opts__.get("test") if test is None else test)


def set_cluster_param(
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    test: bool | None = None,
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

        salt-call reclass.set_cluster_param database_address 10.0.0.5 cluster=prague
        salt-call reclass.set_cluster_param resolvers '[10.0.0.2, 10.0.0.3]' cluster=prague test=True
    """
    with commands():
        return _edits.set_param(_settings(), name, value, cluster, file_name, interpolate, _test(test))


def get_cluster_param(name: str, cluster: str = "", file_name: str = "", **kwargs: Any) -> Any:
    """
    The value of a soft parameter in the metadata file of a cluster, as it is written there.

    default
        What to return where there is none; without a default that is an error.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.get_cluster_param database_address cluster=prague
        salt-call reclass.get_cluster_param database_address cluster=prague default=none
    """
    with commands():
        return _edits.get_param(_settings(), name, cluster, file_name, **kwargs)


def list_cluster_params(cluster: str = "", file_name: str = "") -> dict[str, Any]:
    """
    All soft parameters in the metadata file of a cluster, as they are written there.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.list_cluster_params cluster=prague
    """
    with commands():
        return _edits.params(_settings(), cluster, file_name)


def delete_cluster_param(
    name: str, cluster: str = "", file_name: str = "", test: bool | None = None
) -> dict[str, Any]:
    """
    Delete a soft parameter of a cluster.

    Returns ``changed``, ``comment``, ``file``, ``diff``, and the value ``old``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.delete_cluster_param database_address cluster=prague
        salt-call reclass.delete_cluster_param database_address cluster=prague test=True
    """
    with commands():
        return _edits.delete_param(_settings(), name, cluster, file_name, _test(test))


def cluster_meta_list(file_name: str = "overrides.yml", cluster: str = "", **kwargs: Any) -> dict[str, Any]:
    """
    All that the metadata file of a cluster says; ``{}`` for no file.

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
    A soft parameter of a cluster as ``{name: value}``; ``{}`` where there is none.

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
    Set a soft parameter of a cluster; like :py:func:`set_cluster_param`, with the arguments and
    answers of salt-formula-reclass. It takes ``interpolate`` and ``test`` too.

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
    Delete a soft parameter of a cluster; like :py:func:`delete_cluster_param`, with the arguments and
    answers of salt-formula-reclass: ``{}`` where there is none. It takes ``test`` too.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cluster_meta_delete database_address cluster=prague
    """
    with commands():
        return _commands.cluster_meta_delete(_settings(), name, file_name, cluster, _test(test))


def soft_meta_list() -> dict[str, Any]:
    """
    All soft parameters: which files set them (``created_at``), and which need them (``required_at``).

    CLI Example:

    .. code-block:: bash

        salt-call reclass.soft_meta_list
    """
    with commands():
        return _metadata.soft_params(_settings())


def soft_meta_get(name: str) -> dict[str, Any]:
    """
    One of :py:func:`soft_meta_list`.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.soft_meta_get database_address
    """
    with commands():
        return _metadata.soft_param(_settings(), name)


def class_list() -> dict[str, Any]:
    """
    All files of the inventory, nodes too, each with its path, what it includes (``includes``), and
    the soft parameters that it sets (``params_created``) and needs (``params_required``).

    CLI Example:

    .. code-block:: bash

        salt-call reclass.class_list
    """
    with commands():
        return _metadata.classes(_settings())


def class_get(name: str) -> dict[str, Any]:
    """
    One of :py:func:`class_list`.

    name
        The name as there, without the point before it.

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
    A node file: the parts of its name, its folder (``path``), its classes and soft parameters.

    path
        Only if the file is in this folder below ``nodes``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_get web1.example.com
    """
    with commands():
        return _commands.node_get(_settings(), name, path)


def node_list(**kwargs: Any) -> dict[str, Any]:
    """
    All node files, each as :py:func:`node_get` has it.

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
    Add classes to a node file, set its soft parameters and ``reclass_environment``. All else stays.

    Takes ``interpolate`` and ``test`` too. Returns what :py:func:`node_get` does.

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
        Only if the file is in this folder below ``nodes``.

    Takes ``test`` too.

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

        salt-call reclass.node_classify web3.example.com '{address: 10.0.0.13}' \\
          '{web: {expression: all, node_class: {value: [role.web]},
            node_param: {address: {value_template: <<address>>}}}}'
    """
    with commands():
        return _commands.node_classify(_settings(), node_name, node_data, class_mapping, _test(test))


def node_pillar(node_name: str, **kwargs: Any) -> dict[str, Any]:
    """
    The pillar of a node as ``{node: pillar}``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_pillar web1.example.com
    """
    with commands():
        return _commands.node_pillar(_settings(), node_name)


def top(node_name: str) -> dict[str, list[str]]:
    """
    The top of a node: its applications, by environment.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.top web1.example.com
    """
    with commands():
        return _commands.top(_settings(), node_name)


def explain(node_name: str, *paths: str) -> dict[str, Any]:
    """
    Where the values of a node come from: the file and line that set each, how the file came in, what it
    replaced, and what references in it found. Secrets are masked.

    paths
        Paths as in references; keys may be globs, ``**`` is any number of keys. Without, everything.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.explain web1.example.com nginx:listen
    """
    with commands():
        return _commands.explain(_settings(), node_name, paths)


def lint(*nodes: str) -> list[dict[str, Any]]:
    """
    What is wrong with the inventory, or probably not meant; with nodes, of those alone. With
    warnings or errors among them, the exit code is 1.

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
    What nodes get in one state of the inventory and not in another, rendered. Secrets are masked.

    old, new
        Revisions of the git repository that the inventory is in; ``.`` for the files as they are.

    nodes
        Globs; without, all nodes.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.diff HEAD
        salt-call reclass.diff HEAD~1 HEAD 'db*'
    """
    with commands():
        return _commands.diff(_settings(), old, new, nodes)


def cache_info() -> dict[str, Any]:
    """
    What this process remembers of the inventory, and how often it read, parsed and computed. A job
    is a process of its own, so it tells of that job, and not of the workers of a master.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.cache_info
    """
    with commands():
        return _commands.cache_info(_settings())


def inventory(**kwargs: Any) -> dict[str, Any]:
    """
    All nodes with their services and roles: the outer two levels of their parameters.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.inventory
    """
    with commands():
        return _metadata.inventory(_settings())


def graph_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """
    The services of all nodes and their relations: the roles of the inventory, and what minions
    say in the grain ``salt:graph``. Asks all minions, so it has to run on the minion of the master's machine;
    elsewhere it is an error. ``salt-run reclass.graph_data`` runs on the master itself.

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
    The files that are not YAML or not a mapping, as ``{"Errors": […]}``; nothing if there are none.
    With errors, the exit code is 1.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.validate_yaml
    """
    with commands():
        return _commands.validate_yaml(_settings(), __context__)


def validate_pillar(node_name: str | None = None, **kwargs: Any) -> dict[str, str]:
    """
    For a node, or for all, why there is no pillar for it; empty text where there is one. With errors, the
    exit code is 1.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.validate_pillar
        salt-call reclass.validate_pillar web1.example.com
    """
    with commands():
        return _commands.validate_pillar(_settings(), node_name, __context__)
