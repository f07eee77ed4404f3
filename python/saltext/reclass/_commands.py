"""Commands of the execution module and the runner, with the answers of salt-formula-reclass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltext.reclass import _classify, _commit, _edits, _graph, _metadata
from saltext.reclass._edits import Settings, text
from saltext.reclass._salt import RefusedError

# At most 255 bytes: the file system refuses longer names.
_REVISION = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@{}~^/-]{0,254}")
# A name, or a file with or without a line.
_SUBJECT = re.compile(r"^(class|parameter):|\.ya?ml(:[0-9]+){0,2}$")
GRAPH_GRAINS = ("salt:graph", "ipv4", "ipv6", "fqdn")


def cluster_meta_get(settings: Settings, name: Any, file_name: Any, cluster: Any) -> dict[str, Any]:
    """``{name: value}``, or ``{}``."""
    name, found = text(name), _edits.params(settings, cluster, file_name)
    return {name: found[name]} if name in found else {}


def cluster_meta_set(
    settings: Settings,
    name: Any,
    value: Any,
    file_name: Any,
    cluster: Any,
    interpolate: bool,
    test: bool,
    force: bool = False,
) -> dict[str, Any]:
    """``{name: value}``, or a sentence instead of the value."""
    edit = _edits.set_param(settings, name, value, cluster, file_name, interpolate, test, force=force)
    already = f"Cluster metadata entry {name} already exists and is in correct state"
    return {text(name): edit["new"] if edit["changed"] else already}


def cluster_meta_delete(
    settings: Settings, name: Any, file_name: Any, cluster: Any, test: bool, force: bool = False
) -> str | dict[str, Any]:
    """A sentence, or ``{}``."""
    edit = _edits.delete_param(settings, name, cluster, file_name, test, force=force)
    return _deleted(f"Cluster metadata entry {name}", edit, test) if edit["changed"] else {}


def node_create(settings: Settings, name: Any, *, test: bool, **given: Any) -> dict[str, Any]:
    """The node, or in a test the edit."""
    name = text(name)
    # The files of fetched repositories are not there to be listed.
    if not _commit.is_pushed(settings) and _metadata.has_node(settings, name):
        return _metadata.node(settings, name)
    edit = _edits.create_node(settings, name, test=test, **given)
    return {name: edit} if test or "branch" in edit else _edited_node(settings, name, edit)


def node_update(settings: Settings, name: Any, *, test: bool, **given: Any) -> dict[str, Any]:
    """The node, or in a test the edit."""
    edit = _edits.update_node(settings, name, test=test, **given)
    return {text(name): edit} if test or "branch" in edit else _edited_node(settings, text(name), edit)


def _edited_node(settings: Settings, name: str, edit: Mapping[str, Any]) -> dict[str, Any]:
    """The node, with the numbers of nodes that the edit changed, and its warning."""
    about = {key: edit[key] for key in ("nodes", "warning") if key in edit}
    return {name: {**_metadata.node(settings, name)[name], **about}}


def node_get(settings: Settings, name: Any, path: Any) -> dict[str, Any]:
    """The node."""
    name, found = text(name), _metadata.node(settings, name)
    if path is not None and found[name]["path"] != text(path):
        raise RefusedError(f"the file of node {name!r} is not in the folder {text(path)!r}")
    return found


def node_delete(settings: Settings, name: Any, path: Any, test: bool, force: bool = False) -> str:
    """A sentence."""
    name = text(name)
    if path is not None:
        node_get(settings, name, path)
    return _deleted(f"Node {name}", _edits.delete_node(settings, name, test, force), test)


def _deleted(subject: str, edit: Mapping[str, Any], test: bool) -> str:
    sentence = f"{subject} {'would be ' if test else ''}deleted"
    return "; ".join(filter(None, [sentence, edit.get("warning")]))


def node_classify(
    settings: Settings, name: Any, node_data: Any, class_mapping: Any, test: bool, force: bool = False
) -> dict[str, Any]:
    """The node and the parameters of the cluster, or in a test the edits."""
    done = _classify.classify(settings, text(name), node_data, class_mapping, test, force)
    node, edits = done["node"], done["cluster_params"]
    if test or _commit.is_pushed(settings):
        return {"node_create": node or "", "cluster_param": edits}
    warnings = [edit["warning"] for edit in (node or {}, *edits.values()) if "warning" in edit]
    return {
        "node_create": _edited_node(settings, text(name), node) if node else "",
        "cluster_param": {name: {name: edit["new"]} for name, edit in edits.items()},
        **({"warning": warnings[0]} if warnings else {}),
    }


def node_pillar(settings: Settings, name: Any, earlier: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """``{node: pillar}``. ``earlier`` is the pillar before reclass."""
    return {text(name): _metadata.opened(settings).pillar(text(name), earlier)}


def top(settings: Settings, name: Any) -> dict[str, list[str]]:
    """``{environment: [applications]}``."""
    found: dict[str, list[str]] = _metadata.opened(settings).top(text(name))
    return found


def explain(settings: Settings, name: Any, paths: tuple[Any, ...]) -> dict[str, Any]:
    """The provenance of values, with secrets masked."""
    found: dict[str, Any] = _metadata.opened(settings).explain(text(name), *map(text, paths), plain=True)
    return found


def lint(settings: Settings, nodes: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Errors of the inventory, and constructs that are probably mistakes."""
    found: list[dict[str, Any]] = _metadata.opened(settings).lint(*map(text, nodes))
    return found


