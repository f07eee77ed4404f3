"""The states. Each edits the inventory and returns ``name``, ``result``, ``changes`` and ``comment``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltext.reclass import _audit, _classify, _commit, _edits
from saltext.reclass._edits import Settings, text
from saltext.reclass._salt import describe
from saltext.reclass.errors import NodeNotFoundError

Configured = Callable[[], Settings]
Result = dict[str, Any]


def node_present(settings: Configured, test: bool, name: Any, commit: Any = False, **given: Any) -> Result:
    """A node has a file with these classes and parameters."""

    def edit() -> Mapping[str, Any]:
        return _edits.put_node(settings(), name, test=test, **given)

    return _result("node_present", name, edit, test, commit)


def node_absent(settings: Configured, test: bool, name: Any, commit: Any = False, **given: Any) -> Result:
    """A node has no file."""

    def edit() -> Mapping[str, Any]:
        try:
            return _edits.delete_node(settings(), name, test=test, **given)
        except NodeNotFoundError:
            return {"changed": False, "comment": f"node '{text(name)}' is absent already"}

    return _result("node_absent", name, edit, test, commit)


def param_present(
    settings: Configured,
    test: bool,
    name: Any,
    value: Any,
    commit: Any = False,
    show_changes: Any = True,
    **given: Any,
) -> Result:
    """A soft parameter has this value."""

    def edit() -> Mapping[str, Any]:
        done = _edits.set_param(settings(), name, value, test=test, **given)
        return done if show_changes else {**done, "changes": {"diff": "<show_changes=False>"}}

    return _result("cluster_param_present", name, edit, test, commit)


def param_absent(settings: Configured, test: bool, name: Any, commit: Any = False, **given: Any) -> Result:
    """A soft parameter does not exist."""

    def edit() -> Mapping[str, Any]:
        return _edits.delete_param(settings(), name, test=test, **given)

    return _result("cluster_param_absent", name, edit, test, commit)


def dynamic_node_present(
    settings: Configured, test: bool, name: Any, commit: Any = False, **given: Any
) -> Result:
    """A node and the parameters of its cluster follow from rules."""

    def edit() -> Mapping[str, Any]:
        done = _classify.classify(settings(), text(name), test=test, **given)
        edits = {**({"node": done["node"]} if done["node"] else {}), **done["cluster_params"]}
        changes = {what: _changes(edit) for what, edit in edits.items() if edit["changed"]}
        comments = [edit["comment"] for edit in edits.values()]
        return {
            "changed": bool(changes),
            "comment": "\n".join(comments) or f"no rule applies to node '{text(name)}'",
            "changes": changes,
        }

    return _result("dynamic_node_present", name, edit, test, commit)


def _result(state: str, name: Any, edit: Callable[[], Mapping[str, Any]], test: bool, commit: Any) -> Result:
    """The result of an edit. Any error makes the state fail."""
    try:
        with _audit.called(_audit.Caller(f"the state {state}")), _commit.asked(commit):
            done = edit()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - otherwise it would end the process of the job
        return {"name": name, "result": False, "changes": {}, "comment": describe(error)}
    if not done["changed"]:
        return {"name": name, "result": True, "changes": {}, "comment": done["comment"]}
    if done.get("nodes"):
        done = {**done, "comment": f"{done['comment']}; nodes that change: {done['nodes']['changed']}"}
    changes = done["changes"] if "changes" in done else _changes(done)
    return {"name": name, "result": None if test else True, "changes": changes, "comment": done["comment"]}


def _changes(edit: Mapping[str, Any]) -> dict[str, Any]:
    return {key: edit[key] for key in ("old", "new", "diff") if key in edit}
