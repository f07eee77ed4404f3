"""Lists the files, soft parameters and nodes of an inventory for administrators.

The lists have the shapes of salt-formula-reclass, so scripts that use it continue to work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltext.reclass._edits import Settings, carried, params_in, text
from saltext.reclass._salt import RefusedError, describe, missing

_SOFT_REFERENCE = re.compile(r"\$\{_param:(.*?)\}")
_NOT_SERVICES = frozenset({"_param", "_reclass_", "private_keys", "public_keys", "known_hosts"})
_NOT_ROLES = frozenset({"_support", "_orchestrate", "common"})


def classes(settings: Settings) -> dict[str, dict[str, Any]]:
    """Each file of the inventory with its classes and the soft parameters that it sets and needs.

    A file that cannot be read, or that a link outside of the inventory leads to, has an ``error`` instead.
    """
    found = {}
    for source in _sources(settings):
        about: dict[str, Any] = {"file": source["path"]}
        if "error" in source:
            about["error"] = source["error"]
        data = source.get("data")
        if isinstance(data, Mapping):
            if required := sorted(set(_required(data))):
                about["params_required"] = required
            if includes := data.get("classes"):
                about["includes"] = includes
            if created := params_in(data):
                about["params_created"] = created
        found[_dotted(source)] = about
    return found


def class_(settings: Settings, name: Any) -> dict[str, Any]:
    """One entry of :func:`classes`."""
    return _one(settings, "class", name, {key[1:]: found for key, found in classes(settings).items()})


def soft_params(settings: Settings) -> dict[str, dict[str, Any]]:
    """Each soft parameter with its values by file, and the files that need it."""
    found: dict[str, dict[str, Any]] = {}
    for name, about in classes(settings).items():
        for param, value in about.get("params_created", {}).items():
            found.setdefault(param, {"created_at": {}, "required_at": []})["created_at"][name] = value
        for param in about.get("params_required", []):
            found.setdefault(param, {"created_at": {}, "required_at": []})["required_at"].append(name)
    return found


def soft_param(settings: Settings, name: Any) -> dict[str, Any]:
    """One entry of :func:`soft_params`."""
    return _one(settings, "soft parameter", name, soft_params(settings))


def nodes(settings: Settings, folder: Any = None) -> dict[str, dict[str, Any]]:
    """Each node file: the parts of its name, its folder, its classes and soft parameters; or the error."""
    found = {source["name"]: _node(source) for source in _sources(settings) if source["kind"] == "node"}
    if folder is None:
        return found
    return {name: node for name, node in found.items() if node["path"] == text(folder)}


def node(settings: Settings, name: Any) -> dict[str, dict[str, Any]]:
    """One entry of :func:`nodes`."""
    found = {source["name"]: _node(source) for source in _sources(settings, text(name))}
    # A name that nothing has is met with the similar ones.
    return _one(settings, "node", name, found or nodes(settings))


def inventory(settings: Settings) -> dict[str, dict[str, list[str]]]:
    """Each node with its services and their roles: the outer keys of its parameters."""
    found = {}
    for name, data in opened(settings).inventory()["nodes"].items():
        services = {
            str(service): parts
            for service, parts in data["parameters"].items()
            if service not in _NOT_SERVICES
        }
        roles = [
            f"{service}.{role}"
            for service, parts in services.items()
            if isinstance(parts, Mapping)
            for role in parts
            if role not in _NOT_ROLES
        ]
        found[name] = {"roles": roles, "services": list(services)}
    return found


def has_node(settings: Settings, name: str) -> bool:
    """Whether the node has a file."""
    return bool(_sources(settings, name))


def yaml_errors(settings: Settings) -> list[str]:
    """The errors of each file, apart from the other files."""
    errors = []
    for source in _sources(settings):
        data = source.get("data")
        if "error" in source:
            errors.append(source["error"])
        elif data is not None and not isinstance(data, Mapping):
            errors.append(f"{source['path']}: not a mapping")
    return errors


def pillar_errors(
    settings: Settings,
    name: str | None = None,
    earlier: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
    *,
    schemas: bool = False,
) -> dict[str, str]:
    """The error of the pillar of one node, or of each node; an empty text for a pillar without error.

    ``earlier`` returns the pillar of a minion before reclass. With ``schemas``, a pillar that breaks a schema
    of its parameters is an error whatever the minion gets.
    """
    inventory = opened(settings)
    found = {}
    for node_name in inventory.nodes() if name is None else [text(name)]:
        try:
            inventory.pillar(node_name, earlier(node_name), schemas=schemas)
            found[node_name] = ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            found[node_name] = describe(error)
    return found


def with_held(settings: Settings, errors: Mapping[str, str]) -> dict[str, str]:
    """The answer of :func:`pillar_errors`, with the error that keeps a node at an earlier commit."""
    answer = dict(errors)
    delivery = opened(settings).delivery() or {"held": []}
    for held in delivery["held"]:
        for node in held["nodes"]:
            if errors.get(node) == "":
                breaks = held.get("revision", delivery["tested"])
                answer[node] = (
                    f"held: the pillar is of an earlier commit, as {breaks} breaks the node: "
                    f"{held['problem']}"
                )
    return answer


def with_empty_files(settings: Settings, errors: Mapping[str, str]) -> dict[str, str]:
    """The answer of :func:`with_held`, with a warning for each other node that has an empty file."""
    answer = with_held(settings, errors)
    for row in opened(settings).empty_files():
        for node in row["nodes"]:
            if errors.get(node) == "":
                text = f"warning: '{row['file']}' is empty; a full disk leaves empty files"
                answer[node] = "\n".join(filter(None, [answer[node], text]))
    return answer


def opened(settings: Settings) -> Any:
    """The engine's inventory."""
    from saltext.reclass._engine import Inventory

    return Inventory(**settings)