def diff(settings: Settings, old: Any, new: Any, nodes: tuple[Any, ...]) -> dict[str, Any]:
    """The differences between two revisions, with secrets masked."""
    states = _states(old, new)
    found: dict[str, Any] = _metadata.opened(settings).diff(*states, *map(text, nodes), plain=True)
    return found


def impact(settings: Settings, old: Any, new: Any, nodes: tuple[Any, ...]) -> dict[str, Any]:
    """The nodes and paths that differ between two revisions, or that depend on a place or a name."""
    states = (text(old), text(new)) if _SUBJECT.search(text(old)) else _states(old, new)
    found: dict[str, Any] = _metadata.opened(settings).impact(*states, *map(text, nodes))
    return found


def _states(old: Any, new: Any) -> tuple[str, str]:
    """The names of two states: revisions or ``.``."""
    for state in (text(old), text(new)):
        # The engine would read any folder of the system.
        if state != "." and (not _REVISION.fullmatch(state) or Path(state).exists()):
            raise RefusedError("the states must be revisions of git, or '.' for the files as they are")
    return text(old), text(new)


def as_text(answer: str) -> dict[str, str] | str:
    """An answer for people; Salt prints it line by line."""
    if "retcode" in answer:
        # Salt 3008 would look for an exit code in it, and fail.
        return answer
    return {"outputter": "txt", "data": answer}


def explain_text(settings: Settings, name: Any, paths: tuple[Any, ...]) -> str:
    """The provenance of values as text."""
    answer: str = _metadata.opened(settings).explain_text(text(name), *map(text, paths))
    return answer


def lint_text(settings: Settings, nodes: tuple[Any, ...]) -> str:
    """The findings as text."""
    answer: str = _metadata.opened(settings).lint_text(*map(text, nodes))
    return answer


def diff_text(settings: Settings, old: Any, new: Any, nodes: tuple[Any, ...]) -> tuple[str, bool]:
    """The differences between two revisions as text, and whether there are any."""
    answer: tuple[str, bool] = _metadata.opened(settings).diff_text(*_states(old, new), *map(text, nodes))
    return answer


def compare(
    settings: Settings,
    pillars: Mapping[str, Any],
    nodes: tuple[Any, ...],
    only: Any,
    exclude: Any,
) -> dict[str, Any]:
    """The differences to the pillars of minions, with secrets masked."""
    answer: dict[str, Any] = _metadata.opened(settings).compare(
        dict(pillars), *map(text, nodes), only=keys(only), exclude=keys(exclude), plain=True
    )
    return answer


def compare_text(
    settings: Settings,
    pillars: Mapping[str, Any],
    nodes: tuple[Any, ...],
    only: Any,
    exclude: Any,
) -> tuple[str, bool]:
    """The differences to the pillars of minions as text, and whether there are any."""
    answer: tuple[str, bool] = _metadata.opened(settings).compare_text(
        dict(pillars), *map(text, nodes), only=keys(only), exclude=keys(exclude)
    )
    return answer


def keys(given: Any) -> list[str]:
    """Globs of keys: a text, or a list of them."""
    if given is None:
        return []
    return [text(key) for key in given] if isinstance(given, (list, tuple)) else [text(given)]


def cache_info(settings: Settings) -> dict[str, Any]:
    """The sizes and counters of the caches in this process."""
    found: dict[str, Any] = _metadata.opened(settings).cache_info()
    return found


def graph_data(settings: Settings, grains: Mapping[str, Any]) -> dict[str, Any]:
    """``{"graph": [services]}``."""
    roles = {name: found["roles"] for name, found in _metadata.inventory(settings).items()}
    answers = {minion: found for minion, found in grains.items() if isinstance(found, Mapping)}
    return {"graph": _graph.graph(roles, answers)}


def not_the_master(error: Exception) -> RefusedError:
    """The exception for a failed request to all minions."""
    return RefusedError(
        "all minions have to be asked, and only the master can: run 'salt-run reclass.graph_data' there "
        f"({type(error).__name__})"
    )
