"""The editor from Python, and what the Salt modules for edits decide on the way."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from salt.exceptions import CommandExecutionError, SaltClientError
from saltext.reclass import (
    Editor,
    Inventory,
    NodeNotFoundError,
    ReclassError,
    SettingsError,
    WireError,
    _classify,
    _configuration,
    _edits,
    _functions_values,
    _graph,
    _metadata,
    _salt,
    _states,
)
from saltext.reclass._place import OfModule
from saltext.reclass.modules import reclass_mod
from saltext.reclass.runners import reclass_runner

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": "# a node\nclasses: [role.web]\n",
    "classes/role/web": "parameters: {listen: '${_param:address}'}",
    "classes/cluster/prague/overrides": "parameters:\n  _param:\n    address: 10.0.0.1  # of the router\n",
    "classes/cluster/overrides": "parameters: {_param: {12: a}}",
}


@pytest.fixture
def base(write: Write) -> Path:
    return write(SITE)


@pytest.fixture
def settings(base: Path) -> dict[str, Any]:
    return {"inventory_base_uri": str(base)}


def with_classes(base: Path, *names: str) -> None:
    for name in names:
        path = base / "classes" / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("classes: []\n")


def test_an_edit_returns_its_result(base: Path, settings: dict[str, Any]) -> None:
    editor = Editor(**settings)
    path = base / "classes/cluster/prague/overrides.yml"
    before = path.read_text()
    edit = editor.set_cluster_param("address", "10.0.0.2", "prague", test=True)
    after = before.replace("10.0.0.1", "10.0.0.2")
    assert edit == {
        "path": str(path),
        "changed": True,
        "before": before,
        "after": after,
        "diff": f"--- {path}\n+++ {path}\n@@ -3 +3 @@\n"
        "-    address: 10.0.0.1  # of the router\n+    address: 10.0.0.2  # of the router\n",
        "old": {"parameters": {"_param": {"address": "10.0.0.1"}}},
        "new": {"parameters": {"_param": {"address": "10.0.0.2"}}},
        "hash_before": hashlib.sha256(before.encode()).hexdigest(),
        "hash_after": hashlib.sha256(after.encode()).hexdigest(),
        "warning": None,
        # No node has the class.
        "nodes": {"rendered": 0, "changed": 0, "broken": 0},
    }
    assert path.read_text() == before
    assert editor.set_cluster_param("address", "10.0.0.2", "prague") == edit
    assert path.read_text() == after
    assert editor.cluster_data("prague") == edit["new"]
    assert editor.cluster_data("vienna") == {}
    assert editor.delete_cluster_param("address", "prague")["new"] == {"parameters": {"_param": {}}}
    assert not editor.delete_cluster_param("address", "prague")["changed"]


@pytest.mark.parametrize(
    "text",
    [
        "parameters:\n  _param:\n    a: 1\n",
        "parameters:\n  _param:\n    a: 1",
        "parameters:\r\n  _param:\r\n    a: 1\r\n",
        "parameters:\r\n  _param:\r\n    a: 1",
        "parameters:\n  _param:\r\n    a: 1\n    b: 'x\u2028\x85y'\r\n    c: 2",
        "parameters: {_param: {a: 1}}",
        "\ufeffparameters: {_param: {a: 1}}\n",
        "",
    ],
)
def test_the_difference_of_an_edit_is_exact(tmp_path: Path, text: str) -> None:
    """What `diff` says, `git apply` makes of the old file, byte for byte."""
    for name, value in [("a", 2), ("a", [1, "x"]), ("new", "two\nlines"), ("a", None)]:
        folder = tmp_path / "classes/cluster"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "overrides.yml"
        file.write_bytes(text.encode())
        settings = {"inventory_base_uri": str(tmp_path)}
        result = (
            _edits.delete_param(settings, name) if value is None else _edits.set_param(settings, name, value)
        )
        after = file.read_bytes()
        assert result["changed"] is (after != text.encode())
        file.write_bytes(text.encode())
        if result["changed"]:
            depth = len(file.parts) - 1
            command = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", f"-p{depth}"]
            subprocess.run(command, input=result["diff"].encode(), cwd=folder, check=True)
        else:
            assert result["diff"] == ""
        assert file.read_bytes() == after


def test_the_difference_in_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "classes/cluster/overrides.yml"
    file.parent.mkdir(parents=True)
    file.write_text("parameters:\n  _param:\n    a: 1\n" + "#\n" * 2_000_000)
    tracemalloc.start()
    result = _edits.set_param({"inventory_base_uri": str(tmp_path)}, "a", 2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result["diff"].splitlines()[2:] == ["@@ -3 +3 @@", "-    a: 1", "+    a: 2"]
    assert most < 8 * file.stat().st_size, most


def test_the_difference_of_a_file_that_comes_or_goes(base: Path, settings: dict[str, Any]) -> None:
    with_classes(base, "a")
    made = _edits.create_node(settings, "web2", classes=["a"], environment="dev")["diff"]
    file = base / "nodes/web2.yml"
    assert made.startswith(f"--- /dev/null\n+++ {file}\n@@ -0,0 +1,8 @@\n+classes:\n+  - a\n")
    assert "".join(line[1:] for line in made.splitlines(keepends=True)[3:]) == file.read_text()
    gone = _edits.delete_node(settings, "web2")["diff"]
    assert gone.splitlines()[:3] == [f"--- {file}", "+++ /dev/null", "@@ -1,8 +0,0 @@"]


def test_a_node_has_the_environments_that_are_asked_for(base: Path, settings: dict[str, Any]) -> None:
    file = base / "nodes/web2.yml"
    with_classes(base, "a")
    _edits.create_node(settings, "web2", classes=["a"])
    assert file.read_text() == "classes:\n  - a\n"
    _edits.delete_node(settings, "web2")
    _edits.create_node(settings, "web2")
    assert file.read_text() == "classes: []\n"
    _edits.update_node(settings, "web2", classes=["a"])
    assert file.read_text() == "classes: [a]\n"
    _edits.delete_node(settings, "web2")
    _edits.create_node(settings, "web2", environment="prd", reclass_environment="dev")
    assert file.read_text() == (
        "environment: dev\nparameters:\n  linux:\n    system:\n"
        "      name: web2\n      domain: ''\n      environment: prd\n"
    )
    assert Inventory(**settings).nodeinfo("web2")["environment"] == "dev"
    _edits.put_node(settings, "web2", reclass_environment="prod")
    assert file.read_text().startswith("environment: prod\n")
    _edits.put_node(settings, "web3", reclass_environment="prod")
    assert Inventory(**settings).nodeinfo("web3")["environment"] == "prod"
    assert not _edits.update_node(settings, "web3")["changed"]
    with pytest.raises(ReclassError, match="edit-reference"):
        _edits.put_node(settings, "web3", reclass_environment="${x}")


def test_another_place_for_soft_metadata(base: Path, settings: dict[str, Any]) -> None:
    (base / "classes/site/prague").mkdir(parents=True)
    editor = Editor(**settings, cluster_folder="site", cluster_file="soft.yml")
    edit = editor.set_cluster_param("a", 1, "prague")
    assert edit["path"] == str(base / "classes/site/prague/soft.yml")
    assert edit["after"] == "parameters:\n  _param:\n    a: 1\n"
    assert edit["before"] is None


def test_errors_have_codes_and_hold_no_value(base: Path, settings: dict[str, Any]) -> None:
    editor = Editor(**settings)
    for arguments, code in [
        (("a", "hunter2 ${x}", "prague"), "edit-reference"),
        (("a b", "hunter2", "prague"), "name-refused"),
        (("a", "hunter2", "..", "x.yml"), "name-refused"),
        (("a", "hunter2", "prague", "x.txt"), "path-refused"),
        (("a", "hunter2", "vienna"), "directory-not-found"),
    ]:
        with pytest.raises(ReclassError) as caught:
            editor.set_cluster_param(*arguments)
        assert caught.value.code == code
        assert "hunter2" not in str(caught.value)
    with pytest.raises(WireError):
        editor.set_cluster_param("a", object(), "prague")
    for refused in (
        lambda: editor.create_node("\ud800"),
        lambda: editor.create_node("web2", classes=["\ud800"]),
        lambda: editor.create_node("web2", "\ud800"),
        lambda: editor.update_node("web1", entries=[(["a", "\ud800"], 1)]),
        lambda: editor.delete_node("\ud800"),
        lambda: editor.cluster_data("\ud800"),
        lambda: editor.cluster_path("prague", "\ud800"),
        lambda: editor.set_cluster_param("\ud800", 1, "prague"),
        lambda: editor.delete_cluster_param("\ud800", "prague"),
    ):
        with pytest.raises(WireError, match="not Unicode text"):
            refused()
    with pytest.raises(NodeNotFoundError):
        editor.update_node("web9")
    with pytest.raises(ReclassError, match="node-exists"):
        editor.create_node("web1", classes=["a"])


def test_an_edit_works_in_a_forked_child_while_the_parent_edits(base: Path, settings: dict[str, Any]) -> None:
    code = f"""
