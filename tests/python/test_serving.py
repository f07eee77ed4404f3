"""``serve`` for folders in a repository: Salt reads the commit that is checked out."""

from __future__ import annotations

import json
import os
import shutil
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import (
    Editor,
    Inventory,
    ReclassError,
    _check,
    _commit,
    _edits,
    _functions_classify,
    _functions_nodes,
    _metadata,
    _revision,
    _salt,
    _states,
)
from saltext.reclass._place import OfModule, OfRunner
from saltext.reclass.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import GitSite

FILES = {
    "nodes/dc/web1": "classes: [b.c]\nparameters: {n: 1}\n",
    "nodes/_x/web2": "classes: [a]\n",
    "classes/a": "parameters: {v: 1, full: '${_reclass_:name:full}'}\n",
    "classes/b/init": "classes: [a]\n",
    "classes/b/c": "classes: [b, .d]\n",
    "classes/b/d": "parameters: {d: 1}\n",
}


@pytest.fixture
def settings(git_site: GitSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    for folder in ("nodes/dc", "nodes/_x", "classes/b"):
        (git_site.repo / folder).mkdir()
    git_site.commit(FILES)
    return {"inventory_base_uri": str(git_site.repo), "git_fetch_interval": 0}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"compose_node_name": True},
        {"class_mappings": ["./web* a", "dc/* a"], "class_mappings_match_path": True},
    ],
)
def test_names_and_values_are_those_of_the_folders(settings: dict[str, Any], more: dict[str, Any]) -> None:
    folders, served = Inventory(**settings, **more), Inventory(**settings, **more, serve="tested")
    assert served.nodes() == folders.nodes()
    for name in folders.nodes():
        assert served.pillar(name) == folders.pillar(name)
    assert served.state()["revision"].endswith(" of HEAD")


def test_a_commit_is_served_and_a_file_is_not(settings: dict[str, Any], git_site: GitSite) -> None:
    served = Inventory(**settings, serve="tested")
    assert served.pillar("web1")["v"] == 1
    (git_site.repo / "classes/a.yml").write_text("parameters: {v: 2}\n")
    assert served.pillar("web1")["v"] == 1
    git_site.commit({})
    assert served.pillar("web1")["v"] == 2
    # A commit that breaks a node, and the one before it, checked out without a branch.
    git_site.commit({"nodes/dc/web1": "classes: [gone]\n", "classes/a": "parameters: {v: 3}\n"})
    assert (served.pillar("web1")["v"], served.pillar("web2")["v"]) == (2, 3)
    [problem] = _check._held(served, [])
    assert "HEAD nodes/dc/web1.yml:1:11: no class 'gone'" in problem
    git_site.git("checkout", "-q", "--detach", "HEAD~1")
    assert (served.pillar("web1")["v"], served.pillar("web2")["v"]) == (2, 2)
    assert _check._held(served, []) == []


