"""Edits soft metadata and node files, and formats the results for Salt.

The result of an edit is a dict: ``changed``, ``file``, ``comment``, ``diff`` (unified), and for a
parameter ``old`` and ``new``; and ``nodes``, the numbers of nodes that were ``rendered``, ``changed`` and
``broken``, or ``None`` where nothing changes.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from saltext.reclass import _audit, _commit
from saltext.reclass._salt import RefusedError, missing
from saltext.reclass.errors import NodeNotFoundError, ReclassError

Settings = Mapping[str, Any]
# A text, because Salt sends the defaults of arguments to those who ask for them.
NO_DEFAULT = "<an error>"


def cluster_data(
    settings: Settings, cluster: Any = "", file_name: Any = "", store: Any = "file"
) -> dict[str, Any]:
    """The content of the metadata file of a cluster, or the soft parameters in etcd in its form."""
    found = _editor(settings).cluster_data(text(cluster), text(file_name), store=text(store))
    data: dict[str, Any] = carried(found)
    return data


def params(settings: Settings, cluster: Any = "", file_name: Any = "", store: Any = "file") -> dict[str, Any]:
    """The soft parameters of a cluster, in its metadata file or in etcd."""
    return params_in(cluster_data(settings, cluster, file_name, store))


def get_param(
    settings: Settings,
    name: Any,
    cluster: Any = "",
    file_name: Any = "",
    store: Any = "file",
    default: Any = NO_DEFAULT,
) -> Any:
    """The value of a soft parameter; without one the default, or an error."""
    found = params(settings, cluster, file_name, store)
    if text(name) in found:
        return found[text(name)]
    if default != NO_DEFAULT:
        return default
    file = _editor(settings).cluster_path(text(cluster), text(file_name), store=text(store))
    raise missing("parameter", text(name), [file], found)


def set_param(
    settings: Settings,
    name: Any,
    value: Any,
    cluster: Any = "",
    file_name: Any = "",
    interpolate: bool = False,
    test: bool = False,
    store: Any = "file",
    force: bool = False,
) -> dict[str, Any]:
    """Sets a soft parameter of a cluster, in its metadata file or in etcd."""
    name = text(name)

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return _editor(settings).set_cluster_param(  # type: ignore[no-any-return]
            name,
            value,
            text(cluster),
            text(file_name),
            interpolate=bool(interpolate),
            test=test,
            force=bool(force),
            store=text(store),
        )

    return _param_result(settings, edit, name, "set", "set already", test, text(store))


def delete_param(
    settings: Settings,
    name: Any,
    cluster: Any = "",
    file_name: Any = "",
    test: bool = False,
    store: Any = "file",
    force: bool = False,
) -> dict[str, Any]:
    """Deletes a soft parameter of a cluster."""
    name = text(name)

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return _editor(settings).delete_cluster_param(  # type: ignore[no-any-return]
            name, text(cluster), text(file_name), test=test, force=bool(force), store=text(store)
        )

    return _param_result(settings, edit, name, "deleted", "absent already", test, text(store))


# Maximum number of attempts if another process creates and deletes the node meanwhile.
_ATTEMPTS = 5


def create_node(
    settings: Settings,
    name: Any,
    path: Any = None,
    cluster: Any = None,
    environment: Any = None,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool = False,
    reclass_environment: Any = None,
    force: bool = False,
) -> dict[str, Any]:
    """Creates the file of a node; with a cluster or environment also its ``linux:system``."""
    name = text(name)
    host, _, domain = name.partition(".")
    asked = {"cluster": cluster, "environment": environment}
    asked = {key: text(value) for key, value in asked.items() if value is not None}
    system = {"name": host, "domain": domain, **asked} if asked else {}
    listed, given = _list(classes), _mapping(parameters)
    entries: list[tuple[list[str], Any]] = _environment(reclass_environment)
    entries += [(["parameters", "linux", "system", key], value) for key, value in system.items()]
    if not (listed or given or entries):
        # An empty file would look like a truncated one.
        entries = [(["classes"], [])]

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return _editor(settings).create_node(  # type: ignore[no-any-return]
            name,
            text(path),
            listed,
            given,
            entries,
            interpolate=bool(interpolate),
            test=test,
            force=bool(force),
        )

    return _result(settings, edit, f"node '{name}'", "created", "present already", test)[0]


def update_node(
    settings: Settings,
    name: Any,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool = False,
    reclass_environment: Any = None,
    force: bool = False,
) -> dict[str, Any]:
    """Adds classes to the file of a node, and sets its soft parameters and its environment."""
    name = text(name)

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return _editor(settings).update_node(  # type: ignore[no-any-return]
            name,
            _list(classes),
            _mapping(parameters),
            _environment(reclass_environment),
            interpolate=bool(interpolate),
            test=test,
            force=bool(force),
        )

    return _result(settings, edit, f"node '{name}'", "updated", "in the correct state", test)[0]


def put_node(
    settings: Settings,
    name: Any,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool = False,
    reclass_environment: Any = None,
    force: bool = False,
    **new: Any,
) -> dict[str, Any]:
    """Updates the file of a node, or creates it with the arguments ``new`` of :func:`create_node`.

    Another process may create or delete the file in between. Then both are tried again.
    """
    given = {
        "classes": classes,
        "parameters": parameters,
        "interpolate": interpolate,
        "test": test,
        "reclass_environment": reclass_environment,
        "force": force,
    }
    for _ in range(_ATTEMPTS):
        try:
            return update_node(settings, name, **given)
        except NodeNotFoundError:
            pass
        try:
            return create_node(settings, name, **given, **new)
        except ReclassError as error:
            if error.code != "node-exists":
                raise
    return update_node(settings, name, **given)


def _environment(name: Any) -> list[tuple[list[str], Any]]:
    """The entry of a node file for its environment, if the caller names one."""
    return [] if name is None else [(["environment"], text(name))]


def delete_node(settings: Settings, name: Any, test: bool = False, force: bool = False) -> dict[str, Any]:
    """Deletes the file of a node."""
    name = text(name)

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return _editor(settings).delete_node(name, test=test, force=bool(force))  # type: ignore[no-any-return]

    return _result(settings, edit, f"node '{name}'", "deleted", "absent already", test)[0]


def deleted(subject: str, edit: Mapping[str, Any], test: bool) -> str:
    """The answer of salt-formula-reclass for what an edit deleted: a sentence."""
    sentence = f"{subject} {'would be ' if test else ''}deleted"
    return "; ".join(filter(None, [sentence, edit.get("warning")]))


def carried(value: Any) -> Any:
    """A value as Salt can carry it: dates as ISO 8601 text, as in the pillar; sets and pairs as lists."""
    if isinstance(value, Mapping):
        return {carried(key): carried(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [carried(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def _editor(settings: Settings) -> Any:
    from saltext.reclass._engine import Editor

    return Editor(**settings)


def _param_result(
    settings: Settings, edit: _commit.Edit, name: str, done: str, already: str, test: Any, store: str
) -> dict[str, Any]:
    result, made = _result(settings, edit, f"parameter '{name}'", done, already, test, store)
    for when in ("old", "new"):
        found = params_in(made[when])
        if name in found:
            result[when] = carried(found[name])
    return result


def _result(
    settings: Settings,
    edit: _commit.Edit,
    subject: str,
    done: str,
    already: str,
    test: Any,
    store: str = "file",
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The result of an edit, and the edit itself. It is committed if asked for; etcd has no commits."""

    def report(made: Mapping[str, Any]) -> None:
        _audit.edited(made, subject, done, store)

    if store == "etcd":
        made = edit(settings, bool(test))
        if made["changed"] and not test:
            report(made)
        if made["changed"] and (unread := _unread(settings)):
            made["warning"] = "; ".join(filter(None, [made.get("warning"), unread]))
    else:
        made = _commit.made(settings, edit, bool(test), f"{subject} {done}", report)
    if not made["changed"]:
        comment = f"{subject} is {already}"
    else:
        comment = f"{subject} {'would be' if test else 'has been'} {done}"
    result: dict[str, Any] = {
        "changed": made["changed"],
        "comment": "; ".join(filter(None, [comment, made.get("warning")])),
        "file": made["path"],
        "diff": made["diff"],
        "nodes": made["nodes"],
        **{name: made[name] for name in ("warning", "branch", "commit") if made.get(name)},
    }
    return result, made