import os, threading
from saltext.reclass import Editor, Inventory
editor, inventory = Editor(**{settings!r}), Inventory(**{settings!r})
def work(name):
    for number in range(20):
        editor.set_cluster_param(f"{{name}}{{number}}", number, "prague")
        inventory.nodes()
thread = threading.Thread(target=work, args=("thread",))
thread.start()
children = []
for child in ("a", "b", "c"):
    pid = os.fork()
    if pid == 0:
        work(child)
        os._exit(0)
    children.append(pid)
thread.join()
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
params = editor.cluster_data("prague")["parameters"]["_param"]
print(len(params))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.strip() == "81", done.stderr


def test_keys_that_are_numbers(settings: dict[str, Any]) -> None:
    # Salt's command line makes numbers of digits, and so does YAML; reclass makes text of them.
    assert _edits.params(settings) == {"12": "a"}
    assert _edits.get_param(settings, 12) == "a"
    done = _edits.set_param(settings, 12, "b")
    assert (done["old"], done["new"], _edits.params(settings)) == ("a", "b", {"12": "b"})


def test_values_that_salt_cannot_carry(base: Path, settings: dict[str, Any]) -> None:
    text = "day: 2001-02-03, time: 2001-12-14 21:59:43 +1, some: !!set {a}, 2001-01-01: x"
    (base / "classes/cluster/overrides.yml").write_text(f"parameters: {{_param: {{{text}}}}}")
    found = {"day": "2001-02-03", "time": "2001-12-14T21:59:43+01:00", "some": ["a"], "2001-01-01": "x"}
    assert _edits.params(settings) == found
    assert (
        _metadata.class_(settings, "classes.cluster.overrides")["classes.cluster.overrides"]["params_created"]
        == found
    )
    assert _edits.delete_param(settings, "day")["old"] == "2001-02-03"


