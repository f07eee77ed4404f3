"""Edits are committed alone: what others have changed or staged stays as it is."""

from __future__ import annotations

import subprocess
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import ReclassError, _audit, _commit, _edits, _functions_nodes, _states
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OVERRIDES = "classes/cluster/prague/overrides.yml"


def git(base: Path, *arguments: str) -> str:
    me = ["-c", "user.name=me", "-c", "user.email=me@example.com"]
    done = subprocess.run(["git", *me, *arguments], cwd=base, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def base(write: Callable[[dict[str, str]], Path]) -> Path:
    base = write(
        {
            "nodes/web1": "classes: [cluster.prague.overrides]\n",
            "nodes/web2": "classes: []\n",
            "classes/cluster/prague/overrides": "parameters: {_param: {a: 1, password: old}}\n",
        }
    )
    git(base, "init", "--quiet", "--initial-branch", "main")
    git(base, "add", ".")
    git(base, "commit", "--quiet", "--message", "first")
    return base


@pytest.fixture
def settings(base: Path) -> dict[str, Any]:
    return {"inventory_base_uri": str(base)}


def test_a_commit_has_the_edit_alone(base: Path, settings: dict[str, Any]) -> None:
    (base / "nodes/web2.yml").write_text("classes: [] # staged\n")
    git(base, "add", "nodes/web2.yml")
    (base / "nodes/web2.yml").write_text("classes: [] # changed\n")
    (base / "notes").write_text("mine")
    status = git(base, "status", "--porcelain")
    with _commit.asked(True, author="Ada Byron <ada@example.com>", message="Prague moves"):
        done = _edits.set_param(settings, "a", 2, "prague")
        _edits.set_param(settings, "password", "hunter2", "prague")
        made = _edits.create_node(settings, "web3", classes=["cluster.prague.overrides"])
        gone = _edits.delete_node(settings, "web3")
        same = _edits.set_param(settings, "a", 2, "prague")
    names = git(base, "log", "--format=", "--name-only", "--reverse", f"{done['commit']}~..main").split()
    assert names == [OVERRIDES, OVERRIDES, "nodes/web3.yml", "nodes/web3.yml"]
    assert git(base, "log", "-1", "--format=%an <%ae> %s", done["commit"]) == (
        "Ada Byron <ada@example.com> Prague moves\n"
    )
    assert git(base, "rev-parse", "main").strip() == gone["commit"] != made["commit"]
    assert "commit" not in same
    # The message has the difference, without secrets.
    messages = git(base, "log", "--format=%B")
    assert "Nodes that change: 1" in messages
    assert "hunter2" not in messages
    assert "a: 2" in messages
    # All else is as it was.
    assert git(base, "status", "--porcelain") == status
    assert git(base, "show", ":nodes/web2.yml") == "classes: [] # staged\n"
    assert git(base, "show", f"main:{OVERRIDES}") == (base / OVERRIDES).read_text()


def test_an_edit_without_a_commit_is_committed_when_it_is_repeated(
    base: Path, settings: dict[str, Any]
) -> None:
    _edits.set_param(settings, "a", 2, "prague")
    made = _edits.put_node(settings, "web3", classes=["cluster.prague.overrides"])
    with _commit.asked(True):
        with pytest.raises(RefusedError, match=r"has changes that are in no commit: commit it with git"):
            _edits.set_param(settings, "a", 3, "prague")
        tried = _edits.set_param(settings, "a", 2, "prague", test=True)
        done = _edits.set_param(settings, "a", 2, "prague")
        again = _edits.set_param(settings, "a", 2, "prague")
    assert (tried["changed"], "commit" in tried) == (True, False)
    assert git(base, "rev-parse", "main").strip() == done["commit"]
    assert git(base, "show", f"main:{OVERRIDES}") == (base / OVERRIDES).read_text()
    assert "+parameters: {_param: {a: 2, password: ***}}" in git(base, "log", "-1", "--format=%B")
    assert "commit" not in again
    assert git(base, "status", "--porcelain") == "?? nodes/web3.yml\n"
    with _commit.asked(True):
        with pytest.raises(RefusedError, match="has changes that are in no commit"):
            _edits.put_node(settings, "web3", parameters={"x": 1})
        put = _edits.put_node(settings, "web3", classes=["cluster.prague.overrides"])
    assert "commit" not in made
    assert git(base, "rev-parse", "main").strip() == put["commit"]
    assert git(base, "status", "--porcelain") == ""


def test_a_node_that_is_there_or_gone_already_is_committed(
    base: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = {**settings, "serve": "tested"}
    place = SimpleNamespace(settings=lambda: served, test=bool)
    name, unserved = "web3", "no minion gets it before it is committed"

    def state(*states: dict[str, Any]) -> list[tuple[bool, bool]]:
        return [(state["changed"], unserved in state.get("warning", "")) for state in states]

    assert unserved in _functions_nodes.node_create(place, name)[name]["warning"]
    assert unserved in _functions_nodes.node_create(place, name)[name]["warning"]
    assert state(_states.node_present(served, True, name), _states.node_present(served, False, name)) == [
        (False, True),
        (False, True),
    ]
    with _commit.asked(True):
        assert "warning" not in _functions_nodes.node_create(place, name)[name]
    assert git(base, "status", "--porcelain") == ""
    assert git(base, "show", "--format=%s", "--name-only") == "node 'web3' updated\n\nnodes/web3.yml\n"
    tip = git(base, "rev-parse", "main")
    with _commit.asked(True):
        assert "warning" not in _functions_nodes.node_create(place, name)[name]
        assert state(_states.node_present(served, False, name)) == [(False, False)]
    assert git(base, "rev-parse", "main") == tip

    assert unserved in _functions_nodes.node_delete(place, name)
    assert unserved in _functions_nodes.node_delete(place, name)
    assert state(_states.node_absent(served, True, name), _states.node_absent(served, False, name)) == [
        (False, True),
        (False, True),
    ]
    with _commit.asked(True), pytest.raises(ReclassError, match="node-not-found"):
        _functions_nodes.node_delete(place, "web4")
    with _commit.asked(True):
        done = _states.node_absent(served, False, name)
    assert git(base, "rev-parse", "main").strip() == done["commit"]
    assert git(base, "status", "--porcelain") == ""
    assert "-classes: []" in git(base, "log", "-1", "--format=%B")
    assert state(_states.node_absent(served, False, name)) == [(False, False)]
    with pytest.raises(ReclassError, match="node-not-found"):
        _functions_nodes.node_delete(place, name)


def test_another_branch_gets_the_edit_and_the_files_stay(base: Path, settings: dict[str, Any]) -> None:
    before = (base / OVERRIDES).read_text()
    with _commit.asked(True, branch="review/1"):
        first = _edits.set_param(settings, "a", 2, "prague")
        second = _edits.set_param(settings, "b", 3, "prague")
        _edits.create_node(settings, "web3", classes=["cluster.prague.overrides"])
        with pytest.raises(ReclassError, match="edit-breaks") as refused:
            _edits.update_node(settings, "web3", classes=["gone"])
    # The file is there on the branch alone, and is named as it would be here.
    assert f"{base}/nodes/web3.yml" in str(refused.value)
    assert "/reclass-" not in str(refused.value) + refused.value.full_text()
    assert (first["old"], first["new"], first["branch"]) == (1, 2, "review/1")
    assert first["file"] == str(base / OVERRIDES)
    assert second["nodes"]["changed"] == 1
    assert git(base, "show", f"review/1:{OVERRIDES}") == "parameters: {_param: {a: 2, password: old, b: 3}}\n"
    assert (base / OVERRIDES).read_text() == before
    assert git(base, "status", "--porcelain") == ""
    messages = git(base, "log", "--format=%B", "main..review/1")
    assert f"--- {base / OVERRIDES}\n" in messages
    assert "/reclass-" not in messages
    assert git(base, "log", "--format=%s", "main..review/1").splitlines() == [
        "node 'web3' created",
        "parameter 'b' set",
        "parameter 'a' set",
    ]


def test_a_branch_that_is_behind_is_named(base: Path, settings: dict[str, Any]) -> None:
    with _commit.asked(True, branch="edits"):
        first = _edits.set_param(settings, "a", 2, "prague")
        assert "warning" not in first
        with pytest.raises(
            ReclassError, match=r"it would break a node .*; this is branch 'edits'\n"
        ) as error:
            _edits.update_node(settings, "web1", classes=["gone"])
        assert error.value.code == "edit-breaks"
        for name in ("brno", "plzen"):
            (base / f"classes/cluster/{name}").mkdir()
            (base / f"classes/cluster/{name}/overrides.yml").write_text("parameters: {_param: {a: 1}}\n")
            git(base, "add", ".")
            git(base, "commit", "--quiet", "--message", name)
        behind = "branch 'edits' is 2 commits behind 'main'"
        with pytest.raises(ReclassError, match=f"classes/cluster/brno'.*; {behind}$"):
            _edits.set_param(settings, "a", 2, "brno")
        done = _edits.set_param(settings, "a", 3, "prague")
    assert (done["warning"], done["comment"]) == (behind, f"parameter 'a' has been set; {behind}")


def test_what_cannot_be_committed_is_refused_before_the_edit(base: Path, settings: dict[str, Any]) -> None:
    path = base / OVERRIDES
    path.write_text("parameters: {_param: {a: 1, b: 1}}\n")
    before = path.read_text()
    for given, reason in (
        ({}, "has changes that are in no commit"),
        ({"author": "Ada"}, "'author' must be like"),
        ({"branch": "a..b"}, "is no name of a branch"),
        ({"branch": "--help"}, "is no name of a branch"),
    ):
        with pytest.raises(RefusedError, match=reason), _commit.asked(True, **given):
            _edits.set_param(settings, "a", 2, "prague")
    with pytest.raises(RefusedError, match="add commit=True"), _commit.asked(False, message="x"):
        _edits.set_param(settings, "a", 2, "prague")
    with _commit.asked(True):
        tested = _edits.create_node(settings, "web3", test=True)
    assert "commit" not in tested
    assert path.read_text() == before
    assert git(base, "rev-list", "--count", "--all").strip() == "1"


def test_a_locked_index_leaves_all_as_it_was(
    base: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_commit, "_PAUSE", 0)
    before, lock = (base / OVERRIDES).read_text(), base / ".git/index.lock"
    lock.touch()
    with pytest.raises(RefusedError, match=r"not made: .*index\.lock"), _commit.asked(True):
        _edits.set_param(settings, "a", 2, "prague")
    assert (base / OVERRIDES).read_text() == before
    # A lock that comes amid the edit: the file has changed, and that is told.
    lock.unlink()
    told: list[str] = []
    monkeypatch.setattr(_audit, "edited", lambda made, *_: told.append(made["path"]) or lock.touch())
    with pytest.raises(RefusedError, match="made, but not committed"), _commit.asked(True):
        _edits.set_param(settings, "a", 2, "prague")
    assert told == [str(base / OVERRIDES)]
    lock.unlink()
    assert git(base, "status", "--porcelain") == f" M {OVERRIDES}\n"
    assert git(base, "rev-list", "--count", "--all").strip() == "1"


def test_commits_at_the_same_time_lose_nothing(base: Path, settings: dict[str, Any]) -> None:
    failed: list[BaseException] = []

    def edit(number: int) -> None:
        try:
            with _commit.asked(True):
                _edits.create_node(settings, f"new{number}")
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert git(base, "rev-list", "--count", "main").strip() == "5"
    files = git(base, "ls-tree", "--name-only", "main", "nodes/").split()
    assert {f"nodes/new{number}.yml" for number in range(4)} <= set(files)
