"""No answer of the Python module, of the execution module, of the runner and of the states shows a secret.
No error does.

The inventory is that of ``tests/programs/output/doors.rs``, where the commands are asked. A method or a
function that is missing in a table fails the test.
"""

from __future__ import annotations

import inspect
import json
import logging
import subprocess
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import Editor, Inventory, ReclassError, _functions
from saltext.reclass.modules import reclass_mod
from saltext.reclass.runners import reclass_runner
from saltext.reclass.states import reclass_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLANTED = Path(__file__).parent.parent / "programs" / "output" / "secrets" / "inventory.txt"
NODES = ("n1", "n2", "n3", *(f"b{number}" for number in range(1, 9)), "n1x")

# Why nothing is looked for in an answer: it is the values themselves. Errors are looked at all the same.
VALUES = "values"
# Why a method is not asked.
NO_VALUES = "no values"

Questions = list[tuple[Any, ...]]


def of_nodes(*rest: Any) -> Questions:
    return [(node, *rest) for node in NODES]


OLD = {"n1": {"password": "HIDE-a", "copy": ["HIDE-b"], "db": {"password": "HIDE-c"}, "url": "x"}, "n2": {}}

INVENTORY: dict[str, str | tuple[str, Questions] | Questions] = {
    "nodes": [()],
    "files": [()],
    "classes": [(), ("broken.*",)],
    "empty_files": [()],
    "applications": [()],
    "params": [(), ("**",), ("aliased:**",)],
    "refs": [(), ("db:password",)],
    "explain": [*of_nodes(), *of_nodes("**"), ("n1", "copy:0", "two", "url"), ("n1", "tokn")],
    "lint": [(), *of_nodes()],
    "diff": [("HEAD",), ("HEAD", "HEAD"), ("HEAD", ".", "n1")],
    "impact": [("HEAD",)],
    "explain_text": [*of_nodes(), *of_nodes("**")],
    "lint_text": [()],
    "diff_text": [("HEAD",)],
    "compare": [(OLD,)],
    "compare_text": [(OLD,)],
    "delivery": [()],
    "last_delivery": [()],
    "status": [()],
    "cache_info": [()],
    "fetch_states": [()],
    "state": [()],
    "end_trial": NO_VALUES,
    "nodes_of_other_commits": NO_VALUES,
    "unmatched_canary": NO_VALUES,
    "forget_served": NO_VALUES,
    "test_revisions": NO_VALUES,
    "nodeinfo": (VALUES, of_nodes()),
    "inventory": (VALUES, [()]),
    "pillar": (VALUES, of_nodes()),
    "top": (VALUES, of_nodes()),
}
EDITOR: dict[str, str | tuple[str, Questions] | Questions] = {
    "folders": [()],
    "repositories": [()],
    "cluster_path": [()],
    "push": NO_VALUES,
    "cluster_data": (VALUES, [(), ("x",)]),
    "sources": (VALUES, [(), ("n1",), ("b5",)]),
    "set_cluster_param": [("password", "HIDE-e"), ("secrets", {"a": ["HIDE-f"]})],
    "delete_cluster_param": [("password",), ("gone",)],
    "create_node": [("n9", "", "", None, ["gone"], {"password": "HIDE-g"})],
    "update_node": [
        ("n1", ["gone"], {"password": "HIDE-h"}),
        ("n3", [], {"secrets": {"a": ["HIDE-i"]}}),
        ("b5",),
    ],
    "delete_node": [("n2",), ("n3",), ("gone",)],
}
FLEET = "it needs the minions of a master: tests/python/test_fleet.py"
FUNCTIONS: dict[str, str | tuple[str, Questions] | Questions] = {
    "set_cluster_param": [("alias", "x"), ("password", "HIDE-j"), ("secrets", {"a": ["HIDE-k"]})],
    "get_cluster_param": (VALUES, [("password",), ("gone",)]),
    "list_cluster_params": (VALUES, [()]),
    "delete_cluster_param": [("gone",), ("aliases",), ("alias",), ("password",)],
    "cluster_meta_list": (VALUES, [()]),
    "cluster_meta_get": (VALUES, [("gone",)]),
    "cluster_meta_set": (VALUES, [("password", "x")]),
    "cluster_meta_delete": [("password",)],
    "soft_meta_list": (VALUES, [()]),
    "soft_meta_get": (VALUES, [("gone",)]),
    "class_list": (VALUES, [()]),
    "class_get": (VALUES, [("gone",)]),
    "node_create": (VALUES, [("n8", "", None, None, ["gone"], {"password": "HIDE-l"})]),
    "node_get": (VALUES, of_nodes()),
    "node_list": (VALUES, [()]),
    "node_update": (VALUES, [("n1", ["gone"], {"password": "HIDE-m"}), ("b5", ["plants"])]),
    "node_delete": [("n2",), ("gone",)],
    "node_classify": (VALUES, [("n1", {"a": 1}, {})]),
    "node_pillar": (VALUES, of_nodes()),
    "top": (VALUES, of_nodes()),
    "explain": [*of_nodes(), *of_nodes("**"), ("n1", "copy:0", "two")],
    "diff": [("HEAD",)],
    "inventory": [()],
    "graph_data": [()],
    "lint": [()],
    "validate_yaml": [()],
    "validate_pillar": [(), *of_nodes()],
    "cache_info": [()],
    "classify_minion": FLEET,
    "declassify_minion": FLEET,
    "show_pillar": (VALUES, of_nodes()),
    "show_top": (VALUES, of_nodes()),
    "nodes": [()],
    "compare": FLEET,
    "status": [()],
    "stats": [()],
    "impact": [("HEAD",)],
    "refresh": FLEET,
    "drift": FLEET,
    "orphans": FLEET,
    "promote": NO_VALUES,
    "abort": NO_VALUES,
    "check": [()],
    "versions": [()],
}