def test_a_name_that_is_not_there_is_reported_with_its_place(base: Path, settings: dict[str, Any]) -> None:
    overrides = base / "classes/cluster/prague/overrides.yml"
    folders = f"'{base}/classes', '{base}/nodes'"
    for ask, message in [
        (lambda: _metadata.node(settings, "wbe1"), f"no node 'wbe1' in '{base}/nodes'; 'web1' is similar"),
        (lambda: _metadata.node(settings, 12), f"no node '12' in '{base}/nodes'"),
        (
            lambda: _metadata.class_(settings, "classes.rol.web"),
            f"no class 'classes.rol.web' in {folders}; 'classes.role.web' is similar",
        ),
        (
            lambda: _metadata.soft_param(settings, "adress"),
            f"no soft parameter 'adress' in {folders}; 'address' is similar",
        ),
        (
            lambda: _edits.get_param(settings, "adress", "prague"),
            f"no parameter 'adress' in '{overrides}'; 'address' is similar",
        ),
        (
            lambda: _edits.get_param(settings, "a", "prague", "other.yml"),
            f"no parameter 'a' in '{overrides.with_name('other.yml')}'",
        ),
        (
            lambda: _edits.get_param(settings, "a", "prag"),
            f"cannot read the folder '{base}/classes/cluster/prag': no such file or directory "
            "(directory-not-found); 'prague' is similar",
        ),
        (
            lambda: _edits.set_param(settings, "a", 1, "prag"),
            f"cannot read the folder '{base}/classes/cluster/prag': no such file or directory "
            "(directory-not-found); 'prague' is similar",
        ),
        (
            lambda: _edits.delete_node(settings, "wbe1"),
            f"no node 'wbe1' in '{base}/nodes' (node-not-found); 'web1' is similar",
        ),
    ]:
        with pytest.raises((_salt.RefusedError, ReclassError)) as caught:
            ask()
        assert str(caught.value) == message
    assert _edits.get_param(settings, "a", "prag", default=5) == 5


