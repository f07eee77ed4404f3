"""An edit of an inventory in git is a commit on a branch that is pushed, and nothing else changes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import (
    Inventory,
    ReclassError,
    _commit,
    _edits,
    _fleet,
    _functions_fleet,
    _functions_nodes,
    _push,
)
from saltext.reclass._place import OfModule, Place
from saltext.reclass._salt import RefusedError

from tests.python.test_commit import OVERRIDES, git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {
    "inventory/nodes/web1": "classes: [cluster.prague.overrides, role.web]\r\n",
    "inventory/nodes/db1": "parameters: {a: 1}\n",
    "inventory/classes/role/web": (
        "parameters: {listen: '${_param:address}:80', password: '${_param:password}'}\n"
    ),
    "inventory/classes/cluster/prague/overrides": "parameters:\n  _param: {address: a1, password: old}\n",
}


@pytest.fixture
def base(write: Callable[[dict[str, str]], Path], tmp_path: Path) -> Path:
    """A clone with the branch `main` pushed to `served.git` beside it."""
    base = write({})
    for name, text in FILES.items():
        path = base / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (base / ".gitattributes").write_text("* text eol=crlf\n")
    git(base, "init", "--quiet", "--initial-branch", "main")
    git(base, "-c", "core.autocrlf=false", "add", ".")
    git(base, "commit", "--quiet", "--message", "first")
    git(tmp_path, "clone", "--quiet", "--bare", str(base), "served.git")
    git(base, "remote", "add", "origin", str(tmp_path / "served.git"))
    return base


@pytest.fixture
def settings(base: Path, tmp_path: Path) -> dict[str, Any]:
    tree = {"repo": str(tmp_path / "served.git"), "branch": "main"}
    folders = {"cache_dir": str(tmp_path / "cache"), "lock_dir": str(tmp_path / "lock")}
    return {
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, **folders, "root": "inventory/nodes"},
        "classes_uri": {**tree, **folders, "root": "inventory/classes"},
        "git_fetch_interval": 0,
        "serve": "tested",
        "edit_branch": "edits",
    }


def place(settings: dict[str, Any]) -> Place:
    return OfModule({"__opts__": {"reclass": settings}}, None)


def text(served: Path, branch: str, path: str = f"inventory/{OVERRIDES}") -> str:
    return git(served, "show", f"{branch}:{path}")


def test_an_edit_is_a_commit_of_the_branch(settings: dict[str, Any], tmp_path: Path) -> None:
    served = tmp_path / "served.git"
    inventory = Inventory(**settings)
    assert inventory.pillar("web1")["listen"] == "a1:80"
    tested = _edits.set_param(settings, "address", "a2", "prague", test=True)
    assert (tested["branch"], "commit" in tested) == ("edits", False)
    assert git(served, "branch", "--format=%(refname:short)").split() == ["main"]

    with _commit.asked(True, author="Ada Byron <ada@example.com>", message="Prague moves"):
        first = _edits.set_param(settings, "address", "a2", "prague")
    assert first["file"] == f"{served} edits inventory/{OVERRIDES}"
    assert (first["old"], first["new"], first["nodes"]["changed"]) == ("a1", "a2", 1)
    second = _edits.set_param(settings, "password", "hunter2", "prague")
    classes = ["role.web", "cluster.prague.overrides"]
    made = _functions_nodes.node_create(place(settings), "web2", classes=classes)
    assert git(served, "rev-parse", "edits").strip() == made["web2"]["commit"]
    assert git(served, "rev-parse", "edits~2").strip() == first["commit"]
    assert text(served, "edits") == FILES[f"inventory/{OVERRIDES[:-4]}"].replace("a1", "a2").replace(
        "old", "hunter2"
    )
    # Nothing but the file of the edit, whatever attributes would do to others.
    names = git(served, "log", "--format=", "--name-only", "main..edits").split()
    assert names == ["inventory/nodes/web2.yml", *[f"inventory/{OVERRIDES}"] * 2]
    log = git(served, "log", "--format=%an %s", "main..edits").splitlines()
    assert log[1:] == ["root parameter 'password' set", "Ada Byron Prague moves"]
    # The message has the file, and the values of nodes, without secrets.
    message = git(served, "show", "--no-patch", "--format=%B", first["commit"])
    assert f"--- inventory/{OVERRIDES}\n" in message
    assert "web1\n  parameters _param:address\n    - a1  inventory/classes/cluster/prague" in message
    assert "  parameters listen\n    - a1:80  inventory/classes/role/web.yml:1:" in message
    assert "hunter2" not in git(served, "log", "--format=%B", "main..edits") + str(second)
    # The branch that is served, and what a master has fetched of it, are as they were.
    assert git(served, "rev-list", "--count", "main").strip() == "1"
    assert inventory.pillar("web1")["listen"] == "a1:80"
    assert _edits.set_param(settings, "address", "a2", "prague")["changed"] is False


def test_a_node_is_deleted_by_a_commit(settings: dict[str, Any], tmp_path: Path) -> None:
    served = tmp_path / "served.git"
    assert _functions_nodes.node_delete(place(settings), "db1") == "Node db1 deleted"
    names = git(served, "diff", "--name-status", "main", "edits").split()
    assert names == ["D", "inventory/nodes/db1.yml"]


def test_a_merged_branch_goes_on_from_the_served_one(
    settings: dict[str, Any], base: Path, tmp_path: Path
) -> None:
    served = tmp_path / "served.git"
    _edits.set_param(settings, "address", "a2", "prague")
    git(base, "fetch", "--quiet", "origin")
    git(base, "merge", "--quiet", "--no-ff", "--no-edit", "origin/edits")
    git(base, "commit", "--quiet", "--allow-empty", "--message", "more")
    git(base, "push", "--quiet", "origin", "main")
    _edits.set_param(settings, "address", "a3", "prague")
    assert git(served, "rev-parse", "edits~1", "main").split()[0] == git(served, "rev-parse", "main").strip()
    # An edit of the branch that is served is served.
    with _commit.asked(True, branch="main"):
        _edits.set_param(settings, "address", "a4", "prague")
    assert Inventory(**settings).pillar("web1")["listen"] == "a4:80"


def test_a_branch_that_is_behind_is_named(settings: dict[str, Any], base: Path, tmp_path: Path) -> None:
    # Each edit is a commit, so nothing else has to ask for one.
    with _commit.asked(False, author="Ada Byron <ada@example.com>", message="Prague moves"):
        first = _edits.set_param(settings, "address", "a2", "prague")
    assert git(tmp_path / "served.git", "log", "-1", "--format=%an %s", "edits") == "Ada Byron Prague moves\n"
    assert "warning" not in first
    (base / "inventory/classes/cluster/brno").mkdir()
    (base / "inventory/classes/cluster/brno/overrides.yml").write_text("parameters: {_param: {a: 1}}\n")
    git(base, "add", ".")
    git(base, "commit", "--quiet", "--message", "brno")
    git(base, "push", "--quiet", "origin", "main")
    behind = "branch 'edits' is 1 commit behind 'main'"
    with pytest.raises(ReclassError, match=f"classes/cluster/brno'.*; {behind}$"):
        _edits.set_param(settings, "a", 2, "brno")
    with pytest.raises(ReclassError, match=f"; {behind}$"):
        _functions_nodes.node_delete(place(settings), "gone")
    done = _edits.set_param(settings, "address", "a3", "prague")
    assert (done["warning"], done["comment"]) == (behind, f"parameter 'address' has been set; {behind}")


def test_what_cannot_be_pushed_is_an_error_and_changes_nothing(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    served = tmp_path / "served.git"
    for more, reason in (
        ({"edit_branch": None}, "cannot be edited|in no repository|storage"),
        ({"edit_branch": "a..b"}, "'a..b' is no branch"),
        ({"edit_branch": "--help"}, "'--help' is no branch"),
        ({"compose_node_name": True}, "cannot be edited with the setting 'compose_node_name'"),
        ({"classes_uri": {**settings["classes_uri"], "branch": "__env__"}}, "in one branch each"),
    ):
        with pytest.raises((RefusedError, ReclassError), match=reason):
            _edits.set_param({**settings, **more}, "address", "a2", "prague")
    with pytest.raises(RefusedError, match="name the branch"), _commit.asked(True):
        _edits.set_param({**settings, "edit_branch": None}, "address", "a2", "prague")
    with pytest.raises(ReclassError) as breaks:
        _edits.update_node(settings, "web1", classes=["role.wbe"])
    assert "\n  inventory/nodes/web1.yml:" in f"\n  {breaks.value.full_text()}"
    assert "/tmp" not in str(breaks.value)
    hook = served / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho only reviews >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(
        RefusedError, match=r"does not take the commit, and the edit is not made: only reviews"
    ):
        _edits.set_param(settings, "address", "a2", "prague")
    hook.unlink()
    served.rename(tmp_path / "away.git")
    with pytest.raises(ReclassError, match="git-fetch"):
        _edits.set_param(settings, "address", "a2", "prague")
    (tmp_path / "away.git").rename(served)
    assert git(served, "branch", "--format=%(refname:short)").split() == ["main"]


def test_edits_at_the_same_time_lose_nothing(settings: dict[str, Any], tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def edit(number: int) -> None:
        try:
            _edits.create_node(settings, f"new{number}")
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    files = git(tmp_path / "served.git", "ls-tree", "--name-only", "edits", "inventory/nodes/").split()
    assert {f"inventory/nodes/new{number}.yml" for number in range(3)} <= set(files)


def test_the_message_is_bounded(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_push, "_SHOWN", 3)
    done = _edits.set_param(settings, "address", "a2", "prague")
    message = git(tmp_path / "served.git", "show", "--no-patch", "--format=%B", done["commit"])
    assert message.strip().endswith(" more lines")


def test_status_and_drift_name_what_is_served(settings: dict[str, Any], tmp_path: Path) -> None:
    opts = {"cachedir": str(tmp_path / "master"), "cache": "localfs", "__role": "master"}
    opts["ext_pillar"] = [{"reclass": settings}]  # type: ignore[assignment]
    runner: Any = SimpleNamespace(
        opts=opts,
        salt={"cache.pillar": lambda tgt: {}},
        settings=lambda _: settings,
        with_grains=lambda own, _: own,
        with_code=lambda answer, _: answer,
    )
    served = tmp_path / "served.git"
    _functions_fleet.drift(runner)
    assert _fleet.last_drift(opts, str(served))["drift_minions"] == 0
    [inventory] = _functions_fleet.status(runner)["inventories"]
    assert inventory["revision"] == f"{git(served, 'rev-parse', 'main')[:8]} of main"
    assert inventory["sources"][0]["source"] == str(served)
