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
    *,
    test: bool = False,
    store: Any = "file",
    **how: bool,
) -> dict[str, Any]:
    """Sets a soft parameter of a cluster, in its metadata file or in etcd."""
    place = {"cluster": text(cluster), "file_name": text(file_name), "store": text(store)}
    return _edited(settings, "set_cluster_param", name, test, value=value, **place, **how)


def delete_param(
    settings: Settings,
    name: Any,
    cluster: Any = "",
    file_name: Any = "",
    *,
    test: bool = False,
    store: Any = "file",
    **how: bool,
) -> dict[str, Any]:
    place = {"cluster": text(cluster), "file_name": text(file_name), "store": text(store)}
    return _edited(settings, "delete_cluster_param", name, test, **place, **how)


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
    *,
    test: bool = False,
    reclass_environment: Any = None,
    **how: bool,
) -> dict[str, Any]:
    """Creates the file of a node; with a cluster or environment also its ``linux:system``."""
    host, _, domain = text(name).partition(".")
    asked = {"cluster": cluster, "environment": environment}
    asked = {key: text(value) for key, value in asked.items() if value is not None}
    system = {"name": host, "domain": domain, **asked} if asked else {}
    given = _content(classes, parameters, reclass_environment)
    given["entries"] += [(["parameters", "linux", "system", key], value) for key, value in system.items()]
    if not any(given.values()):
        # An empty file would look like a truncated one.
        given["entries"] = [(["classes"], [])]
    return _edited(settings, "create_node", name, test, folder=text(path), **given, **how)


def update_node(
    settings: Settings,
    name: Any,
    classes: Any = None,
    parameters: Any = None,
    *,
    test: bool = False,
    reclass_environment: Any = None,
    **how: bool,
) -> dict[str, Any]:
    """Adds classes to the file of a node, and sets its soft parameters and its environment."""
    given = _content(classes, parameters, reclass_environment)
    return _edited(settings, "update_node", name, test, **given, **how)


def put_node(
    settings: Settings,
    name: Any,
    path: Any = None,
    cluster: Any = None,
    environment: Any = None,
    **given: Any,
) -> dict[str, Any]:
    """Updates the file of a node, or creates it in a folder, with a cluster and an environment.

    Another process may create or delete the file in between. Then both are tried again.
    """
    for _ in range(_ATTEMPTS):
        try:
            return update_node(settings, name, **given)
        except NodeNotFoundError:
            pass
        try:
            return create_node(settings, name, path, cluster, environment, **given)
        except ReclassError as error:
            if error.code != "node-exists":
                raise
    return update_node(settings, name, **given)


def _content(classes: Any, parameters: Any, environment: Any) -> dict[str, Any]:
    """What goes into the file of a node, in the words of the engine."""
    entries = [] if environment is None else [(["environment"], text(environment))]
    return {"classes": _list(classes), "parameters": _mapping(parameters), "entries": entries}


def delete_node(settings: Settings, name: Any, *, test: bool = False, **how: bool) -> dict[str, Any]:
    return _edited(settings, "delete_node", name, test, **how)


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


# The engine's methods in words: what they edit, that it is done, and that it was done already.
_WORDS = {
    "set_cluster_param": ("parameter", "set", "set already"),
    "delete_cluster_param": ("parameter", "deleted", "absent already"),
    "create_node": ("node", "created", "present already"),
    "update_node": ("node", "updated", "in the correct state"),
    "delete_node": ("node", "deleted", "absent already"),
}


def _edited(settings: Settings, method: str, name: Any, test: Any, **given: Any) -> dict[str, Any]:
    """The result of an edit. It is committed if asked for; etcd has no commits."""
    name, store = text(name), given.get("store", "file")
    what, done, already = _WORDS[method]
    subject = f"{what} '{name}'"
    given |= {how: bool(given[how]) for how in ("interpolate", "force") if how in given}

    def edit(settings: Settings, test: bool) -> dict[str, Any]:
        return getattr(_editor(settings), method)(name, test=test, **given)  # type: ignore[no-any-return]

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
    for when in ("old", "new") if what == "parameter" else ():
        found = params_in(made[when])
        if name in found:
            result[when] = carried(found[name])
    return result


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