@pytest.mark.parametrize("way", ["file", "folder"])
def test_a_link_that_leads_outside_is_not_read(base: Path, tmp_path: Path, way: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "web2.yml").write_text("classes: [swordfish]\nparameters: {_param: {a: swordfish}}\n")
    for tree in ("nodes", "classes"):
        link, target = (f"{tree}/x", "") if way == "folder" else (f"{tree}/web2.yml", "web2.yml")
        (base / link).symlink_to(outside / target)
    # One that stays inside is read.
    (base / "classes/also.yml").symlink_to(base / "classes/cluster/prague/overrides.yml")
    settings = {"inventory_base_uri": str(base)}
    x = "x." if way == "folder" else ""
    for ask in (
        lambda: _metadata.node(settings, "web2"),
        lambda: _metadata.class_(settings, f"classes.{x}web2"),
        lambda: _metadata.class_(settings, f"nodes.{x}web2"),
    ):
        with pytest.raises(_salt.RefusedError, match="a symbolic link leads out of the inventory"):
            ask()
    assert set(_metadata.soft_params(settings)) == {"12", "address"}
    answers = [_metadata.classes(settings), _metadata.nodes(settings), _metadata.yaml_errors(settings)]
    assert "swordfish" not in str(answers)
    assert set(answers[1]["web2"]) == {"name", "domain", "path", "error"}
    assert len(answers[2]) == 2
    assert answers[0][".classes.also"]["params_created"] == {"address": "10.0.0.1"}
    # Where the administrator has said so, it is.
    settings["linked_folders"] = [str(outside)]
    assert _metadata.node(settings, "web2")["web2"]["classes"] == ["swordfish"]
    assert _metadata.yaml_errors(settings) == []
    if way == "file":
        with pytest.raises(ReclassError, match="a symbolic link leads out of the inventory"):
            Editor(**settings).update_node("web2", ["b"])


def test_a_file_that_is_not_yaml_is_an_error_of_its_own(base: Path, settings: dict[str, Any]) -> None:
    (base / "nodes/bad.yml").write_text("classes: [hunter2\n")
    for ask in (lambda: _metadata.node(settings, "bad"), lambda: _metadata.class_(settings, "nodes.bad")):
        with pytest.raises(_salt.RefusedError, match=r"nodes/bad.yml:\d+:\d+: "):
            ask()
    assert "error" in _metadata.nodes(settings)["bad"]
    assert "hunter2" not in str(_metadata.nodes(settings))


def test_a_configuration_that_is_no_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reclass-config.yml"
    monkeypatch.setattr(_configuration, "_FILES", (str(path),))
    minion: dict[str, Any] = {"conf_file": str(tmp_path / "minion"), "__role": "minion"}
    makers = [
        path.mkdir,
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to("gone"),
    ]
    for make in makers:
        make()
        with pytest.raises(SettingsError, match=r"cannot use the configuration file '.*reclass-config\.yml'"):
            _configuration.of_minion(minion)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    path.write_text("#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(SettingsError, match="has more than 4194304 bytes"):
        _configuration.of_minion(minion)


def test_where_the_configuration_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_configuration, "_FILES", (str(tmp_path / "reclass-config.yml"),))
    minion: dict[str, Any] = {"conf_file": str(tmp_path / "minion"), "__role": "minion"}
    with pytest.raises(_salt.RefusedError, match="no inventory is configured"):
        _configuration.of_minion(minion)
    (tmp_path / "reclass-config.yml").write_text("inventory_base_uri: /of/the/file\n")
    assert _configuration.of_minion(minion)["inventory_base_uri"] == "/of/the/file"
    (tmp_path / "master").write_text("ext_pillar: [{reclass: {inventory_base_uri: /of/the/master}}]\n")
    assert _configuration.of_minion(minion)["inventory_base_uri"] == "/of/the/master"
    minion["master_tops"] = {"reclass": {"inventory_base_uri": "/of/tops"}}
    assert _configuration.of_minion(minion)["inventory_base_uri"] == "/of/tops"
    minion["ext_pillar"] = [{"other": {}}, {"reclass": {"inventory_base_uri": "/of/pillar"}}]
    assert _configuration.of_minion(minion)["inventory_base_uri"] == "/of/pillar"
    minion["reclass"] = {"inventory_base_uri": "/own"}
    assert _configuration.of_minion(minion)["inventory_base_uri"] == "/own"

    assert _configuration.of_master(minion)["inventory_base_uri"] == "/of/pillar"
    with pytest.raises(_salt.RefusedError, match="neither ext_pillar nor master_tops"):
        _configuration.of_master({"file_roots": {"base": ["/srv/salt"]}})