def test_an_edit_is_served_with_its_commit(
    settings: dict[str, Any], git_site: GitSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = {**settings, "serve": "whole"}
    served = Inventory(**on)
    assert served.pillar("web2")["v"] == 1
    folders = {"classes": [str(git_site.repo / "classes")], "nodes": [str(git_site.repo / "nodes")]}
    assert Editor(**on).folders() == folders
    logged: list[str] = []
    logger = SimpleNamespace(warning=lambda form, *of: logged.append(form % of))
    monkeypatch.setattr(_commit, "log", logger)
    done = _edits.update_node(on, "web2", parameters={"more": 1})
    assert (done["changed"], done["file"]) == (True, str(git_site.repo / "nodes/_x/web2.yml"))
    unserved = (
        "no minion gets it before it is committed (setting 'serve'): "
        "commit it with git, and make edits with commit=True"
    )
    assert done["warning"] == unserved
    assert done["comment"] == f"node 'web2' has been updated; {unserved}"
    [line] = logged
    assert line == f"edit of '{git_site.repo}/nodes/_x/web2.yml': {unserved}"
    assert "_param" not in served.pillar("web2")
    git_site.commit({})
    assert served.pillar("web2")["_param"] == {"more": 1}
    # Without a change there is nothing to commit, and without `serve` nobody waits for a commit.
    assert "warning" not in _edits.update_node(on, "web2", parameters={"more": 1})
    assert "warning" not in _edits.update_node(settings, "web2", parameters={"more": 3}, test=True)
    assert _edits.update_node(on, "web2", parameters={"more": 3}, test=True)["warning"] == unserved
    with _commit.asked(True, message="one parameter more"):
        done = _edits.update_node(on, "web2", parameters={"more": 2})
    assert done["commit"] == git_site.git("rev-parse", "HEAD")
    assert served.pillar("web2")["_param"] == {"more": 2}
    assert "warning" not in done
    assert _revision.checked_out(on) == [git_site.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD")] * 2


def test_each_answer_of_an_edit_says_that_no_minion_gets_it(
    settings: dict[str, Any], git_site: GitSite
) -> None:
    on = {**settings, "serve": "whole"}
    unserved = "no minion gets it before it is committed"
    variables = {"__name__": "states", "__opts__": {"reclass": on}}
    place, states = OfModule(variables, None), _states.of_module(variables)
    assert unserved in _functions_nodes.node_create(place, "web3")["web3"]["warning"]
    assert unserved in _functions_nodes.node_update(place, "web3", classes=["a"])["web3"]["warning"]
    assert unserved in _functions_nodes.node_delete(place, "web3")
    rules = {"all": {"expression": "all", "node_class": {"value": ["a"]}}}
    assert unserved in _functions_classify.node_classify(place, "web4", {}, rules)["warning"]
    state = states["node_present"]("web5", classes=["a"])
    assert (state["result"], unserved in state["comment"]) == (True, True)
    assert unserved in states["node_absent"]("web5")["comment"]
    # The rest is committed as it is made.
    (git_site.repo / "nodes/_generated/web4.yml").unlink()
    state = states["node_present"]("web6", classes=["a"], commit=True)
    assert (state["result"], unserved in state["comment"]) == (True, False)
    assert git_site.git("log", "-1", "--format=%s", "--name-only").split("\n") == [
        "node 'web6' created",
        "",
        "nodes/web6.yml",
    ]
    state = states["dynamic_node_present"]("web7", node_data={}, class_mapping=rules, commit=True)
    assert state["result"], state
    with _commit.asked(True):
        opts = {"ext_pillar": [{"reclass": on}]}
        runner = OfRunner({"__opts__": opts, "__salt__": {"cache.grains": grains}}, None)
        done = _functions_classify.classify_minion(runner, "web8", rules)
    assert (sorted(done), "warning" in done["node_create"]["web8"]) == (
        ["cluster_param", "node_create"],
        False,
    )
    assert git_site.git("status", "--porcelain") == ""
    assert [name for name in Inventory(**on).nodes() if name > "web2"] == ["web6", "web7", "web8"]


def grains(**_: Any) -> dict[str, Any]:
    return {"web8": {"reclass": {"a": 1}}}


def test_the_check_names_files_that_no_minion_gets(
    settings: dict[str, Any], git_site: GitSite, tmp_path: Path
) -> None:
    on = {**settings, "serve": "tested"}

    def remarks(settings: dict[str, Any] = on) -> list[str]:
        opts = {"ext_pillar": [{"reclass": settings}], "cachedir": str(tmp_path / "salt"), "__role": "master"}
        found = _check.check(opts)
        assert found["problems"] == []
        return [remark for remark in found["remarks"] if "no minion gets" in remark]

    (git_site.repo / "notes.yml").write_text("a: 1\n")
    (git_site.repo / "nodes/.hidden.yml").write_text("a: 1\n")
    assert remarks() == []
    (git_site.repo / "classes/a.yml").write_text("parameters: {v: 2}\n")
    begin = "with the setting 'serve' no minion gets changes that are in no commit, as those of "
    assert remarks() == [f"{begin}'{git_site.repo}/classes/a.yml'"]
    (git_site.repo / ".gitignore").write_text("web9.yml\n")
    (git_site.repo / "nodes/dc/web9.yml").write_text("classes: [a]\n")
    (git_site.repo / "nodes/dc/web1.yml").unlink()
    git_site.git("add", "nodes")
    assert remarks() == [f"{begin}'{git_site.repo}/classes/a.yml' and 2 more"]
    assert remarks(settings) == []


def test_the_check_says_how_commits_are_noticed(settings: dict[str, Any], tmp_path: Path) -> None:
    on = {**settings, "serve": "tested", "git_fetch_interval": 5}
    opts = {"ext_pillar": [{"reclass": on}], "cachedir": str(tmp_path / "salt"), "__role": "master"}
    [inventory] = _check.check(opts)["inventories"]
    assert inventory["changes"] == "the repositories are fetched again after 5 s"
    assert inventory["git"] == [str(tmp_path / f"home/.reclass/git/{name}") for name in ("cache", "lock")]
    assert inventory["edits"] == "possible"
    [record] = (tmp_path / "home/.reclass/git/cache").glob("*/reclass-record")
    assert json.loads(record.read_text())["served"]
    _check.at_start({**opts, "ext_pillar": [{"reclass": settings}]})
    assert not any(json.loads(record.read_text())["served"].values())


def test_the_metrics_fetch_and_test_nothing(settings: dict[str, Any], git_site: GitSite) -> None:
    served = Inventory(**settings, serve="tested")
    assert served.pillar("web1")["v"] == 1
    states, delivery = served.fetch_states(), served.last_delivery()
    git_site.commit({"classes/a": "parameters: {v: 2}\n"})
    assert (served.fetch_states(), served.last_delivery()) == (states, delivery)
    assert served.pillar("web1")["v"] == 2
    assert served.fetch_states() != states


def test_what_cannot_be_served_as_commits(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(
        ReclassError, match=r"HEAD new': the commit has no node in it \(directory-not-found\)"
    ):
        Inventory(**settings, nodes_uri="new", serve="tested", node_not_found="empty").pillar("web1")
    (tmp_path / "plain/nodes").mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"'serve' must be one of now, as '.*/plain/nodes' is in no repo"):
        Inventory(inventory_base_uri=str(tmp_path / "plain"), serve="tested")
    with pytest.raises(
        SettingsError, match="'serve' must be one of now, as 'classes_uri' has several folders"
    ):
        Inventory(**settings, classes_uri=["classes", "more"], serve="tested")


def test_who_validates_decides_by_the_settings_of_the_master(
    settings: dict[str, Any], git_site: GitSite
) -> None:
    (git_site.repo / "schemas").mkdir()
    served = Inventory(**settings, serve="tested")
    assert served.pillar("web2")["v"] == 1
    git_site.commit({"classes/a": "parameters: {v: 2, port: eighty}\n", "schemas/port": "type: integer\n"})
    # The master checks no schemas, and the first one to ask is not the master.
    given = {**settings, "serve": "tested"}
    errors = _metadata.pillar_errors(given, "web2", schemas=True)
    assert "(schema)" in errors["web2"]
    assert _metadata.pillar_errors(given, "web2") == {"web2": ""}
    assert served.pillar("web2")["v"] == 2
    status = served.status()
    assert (status["failing"], status["delivery"]["held"]) == (0, [])


def test_a_git_that_fails_is_no_verdict_on_a_commit(
    settings: dict[str, Any], git_site: GitSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    (tmp_path / "bin").mkdir()
    fails = tmp_path / "fails"
    program = tmp_path / "bin/git"
    program.write_text(
        f'#!/bin/sh\n[ -e {fails} ] && case "$*" in *cat-file*|*ls-tree*) exit 1;; esac\nexec {git} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    served = Inventory(**settings, serve="tested")
    assert served.pillar("web2")["v"] == 1
    git_site.commit({"classes/a": "parameters: {v: 2}\n"})
    fails.touch()
    assert served.pillar("web2")["v"] == 1
    fails.unlink()
    delivery = served.delivery()
    assert (delivery["held"], delivery["is_served"]) == ([], True)
    assert "waiting" in delivery
    deadline = time.monotonic() + 120
    while served.pillar("web2")["v"] == 1:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert served.pillar("web2")["v"] == 2


def test_entries_with_other_options_are_a_remark(settings: dict[str, Any]) -> None:
    given = {**settings, "serve": "tested"}
    pillars, tops = [{"reclass": {**given, "canary": {"match": "web1"}}}], {"reclass": given}
    report = _check.check({"ext_pillar": pillars, "master_tops": tops, "__role": "master"})
    assert any("the first entry of ext_pillar alone" in remark for remark in report["remarks"])
    report = _check.check({"ext_pillar": [{"reclass": given}], "master_tops": tops, "__role": "master"})
    assert not any("the first entry of ext_pillar alone" in remark for remark in report["remarks"])


def test_states_are_of_the_commit_of_the_pillar(settings: dict[str, Any], git_site: GitSite) -> None:
    given = {**settings, "serve": "tested", "canary": {"match": "web1"}}
    opts: dict[str, Any] = {"__role": "master", "ext_pillar": [{"reclass": given}]}
    opts["master_tops"] = {"reclass": {**given, "class_wildcards": True}}

    def of(node: str) -> tuple[int, list[str]]:
        # The states first.
        top = _salt.top({"id": node}, opts)["base"]
        return _salt.pillar(node, {}, (), given, opts)["v"], top

    git_site.commit({"classes/a": "applications: [one]\nparameters: {v: 1}\n"})
    assert [of("web1"), of("web2")] == [(1, ["one"])] * 2
    for value, promote in ((2, True), (3, False)):
        git_site.commit({"classes/a": f"applications: [s{value}]\nparameters: {{v: {value}}}\n"})
        old = of("web2")
        _salt.pillar("web1", {}, (), given, opts)
        assert [of("web1"), of("web2")] == [(value, [f"s{value}"]), old]
        assert Inventory(**given).end_trial(promote)
        assert [of("web1"), of("web2")] == ([(value, [f"s{value}"])] * 2 if promote else [old] * 2)


@pytest.mark.parametrize("rule", [{}, {"serve": "tested"}])
def test_the_rule_is_that_of_the_entry_that_makes_pillars(
    rule: dict[str, Any], settings: dict[str, Any]
) -> None:
    given = {**settings, **({} if rule else {"serve": "tested"})}
    opts: dict[str, Any] = {"__role": "master", "ext_pillar": [{"reclass": given}]}
    base = settings["inventory_base_uri"]
    for spelled in (
        {"inventory_base_uri": f"{base}/"},
        {"inventory_base_uri": "/srv", "nodes_uri": f"{base}/nodes", "classes_uri": f"{base}/classes"},
        {"inventory_base_uri": base, "nodes_uri": "./nodes", "storage_type": "yaml_fs"},
    ):
        read = _salt.settings_of({**spelled, **rule, "ignore_class_notfound": True}, opts)
        assert (read.get("serve"), read.get("_asker")) == ((None, None) if rule else ("tested", "guest"))


def test_two_configurations_do_not_take_turns(settings: dict[str, Any], git_site: GitSite) -> None:
    given = {**settings, "serve": "tested", "_asker": "master"}
    strict, laxer = Inventory(**given), Inventory(**given, ignore_class_notfound=True)
    assert [strict.pillar("web2")["v"], laxer.pillar("web2")["v"]] == [1, 1]
    git_site.commit({"nodes/_x/web2": "classes: [a, gone]\n", "classes/a": "parameters: {v: 2}\n"})
    # The laxer one is the newer process, and it decides.
    assert strict.pillar("web2")["v"] == 1
    assert laxer.pillar("web1")["v"] == 2
    [record] = (git_site.repo.parent / "home").rglob("reclass-record")
    written = json.loads(record.read_text())["served"]
    for inventory in (strict, laxer) * 3:
        inventory.pillar("web1")
        assert json.loads(record.read_text())["served"] == written


def test_a_runner_with_an_edited_file_ends_no_trial(settings: dict[str, Any], git_site: GitSite) -> None:
    given = {**settings, "serve": "tested", "canary": {"match": "web1"}}
    master = Inventory(**given, _asker="master")
    assert master.pillar("web1")["v"] == 1
    git_site.commit({"classes/a": "parameters: {v: 2}\n"})
    assert [master.pillar(node)["v"] for node in ("web1", "web2")] == [2, 1]
    time.sleep(1.1)
    runner = Inventory(**given, canary_for=1, _asker="guest")
    assert [runner.pillar(node)["v"] for node in ("web1", "web2")] == [2, 1]


def test_each_tree_of_nodes_has_its_decision(settings: dict[str, Any], git_site: GitSite) -> None:
    given = {**settings, "serve": "tested"}
    (git_site.repo / "others").mkdir()
    other = {**given, "nodes_uri": str(git_site.repo / "others")}
    git_site.commit({"others/db1": "classes: [a]\n"})
    pillars = [{"reclass": given}, {"reclass": other}]
    opts: dict[str, Any] = {"__role": "master", "ext_pillar": pillars}
    assert _salt.settings_of(other, opts)["_asker"] == "master"
    assert _salt.pillar("db1", {}, (), other, opts)["v"] == 1
    git_site.commit({"others/db1": "classes: [a, gone]\n"})
    assert _salt.pillar("db1", {}, (), other, opts)["v"] == 1


def test_who_asks_by_other_options_takes_no_pillar(settings: dict[str, Any], git_site: GitSite) -> None:
    strict = {**settings, "serve": "tested"}
    laxer = {**strict, "ignore_class_notfound": True}
    pillars = [{"reclass": strict}]
    opts: dict[str, Any] = {"__role": "master", "ext_pillar": pillars, "master_tops": {"reclass": laxer}}

    def values(given: dict[str, Any], opts: dict[str, Any]) -> list[int]:
        return [_salt.pillar(node, {}, (), given, opts)["v"] for node in ("web1", "web2")]

    assert values(strict, opts) == [1, 1]
    git_site.commit({"nodes/dc/web1": "classes: [a, gone]\n", "classes/a": "parameters: {v: 2}\n"})
    assert values(strict, opts) == [1, 2]
    # The states by other options, a runner that reads an edited file, and salt-ssh.
    _salt.top({"id": "web2"}, opts)
    edited = {**laxer, "class_wildcards": True}
    for program in ("salt-run", "salt-ssh", "salt-call"):
        run = {"__role": "master", "__cli": program, "ext_pillar": [{"reclass": edited}]}
        assert values(edited, run) == [1, 2]
    # A restart of the master with a changed setting begins with the last decision.
    changed = {**strict, "class_wildcards": True}
    assert values(changed, {**opts, "ext_pillar": [{"reclass": changed}]}) == [1, 2]
    # A program that is no master forgets nothing.
    fixed = {**opts, "ext_pillar": [{"reclass": settings}], "master_tops": {}}
    for program in ("salt-api", "salt-call", "salt-minion", "script.py"):
        _check.at_start({**fixed, "__cli": program})
        assert values(strict, opts) == [1, 2]
    _check.at_start({**fixed, "__cli": "salt-master"})
    with pytest.raises(ReclassError):
        values({**strict, "group_errors": False}, {**opts, "ext_pillar": []})