def _unread(settings: Settings) -> str | None:
    """Why the inventory is not that of etcd as it is now: the master refuses what may have lost data."""
    from saltext.reclass._engine import Inventory

    try:
        sources = Inventory(**settings).state()["sources"]
    except ReclassError as error:
        return str(error)
    stale = [source["stale"] for source in sources if source.get("stale", "").startswith("etcd ")]
    return f"no minion gets it: {stale[0]}" if stale else None


def params_in(data: Any) -> dict[str, Any]:
    for key in ("parameters", "_param"):
        data = data.get(key) if isinstance(data, Mapping) else None
    # reclass turns keys into text.
    return {str(name): value for name, value in data.items()} if isinstance(data, Mapping) else {}


def text(name: Any) -> str:
    """A name as text. The command line of Salt turns a name of digits into a number."""
    if name is None:
        return ""
    if isinstance(name, (str, int)) and not isinstance(name, bool):
        return str(name)
    raise RefusedError(f"a name must be text, not a {type(name).__name__}")


def _list(classes: Any) -> list[str]:
    """Classes as a list, or as JSON."""
    if isinstance(classes, str):
        classes = _json(classes, "classes")
    if classes is None:
        return []
    # Text is a sequence too.
    listed = isinstance(classes, Sequence) and not isinstance(classes, (str, bytes))
    if listed and all(isinstance(name, str) for name in classes):
        return list(classes)
    raise RefusedError("classes must be a list of names")


def _mapping(parameters: Any) -> dict[str, Any]:
    """Parameters as a mapping, or as JSON."""
    if isinstance(parameters, str):
        parameters = _json(parameters, "parameters")
    if parameters is None:
        return {}
    if isinstance(parameters, Mapping):
        return {text(name): value for name, value in parameters.items()}
    raise RefusedError("parameters must be a mapping")


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise RefusedError(f"{what} are text, but not JSON") from None