@pytest.mark.parametrize("module", [reclass_mod, reclass_runner])
def test_a_package_that_does_not_load_is_said(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "__opts__", {}, raising=False)
    assert module.__virtual__() == "reclass"
    monkeypatch.setattr(module, "MISSING", "why")
    assert module.__virtual__() == (False, "why")


RULES = {
    "all": {"expression": "all", "node_class": {"value": ["site.lan"]}},
    "web": {
        "expression": ["<<node_name>>__startswith__web", "<<os>>__equals__debian"],
        "node_class": {"value_template": ["cluster.<<cluster>>.web"]},
        "node_param": {"address": {"value_template": "<<ip>>/24"}, "fixed": {"value": 5}},
        "cluster_param": {"web_address": {"value_template": "<<ip>>"}},
    },
}


def state(settings: dict[str, Any], name: str, *arguments: Any, **given: Any) -> dict[str, Any]:
    """The result of a state."""
    states = _states.of_module({"__name__": "states", "__opts__": {"reclass": settings}})
    return states[name](*arguments, **given)


def test_rules_classify_a_node(base: Path, settings: dict[str, Any]) -> None:
    with_classes(base, "site/lan", "cluster/prague/web")
    data = {"os": "debian", "cluster": "prague", "ip": "10.0.0.5", "__pub_jid": "1"}
    done = _classify.classify(settings, "web5", data, RULES)
    assert done["node"]["comment"] == "node 'web5' has been created"
    assert done["cluster_params"]["web_address"]["new"] == "10.0.0.5"
    node = _metadata.node(settings, "web5")["web5"]
    assert node["classes"] == ["site.lan", "cluster.prague.web"]
    assert node["parameters"] == {"address": "10.0.0.5/24", "fixed": 5}
    assert node["path"] == "_generated"
    again = _classify.classify(settings, "web5", data, RULES)
    assert not again["node"]["changed"]
    # A machine that says it is another.
    done = _classify.classify(settings, "db5", {**data, "node_name": "web6"}, RULES)
    assert done["cluster_params"] == {}
    assert _metadata.node(settings, "db5")["db5"]["classes"] == ["site.lan"]
    assert _classify.classify(settings, "x", {}, {}) == {"node": None, "cluster_params": {}}
    # A node that was made by hand is completed where it is.
    _classify.classify(settings, "web1", data, RULES)
    text = (base / "nodes/web1.yml").read_text()
    assert text.startswith("# a node\nclasses: [role.web, site.lan, cluster.prague.web]\n")


def test_a_rule_may_set_what_is_false(base: Path, settings: dict[str, Any]) -> None:
    with_classes(base, "a")
    given = {"zero": 0, "no": False, "empty": "", "one": 1}
    params = {name: {"value": value} for name, value in given.items()}
    rules = {"all": {"expression": "all", "node_class": {"value": ["a"]}, "node_param": params}}
    _classify.classify(settings, "web7", {}, rules)
    assert _metadata.node(settings, "web7")["web7"]["parameters"] == given


def test_a_new_node_is_classified_by_many_at_once(base: Path, settings: dict[str, Any]) -> None:
    def rules(number: int) -> dict[str, Any]:
        params = {f"p{number}": {"value": number}}
        return {"r": {"expression": "all", "node_class": {"value": [f"c{number}"]}, "node_param": params}}

    with_classes(base, *(f"c{number}" for number in range(6)))
    for turn in range(6):
        children = []
        for number in range(6):
            child = os.fork()
            if child == 0:
                try:
                    _classify.classify(settings, f"new{turn}", {}, rules(number))
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
        node = _metadata.node(settings, f"new{turn}")[f"new{turn}"]
        assert node["parameters"] == {f"p{number}": number for number in range(6)}
        assert sorted(node["classes"]) == [f"c{number}" for number in range(6)]