def _sources(settings: Settings, node: str | None = None) -> list[dict[str, Any]]:
    """All files of the inventory, or that of one node."""
    from saltext.reclass._engine import Editor

    return [carried(source) for source in Editor(**settings).sources(node)]


def _one(
    settings: Settings, what: str, name: Any, known: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The entry with this name, as ``{name: …}``. It must exist and must be readable."""
    name = text(name)
    if name not in known:
        from saltext.reclass._engine import Editor

        folders = Editor(**settings).folders()
        searched = folders["nodes"] if what == "node" else [*folders["classes"], *folders["nodes"]]
        raise missing(what, name, searched, known)
    if error := known[name].get("error"):
        raise RefusedError(error)
    return {name: known[name]}


def _dotted(source: Mapping[str, Any]) -> str:
    """``.classes.system.linux`` or ``.nodes.folder.name``: the path of the file below the base, with dots."""
    if source["kind"] == "class":
        return f".classes.{source['name']}"
    return ".".join([".nodes", *filter(None, source["folder"].split("/")), source["name"]])


def _node(source: Mapping[str, Any]) -> dict[str, Any]:
    data = source.get("data")
    data = data if isinstance(data, Mapping) else {}
    host, _, domain = source["name"].partition(".")
    system: Any = data.get("parameters")
    for key in ("linux", "system"):
        system = system.get(key) if isinstance(system, Mapping) else None
    system = system if isinstance(system, Mapping) else {}
    if "error" in source:
        return {"name": host, "domain": domain, "path": source["folder"], "error": source["error"]}
    return {
        "name": host,
        "domain": domain,
        "cluster": system.get("cluster", "default"),
        "environment": system.get("environment", "prd"),
        "path": source["folder"],
        "classes": data.get("classes") or [],
        "parameters": params_in(data),
    }


def _required(data: Any) -> Iterator[str]:
    """The soft parameters that strings refer to."""
    if isinstance(data, str):
        yield from _SOFT_REFERENCE.findall(data)
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _required(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _required(value)
