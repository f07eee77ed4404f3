"""The states. Each edits the inventory and returns ``name``, ``result``, ``changes`` and ``comment``.

A function here makes the edit of a state. It has the arguments of the state behind the settings and ``test``.
Their texts are those of `sys.doc`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from saltext.reclass import _audit, _classify, _commit, _configuration, _edits
from saltext.reclass._edits import Settings, text
from saltext.reclass._salt import describe
from saltext.reclass.errors import NodeNotFoundError

Edit = Mapping[str, Any]


def node_present(
    settings: Settings,
    test: bool,
    name: str,
    path: str | None = None,
    cluster: str | None = None,
    environment: str | None = None,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    reclass_environment: str | None = None,
    force: bool = False,
) -> Edit:
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
    """
    return _edits.put_node(
        settings,
        name,
        path,
        cluster,
        environment,
        classes=classes,
        parameters=parameters,
        reclass_environment=reclass_environment,
        interpolate=interpolate,
        test=test,
        force=force,
    )


def dynamic_node_present(
    settings: Settings,
    test: bool,
    name: str,
    node_data: Any = None,
    class_mapping: Any = None,
    force: bool = False,
) -> Edit:
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
    """
    done = _classify.classify(settings, text(name), node_data, class_mapping, test, force)
    edits = {**({"node": done["node"]} if done["node"] else {}), **done["cluster_params"]}
    changes = {what: _changes(edit) for what, edit in edits.items() if edit["changed"]}
    comments = [edit["comment"] for edit in edits.values()]
    return {
        "changed": bool(changes),
        "comment": "\n".join(comments) or f"no rule applies to node '{text(name)}'",
        "changes": changes,
    }


def node_absent(settings: Settings, test: bool, name: str, force: bool = False) -> Edit:
    """
    Ensure that a node has no file.

    name
        The name of the node.

    force
        Delete the file even if that breaks other nodes.
    """
    try:
        return _edits.delete_node(settings, name, test=test, force=force)
    except NodeNotFoundError:
        return {"changed": False, "comment": f"node '{text(name)}' is absent already"}


def cluster_param_present(
    settings: Settings,
    test: bool,
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    show_changes: bool = True,
    store: str = "file",
    force: bool = False,
) -> Edit:
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
    """
    how = {"interpolate": interpolate, "force": force}
    done = _edits.set_param(settings, name, value, cluster, file_name, test=test, store=store, **how)
    return done if show_changes else {**done, "changes": {"diff": "<show_changes=False>"}}


def cluster_param_absent(
    settings: Settings,
    test: bool,
    name: str,
    cluster: str = "",
    file_name: str = "",
    store: str = "file",
    force: bool = False,
) -> Edit:
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
    """
    return _edits.delete_param(settings, name, cluster, file_name, test=test, store=store, force=force)


def cluster_meta_present(
    settings: Settings,
    test: bool,
    name: str,
    value: Any,
    file_name: str = "overrides.yml",
    cluster: str = "",
    interpolate: bool = False,
    show_changes: bool = True,
) -> Edit:
    """
    The same as :py:func:`cluster_param_present`, by its name in salt-formula-reclass.
    """
    return cluster_param_present(settings, test, name, value, cluster, file_name, interpolate, show_changes)


def cluster_meta_absent(
    settings: Settings, test: bool, name: str, file_name: str = "overrides.yml", cluster: str = ""
) -> Edit:
    """
    The same as :py:func:`cluster_param_absent`, by its name in salt-formula-reclass.
    """
    return cluster_param_absent(settings, test, name, cluster, file_name)


_STATES = (
    node_present,
    dynamic_node_present,
    node_absent,
    cluster_param_present,
    cluster_param_absent,
    cluster_meta_present,
    cluster_meta_absent,
)
_COMMIT_TEXT = """

    commit
        Commit the edit, in a repository of git.
    """


def of_module(variables: dict[str, Any]) -> dict[str, Callable[..., dict[str, Any]]]:
    """The states as Salt calls and documents them; ``variables`` are those of their module."""
    return {edit.__name__: _of_salt(edit, variables) for edit in _STATES}


def _of_salt(edit: Callable[..., Edit], variables: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The state of an edit. Any error makes it fail."""
    [_, _, *arguments] = inspect.signature(edit).parameters.values()
    commits = any(argument.name == "force" for argument in arguments)
    if commits:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments.append(inspect.Parameter("commit", kind, default=False))
    signature = inspect.Signature(arguments)

    def called(*args: Any, **kwargs: Any) -> dict[str, Any]:
        given = signature.bind(*args, **kwargs).arguments
        opts, commit = variables["__opts__"], given.pop("commit", False)
        test = bool(opts.get("test"))
        result = {"name": given["name"], "changes": {}}
        try:
            with _audit.called(_audit.Caller(f"the state {edit.__name__}")), _commit.asked(commit):
                done = edit(_configuration.of_minion(opts), test, **given)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - otherwise it would end the process of the job
            return {**result, "result": False, "comment": describe(error)}
        if not done["changed"]:
            return {**result, "result": True, "comment": done["comment"]}
        comment = done["comment"]
        if done.get("nodes"):
            comment += f"; nodes that change: {done['nodes']['changed']}"
        changes = done.get("changes", _changes(done))
        return {**result, "result": None if test else True, "changes": changes, "comment": comment}

    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__name__ = called.__qualname__ = edit.__name__
    called.__module__ = variables["__name__"]
    called.__doc__ = (edit.__doc__ or "").rstrip() + (_COMMIT_TEXT if commits else "\n    ")
    return called


def _changes(edit: Edit) -> dict[str, Any]:
    return {key: edit[key] for key in ("old", "new", "diff") if key in edit}