def test_parameters_of_a_cluster_come_before_the_classes_that_need_them(
    base: Path, settings: dict[str, Any]
) -> None:
    (base / "classes/cluster/listens.yml").write_text(
        "classes: [cluster.overrides]\nparameters: {listen: '${_param:port}'}\n"
    )
    rules = {
        "r": {
            "expression": "all",
            "node_class": {"value": "cluster.listens"},
            "cluster_param": {"port": {"value": 80}},
        }
    }
    _classify.classify(settings, "web9", {}, rules)
    assert Inventory(**settings).pillar("web9")["listen"] == 80


def test_an_edit_that_breaks_a_node_is_refused(base: Path, settings: dict[str, Any]) -> None:
    node = base / "nodes/web1.yml"
    node.write_text("classes: [role.web, cluster.prague.overrides]\n")
    overrides = base / "classes/cluster/prague/overrides.yml"
    before = overrides.read_text(), node.read_text()
    edits: dict[str, Callable[[bool], dict[str, Any]]] = {
        "class-not-found": lambda force: _edits.update_node(settings, "web1", ["rol.web"], force=force),
        "reference-not-found": lambda force: _edits.delete_param(settings, "address", "prague", force=force),
        "wire-type": lambda force: _edits.set_param(settings, "big", 10**22, "prague", force=force),
    }
    for code, edit in edits.items():
        with pytest.raises(ReclassError) as refused:
            edit(False)
        problems = refused.value.problems
        assert [problem.code for problem in problems] == ["edit-breaks", code]
        assert problems[1].node == "web1"
        assert problems[1].location is not None
        assert "10.0.0" not in str(refused.value)
        made = state(settings, "node_present", "web1", classes=["rol.web"])
        assert made["result"] is False
        assert "class-not-found" in made["comment"]
    assert before == (overrides.read_text(), node.read_text())
    for edit in edits.values():
        assert edit(True)["changed"]
    done = _edits.set_param(settings, "other", 1, "prague", test=True)
    assert done["nodes"] == {"rendered": 1, "changed": 0, "broken": 0}


def test_a_state_says_how_many_nodes_change(base: Path, settings: dict[str, Any]) -> None:
    (base / "nodes/web1.yml").write_text("classes: [role.web, cluster.prague.overrides]\n")
    done = state(settings, "cluster_param_present", "address", "10.0.0.2", cluster="prague")
    assert done["comment"] == "parameter 'address' has been set; nodes that change: 1"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"os": "debian", "cluster": "prague"}, "nothing is known of 'ip'"),
        ({"os": "debian", "cluster": "prague", "ip": "${_param:secret}"}, "taken for a reference"),
        ({"os": "debian", "cluster": "prague", "ip": "$[ exports:x ]"}, "taken for a reference"),
        ({"os": "debian", "cluster": "a.b", "ip": "1"}, "part of a class name"),
        ({"os": "debian", "cluster": "../x", "ip": "1"}, "part of a class name"),
        ({"os": "debian", "cluster": "prague", "ip": ["1"]}, "must be a text or a number, not a list"),
        ({"os": "debian", "cluster": "prague", "ip": None}, "must be a text or a number, not a NoneType"),
        ("text", "must be mappings"),
    ],
)
def test_data_of_a_machine_are_data(settings: dict[str, Any], data: Any, reason: str) -> None:
    with pytest.raises(_salt.RefusedError, match=reason):
        _classify.classify(settings, "web5", data, RULES)
    assert "web5" not in _metadata.nodes(settings)


def test_data_are_data_with_other_sentinels_too(settings: dict[str, Any]) -> None:
    settings |= {
        "reference_sentinels": ["<%", "%>"],
        "export_sentinels": ["[?", "?]"],
        "escape_character": "!",
    }
    for ip in ("<% secret %>", "[? exports:x ?]", "!<% secret %>", "${secret}"):
        data = {"os": "debian", "cluster": "prague", "ip": ip}
        with pytest.raises(_salt.RefusedError, match="taken for a reference"):
            _classify.classify(settings, "web5", data, RULES)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (5, "must be mappings"),
        ({"expression": 5}, "'expression' of a rule must be text or a list"),
        ({"expression": "<<os>>__equals__a"}, "what is known of 'os' must be a text or a number, not a list"),
        (
            {"expresion": "all"},
            "a rule has no 'expresion'; it may have cluster_param, expression, node_class",
        ),
        ({"expression": "all", "node_class": {"values": ["a"]}}, "a rule has no 'values'; it may have value"),
        ({"expression": "all", "node_class": {"value": 5}}, "'value' of a rule must be text or a list"),
        (
            {"expression": "all", "node_class": {"value": ["a"]}, "node_param": {"address": "1"}},
            "must be mappings",
        ),
    ],
)
def test_a_rule_of_another_shape_is_refused(settings: dict[str, Any], rule: Any, reason: str) -> None:
    with pytest.raises(_salt.RefusedError, match=reason):
        _classify.classify(settings, "web8", {"os": ["a"]}, {"r": rule})
    assert "web8" not in _metadata.nodes(settings)