RULE = {
    "expression": "all",
    "node_param": {"token": {"value_template": "<<password>>"}},
    "cluster_param": {"password": {"value": "HIDE-u"}},
}
STATES: dict[str, str | tuple[str, Questions] | Questions] = {
    "node_present": [
        ("n9", "", None, None, ["gone"], {"password": "HIDE-q"}),
        ("n1", None, None, None, ["plants"], {"password": "HIDE-r", "secrets": {"a": ["HIDE-s"]}}),
        ("b5", None, None, None, ["plants"]),
    ],
    "dynamic_node_present": [("n1", {"password": "HIDE-t"}, {"rule": RULE}), ("n9", {}, {"rule": RULE})],
    "node_absent": [("n2",), ("gone",), ("b5",)],
    "cluster_param_present": [("password", "HIDE-v"), ("secrets", {"a": ["HIDE-w"]}), ("a b", "HIDE-x")],
    "cluster_param_absent": [("password",), ("gone",)],
    "cluster_meta_present": [("password", "HIDE-y"), ("secrets", ["HIDE-z"])],
    "cluster_meta_absent": [("password",), ("gone",)],
}


def write_planted(base: Path, text: str) -> None:
    for part in text.split("=== ")[1:]:
        name, content = part.split("\n", 1)
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(content)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    base = tmp_path / "planted"
    text = PLANTED.read_text()
    params = "{password: &n HIDE-n, alias: *n, aliases: [*n]}"
    text += f"=== classes/cluster/overrides.yml\nparameters: {{_param: {params}}}\n"
    write_planted(base, text.replace("HIDE-", "HIDE-old-"))
    git = ["git", "-C", str(base), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for arguments in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "planted"]):
        subprocess.run([*git, *arguments], check=True)
    write_planted(base, text)
    return {"inventory_base_uri": str(base), "config_file": str(base / "reclass-config.yml")}


def texts_of(error: BaseException) -> Iterator[str]:
    yield str(error)
    yield repr(error)
    if isinstance(error, ReclassError):
        yield f"{error.notes} {error.problems} {error.args}"
        yield error.full_text()
    for cause in (error.__cause__, error.__context__):
        if cause:
            yield from texts_of(cause)


@pytest.fixture
def log() -> Iterator[StringIO]:
    """What all loggers write."""
    text = StringIO()
    root, handler = logging.getLogger(), logging.StreamHandler(text)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


class Doors:
    """Asks all questions of a table, and keeps what holds a secret."""

    def __init__(self, log: StringIO) -> None:
        self.log = log
        self.asked = 0
        self.found: list[str] = []

    def look(self, question: str, text: str) -> None:
        for line in text.split("\n"):
            for secret in ("HIDE", "8151"):
                if secret in line:
                    at = line.index(secret)
                    self.found.append(f"{question}: {line[max(0, at - 80) : at + 40]}")

    def ask(self, name: str, function: Callable[..., Any], questions: Any) -> None:
        if isinstance(questions, str):
            return
        shows_values, questions = questions if isinstance(questions, tuple) else ("", questions)
        for question in questions:
            self.asked += 1
            self.log.seek(0)
            self.log.truncate()
            answer: Any = None
            try:
                answer = function(*question)
            except Exception as error:  # noqa: BLE001 - what it is does not matter, it is looked at
                for text in texts_of(error):
                    self.look(f"{name}{question} error", text)
            if not shows_values:
                self.look(f"{name}{question}", json.dumps(answer, default=str))
            self.look(f"{name}{question} log", self.log.getvalue())


def methods(of: type) -> set[str]:
    return {name for name in vars(of) if name[0] != "_"}


def test_no_method_shows_a_secret(settings: dict[str, Any], log: StringIO) -> None:
    doors = Doors(log)
    for of, table in ((Inventory, INVENTORY), (Editor, EDITOR)):
        assert methods(of) == set(table)
        made = of(**settings)
        for name, questions in table.items():
            doors.ask(f"{of.__name__}.{name}", getattr(made, name), questions)
    assert doors.asked > 100
    assert not doors.found, "\n".join(doors.found)
    # The answers hold what is no secret.
    assert "SHOW-key" in str(Inventory(**settings).explain("n1", "**"))


def functions(of: Any) -> set[str]:
    """What Salt's loader finds in a module."""
    return {name for name, found in vars(of).items() if inspect.isfunction(found) and name[0] != "_"}


@pytest.mark.parametrize("module", [reclass_mod, reclass_runner, reclass_state])
def test_no_function_of_salt_shows_a_secret(
    settings: dict[str, Any], log: StringIO, monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    opts: dict[str, Any] = {
        "id": "n1",
        "reclass": settings,
        "ext_pillar": [{"reclass": settings}],
        "extension_modules": "",
    }
    for name, value in (("__opts__", opts), ("__context__", {}), ("__salt__", {})):
        monkeypatch.setattr(module, name, value, raising=False)
    table = STATES if module is reclass_state else FUNCTIONS
    elsewhere = {function.__name__ for function in _functions.OF_RUNNER} if module is reclass_mod else set()
    assert functions(module) == set(table) - elsewhere
    doors = Doors(log)
    for name in functions(module):
        doors.ask(name, getattr(module, name), table[name])
    assert doors.asked > 14
    assert not doors.found, "\n".join(doors.found)


def test_a_setting_takes_all_values_out_of_excerpts(settings: dict[str, Any]) -> None:
    for mask, shows in ((False, True), (True, False)):
        with pytest.raises(ReclassError) as caught:
            Inventory(**settings, mask_excerpts=mask).pillar("n3")
        assert ("SHOW://" in caught.value.full_text()) == shows
