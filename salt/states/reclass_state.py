"""
Nodes and soft metadata of reclass as states
============================================

.. code-block:: yaml

    web3.example.com:
      reclass.node_present:
        - path: _generated
        - classes:
            - site.lan
            - role.web
        - parameters:
            address: 10.0.0.13

    service_database_host:
      reclass.cluster_param_present:
        - value: db1.example.com
        - cluster: prague

The states run on the minion that has the inventory. The execution module ``reclass`` describes where its
configuration comes from. With ``test=True``, nothing is written, and ``changes`` is the same.
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _configuration, _states

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    return (False, MISSING) if MISSING else __virtualname__


def node_present(
    name: str,
    path: str | None = None,
    cluster: str | None = None,
    environment: str | None = None,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    reclass_environment: str | None = None,
    force: bool = False,
    commit: bool = False,
) -> dict[str, Any]:
    """
    Ensure that a node has a file with the classes and soft parameters. The rest of the file is kept.

    name
        The name of the node.

    path
        The folder below ``nodes`` for a new file.

    cluster, environment
        The values of ``linux:system:cluster`` and ``linux:system:environment`` in a new file. If neither is
        given, the file has no ``linux:system``.

    reclass_environment
        The environment of the node: reclass and Salt use it to choose classes and states.

    classes
        A list of classes. Missing classes are appended.

    parameters
        A mapping of soft parameters.

    interpolate
        Allow references (``${…}``) and queries (``$[…]``) in values.

    force
        Make the edit even if it breaks nodes.

    commit
        Commit the edit, in a repository of git.
    """
    return _states.node_present(
        lambda: _configuration.of_minion(__opts__),
        bool(__opts__.get("test")),
        name,
        path=path,
        cluster=cluster,
        environment=environment,
        reclass_environment=reclass_environment,
        classes=classes,
        parameters=parameters,
        interpolate=interpolate,
        force=force,
        commit=commit,
    )


def dynamic_node_present(
    name: str, node_data: Any = None, class_mapping: Any = None, force: bool = False, commit: bool = False
) -> dict[str, Any]:
    """
    Ensure that a node and the parameters of its cluster agree with rules and with data about a machine.

    name
        The name of the node.

    node_data
        A mapping with the data.

    class_mapping
        The rules, as for ``reclass.node_classify`` of the execution module.

    force
        Make the edits even if they break nodes.

    commit
        Commit the edit, in a repository of git.
    """
    return _states.dynamic_node_present(
        lambda: _configuration.of_minion(__opts__),
        bool(__opts__.get("test")),
        name,
        node_data=node_data,
        class_mapping=class_mapping,
        force=force,
        commit=commit,
    )


def node_absent(name: str, force: bool = False, commit: bool = False) -> dict[str, Any]:
    """
    Ensure that a node has no file.

    name
        The name of the node.

    force
        Delete the file even if that breaks other nodes.

    commit
        Commit the edit, in a repository of git.
    """
    return _states.node_absent(
        lambda: _configuration.of_minion(__opts__),
        bool(__opts__.get("test")),
        name,
        force=force,
        commit=commit,
    )


def cluster_param_present(
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    show_changes: bool = True,
    store: str = "file",
    force: bool = False,
    commit: bool = False,
) -> dict[str, Any]:
    """
    Ensure that a soft parameter of a cluster has a value.

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

    show_changes
        With ``False``, ``changes`` contains neither values nor lines of the file. Values under a secret key
        (setting ``secret_keys``) are always masked.

    store
        ``file``, or ``etcd`` for the key of the class that the file is. The setting ``etcd_endpoints`` names
        the servers.

    force
        Make the edit even if it breaks nodes.

    commit
        Commit the edit, in a repository of git.
    """
    return _states.param_present(
        lambda: _configuration.of_minion(__opts__),
        bool(__opts__.get("test")),
        name,
        value,
        cluster=cluster,
        file_name=file_name,
        interpolate=interpolate,
        show_changes=show_changes,
        store=store,
        force=force,
        commit=commit,
    )


def cluster_param_absent(
    name: str,
    cluster: str = "",
    file_name: str = "",
    store: str = "file",
    force: bool = False,
    commit: bool = False,
) -> dict[str, Any]:
    """
    Ensure that the metadata file of a cluster does not set a soft parameter.

    name
        The name of the parameter.

    cluster
        The folder of the cluster below ``classes/cluster``. Default: ``classes/cluster`` itself.

    file_name
        The file. Default: ``overrides.yml``.

    store
        ``file`` or ``etcd``.

    force
        Make the edit even if it breaks nodes.

    commit
        Commit the edit, in a repository of git.
    """
    return _states.param_absent(
        lambda: _configuration.of_minion(__opts__),
        bool(__opts__.get("test")),
        name,
        cluster=cluster,
        file_name=file_name,
        store=store,
        force=force,
        commit=commit,
    )


def cluster_meta_present(
    name: str,
    value: Any,
    file_name: str = "overrides.yml",
    cluster: str = "",
    interpolate: bool = False,
    show_changes: bool = True,
) -> dict[str, Any]:
    """
    The same as :py:func:`cluster_param_present`, by its name in salt-formula-reclass.
    """
    return cluster_param_present(name, value, cluster, file_name, interpolate, show_changes)


def cluster_meta_absent(name: str, file_name: str = "overrides.yml", cluster: str = "") -> dict[str, Any]:
    """
    The same as :py:func:`cluster_param_absent`, by its name in salt-formula-reclass.
    """
    return cluster_param_absent(name, cluster, file_name)