def test_a_class_that_is_text_is_one_class(base: Path, settings: dict[str, Any]) -> None:
    with_classes(base, "site", "role/db")
    rules = {"r": {"expression": "all", "node_class": {"value": "site", "value_template": "role.<<kind>>"}}}
    _classify.classify(settings, "web9", {"kind": "db"}, rules)
    assert _metadata.node(settings, "web9")["web9"]["classes"] == ["role.db", "site"]
    with pytest.raises(_salt.RefusedError, match="classes must be a list of names"):
        _edits.update_node(settings, "web9", classes='"site"')


def test_data_cannot_bring_a_condition() -> None:
    rule = "<<host>>__equals__ctl01"
    assert _classify._applies(rule, {"host": "ctl01"})
    assert not _classify._applies(rule, {"host": "x__equals__x"})
    assert not _classify._applies(rule, {})
    for broken in ("<<host>>", "<<host>>__like__x", "a__equals__b__equals__c"):
        with pytest.raises(_salt.RefusedError, match="the condition"):
            _classify._applies(broken, {"host": "ctl01"})


def test_a_graph_of_services() -> None:
    grains: dict[str, Any] = {
        "web1": {
            "ipv4": ["10.0.0.1"],
            "fqdn": "web1.example.com",
            "salt:graph": [
                {
                    "host": "web1",
                    "service": "nginx.server",
                    "type": "web",
                    "relations": [
                        {"service": "db", "host_from_target": "10.0.0.2"},
                        {"service": "db", "host_from_target": "db1.example.com"},
                        {
                            "service": "mail",
                            "host_external": "http://a:pw@mail.example.org:25/x",
                            "type": "smtp",
                        },
                    ],
                }
            ],
        },
        "db1": {"ipv4": ["10.0.0.2"], "fqdn": "db1.example.com", "salt:graph": ""},
    }
    services = _graph.graph({"web1": ["nginx.server", "linux.system"]}, grains)
    assert services == [
        {
            "host": "web1",
            "service": "nginx.server",
            "status": "unknown",
            "type": "web",
            "relations": [
                {"service": "db", "host": "db1", "status": "unknown"},
                {"service": "db", "host": "db1", "status": "unknown"},
                {"service": "mail.example.org:25", "host": "mail", "type": "smtp", "status": "unknown"},
            ],
        },
        {"host": "web1", "service": "linux.system", "status": "unknown", "relations": []},
        {
            "host": "mail",
            "service": "mail.example.org:25",
            "status": "success",
            "type": "smtp",
            "relations": [],
        },
    ]
    assert grains["web1"]["salt:graph"][0]["relations"][0]["host_from_target"] == "10.0.0.2", "not ours"


@pytest.mark.parametrize(
    "services_grain",
    [
        5,
        "text",
        {"host": "web1"},
        [5, None, "x"],
        [{"host": ["web1"], "service": {}}],
        [{"relations": 5}],
        [{"relations": ["x", 5, {"host_external": "http://[", "service": []}]}],
        [{"relations": [{"host_from_target": {"a": 1}, "status": None}]}],
    ],
)
def test_a_minion_that_sends_nonsense_spoils_no_graph(services_grain: Any) -> None:
    good = {"salt:graph": [{"host": "db1", "service": "db", "relations": []}]}
    services = _graph.graph({"web1": ["nginx"]}, {"evil": {"salt:graph": services_grain}, "db1": good})
    assert {"host": "web1", "service": "nginx", "status": "unknown", "relations": []} in services
    assert {"host": "db1", "service": "db", "status": "success", "relations": []} in services


def test_the_module_asks_minions_for_the_graph(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def cmd(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        services = [{"host": "a", "service": "b"}]
        return {"a": {"retcode": 0, "ret": {"salt:graph": services}}, "gone": {"retcode": 1, "ret": "no"}}

    (Path(settings["inventory_base_uri"]) / "nodes/web1.yml").unlink()
    monkeypatch.setattr(reclass_mod, "__opts__", {"reclass": settings}, raising=False)
    monkeypatch.setattr(reclass_mod, "__salt__", {"saltutil.cmd": cmd}, raising=False)
    graph = {"host": "a", "service": "b", "status": "success", "relations": []}
    assert reclass_mod.graph_data() == {"graph": [graph]}
    assert [arguments["fun"] for arguments in asked] == ["grains.item"]

    def elsewhere(**arguments: Any) -> None:
        raise SaltClientError("Salt request timed out. The master is not responding.")

    monkeypatch.setattr(reclass_mod, "__salt__", {"saltutil.cmd": elsewhere}, raising=False)
    with pytest.raises(CommandExecutionError, match="only the master can"):
        reclass_mod.graph_data()


def test_a_state_that_fails_says_why(settings: dict[str, Any]) -> None:
    result = state(settings, "cluster_param_present", "a b", 1)
    assert result == {
        "name": "a b",
        "result": False,
        "changes": {},
        "comment": "reclass: 'a b' cannot be the name of a parameter: only letters, digits, '_', '-' and '.' "
        "are allowed (name-refused)",
    }


def test_changes_show_no_secret(base: Path, settings: dict[str, Any]) -> None:
    first = _edits.set_param(settings, "db_password", "hunter2", "prague")
    second = _edits.set_param(settings, "db_password", "hunter3", "prague")
    nested = _edits.set_param(settings, "db", {"user": "ada", "password": "hunter4"}, "prague")
    gone = _edits.delete_param(settings, "db_password", "prague")
    node = _edits.create_node(settings, "web7", parameters={"api_token": "hunter5"})
    for edit in (first, second, nested, gone, node):
        assert edit["changed"]
        assert "hunter" not in str(edit)
    # Of a secret not even its length, nor whether a new one has the length of the old one.
    assert second["diff"].splitlines()[3:] == ["-    db_password: ***", "+    db_password: ***"]
    assert nested["new"]["user"] == "ada"
    assert "user: ada" in nested["diff"]
    path = base / "classes/cluster/prague/overrides.yml"
    assert "password: hunter4" in path.read_text()


def test_a_state_that_shows_no_changes(settings: dict[str, Any]) -> None:
    def present(**given: Any) -> dict[str, Any]:
        return state(settings, "cluster_param_present", "a", "plain", **given)

    assert present(show_changes=False)["changes"] == {"diff": "<show_changes=False>"}
    assert present(show_changes=False)["changes"] == {}
    _edits.delete_param(settings, "a")
    assert present()["changes"]["new"] == "plain"


def test_files_of_a_repository_are_not_shown(tmp_path: Path) -> None:
    place = {"repo": str(tmp_path), "branch": "main"}
    settings = {"storage_type": "yaml_git", "nodes_uri": place, "classes_uri": place}
    with pytest.raises(SettingsError, match="cannot be shown as they are written"):
        _metadata.nodes(settings)
    with pytest.raises(SettingsError, match="cannot be edited"):
        _edits.delete_node(settings, "web1")


def test_a_difference_of_revisions_only(base: Path, settings: dict[str, Any], tmp_path: Path) -> None:
    git = ["git", "-C", str(base), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    (base / "nodes/web1.yml").write_text("parameters: {a: 1}\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    (base / "nodes/web1.yml").write_text("parameters: {a: 2}\n")
    place = OfModule({"__opts__": {"reclass": settings}}, None)
    [change] = _functions_values.diff(place, "HEAD")["changes"]
    assert (change["path"], change["old"], change["new"]) == ("a", 1, 2)
    for state in (str(tmp_path), "../x", "", "-x", "/", "HEAD\n", "a" * 256, "a" * 300_000):
        with pytest.raises(_salt.RefusedError, match="revisions of git"):
            _functions_values.diff(place, state)
        with pytest.raises(_salt.RefusedError, match="revisions of git"):
            _functions_values.diff(place, "HEAD", state)
