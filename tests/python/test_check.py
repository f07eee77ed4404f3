"""The report on the setup of a master, without Salt around."""

from __future__ import annotations

import json
import logging
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import _check, _metadata, _metrics, _versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import GitSite, Write

FILES = {"nodes/web1": "classes: [web]", "classes/web": "parameters: {a: 1}"}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def options(given: Any, **more: Any) -> dict[str, Any]:
    return {"__role": "master", "ext_pillar": [{"reclass": given}], "master_tops": {"reclass": given}, **more}


def test_a_master_that_is_well(write: Write) -> None:
    base = write(FILES)
    report = _check.check(options({"inventory_base_uri": str(base)}))
    assert (report["problems"], report["remarks"], report["retcode"]) == ([], [], 0)
    [inventory] = report["inventories"]
    [source] = inventory.pop("sources")
    assert source["source"] == str(base)
    assert inventory.pop("revision") == source["fingerprint"][:8]
    assert inventory == {
        "configured": ["ext_pillar", "master_tops"],
        "nodes": [f"{base}/nodes"],
        "classes": [f"{base}/classes"],
        "node_count": 1,
        "edits": "possible",
        "changes": "the kernel reports them (inotify)",
    }


def test_empty_files_are_named(write: Write) -> None:
    base = write({**FILES, "classes/web": ""})
    settings = {"inventory_base_uri": str(base)}
    name = f"'{base}/classes/web.yml' is empty"
    report = _check.check(options(settings))
    assert (report["problems"], report["retcode"]) == ([], 0)
    assert [remark for remark in report["remarks"] if remark.startswith(name)]
    errors = _metadata.pillar_errors(settings)
    assert set(errors.values()) == {""}
    assert _metadata.with_empty_files(settings, errors)["web1"].startswith(f"warning: {name}")
    settings["empty_files"] = "error"
    report = _check.check(options(settings))
    assert [problem for problem in report["problems"] if problem.startswith(name)]
    assert "(file-empty)" in _metadata.pillar_errors(settings)["web1"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"nodes_uri": "gone"}, "/gone' is not there"),
        ({"nodes_uri": 5}, "setting 'nodes_uri' must be a path"),
        ({"class_mappings": ["/x(/ y"]}, "setting 'class_mappings': '/x(/ y'"),
        (["inventory_base_uri"], "must be a mapping of options"),
    ],
)
def test_options_that_cannot_work(write: Write, given: Any, problem: str) -> None:
    base = write(FILES)
    given = {"inventory_base_uri": str(base), **given} if isinstance(given, dict) else given
    report = _check.check(options(given))
    [found] = report["problems"]
    assert problem in found
    assert report["retcode"] == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ext_pillar": {"reclass": {}}}, "ext_pillar must be a list"),
        ({"ext_pillar": ["reclass"]}, "each entry of ext_pillar must be a mapping"),
        ({"master_tops": [{"reclass": {}}]}, "master_tops must be a mapping"),
        ({"ext_pillar": [{"Reclass": {}}], "master_tops": {}}, "ext_pillar has 'Reclass', which Salt"),
        ({"master_tops": {"RECLASS": {}}}, "master_tops has 'RECLASS', which Salt"),
        ({"ext_pillar": [{"reclas": {}}]}, "ext_pillar has 'reclas', which Salt does not know"),
        ({"ext_pillar": [{"relcass": {}}], "master_tops": {}}, "ext_pillar has 'relcass', which Salt"),
        ({"ext_pillar": [{"reclass": None, "nodes_uri": "n"}]}, "ext_pillar has 'nodes_uri' beside"),
        ({"master_tops": {"reclass": None, "nodes_uri": "n"}}, "master_tops has 'nodes_uri' beside"),
    ],
)
def test_options_of_salt_that_cannot_work(
    write: Write, logged: list[str], change: dict[str, Any], problem: str
) -> None:
    opts = options({"inventory_base_uri": str(write(FILES))}, **change)
    report = _check.check(opts)
    assert report["retcode"] == 1
    assert report["problems"][0].startswith(problem), report
    assert not any("no inventory is configured" in text for text in report["problems"])
    _check.at_start(opts)
    assert any(line.startswith(f"the configuration of the master cannot work: {problem}") for line in logged)


def test_other_pillars_and_tops_are_none_of_ours(write: Write) -> None:
    given = {"inventory_base_uri": str(write(FILES))}
    opts = options(given, ext_pillar=[{"cmd_yaml": "cat"}, {"redis": {}}, {"reclass": given, "git": []}])
    opts["master_tops"]["ext_nodes"] = "cobbler"
    report = _check.check(opts)
    assert (report["problems"], report["remarks"]) == ([], [])


def test_tops_that_are_missing_are_a_remark(write: Write) -> None:
    opts = options({"inventory_base_uri": str(write(FILES))}, master_tops={})
    report = _check.check(opts)
    assert (report["problems"], report["retcode"]) == ([], 0)
    assert report["remarks"] == ["master_tops has no 'reclass': the applications of the nodes are no states"]


def test_a_pillar_that_is_missing_is_a_remark(write: Write) -> None:
    given = {"inventory_base_uri": str(write(FILES))}
    report = _check.check(options(given, ext_pillar=[{"git": given}]))
    assert (report["problems"], report["retcode"]) == ([], 0)
    assert report["remarks"] == ["ext_pillar has no 'reclass': minions get no pillar from it"]


def test_a_start_logs_one_line_for_options_that_cannot_work(logged: list[str]) -> None:
    opts = options({"nodes_uri": 5, "inventory_base_uri": "/of-this-test"})
    _check.at_start({**opts, "__cli": "salt-run"})
    assert logged == []
    _check.at_start(opts)
    _check.at_start(opts)
    [line] = logged
    assert line.startswith(
        "the options of reclass in ext_pillar and master_tops cannot work: setting 'nodes_uri'"
    )


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    yield lines
    logging.getLogger().removeHandler(handler)


def test_a_master_that_never_ran_can_be_checked(write: Write, tmp_path: Path) -> None:
    opts = options({"inventory_base_uri": str(write(FILES))}, cachedir=str(tmp_path / "cache"))
    _check.at_start(opts)
    assert not (tmp_path / "cache").exists()
    _check.at_start({**opts, "__cli": "salt-run"})
    assert (tmp_path / "cache/proc").is_dir()


def test_a_start_without_tests_forgets_what_was_served(git_site: GitSite, tmp_path: Path) -> None:
    git_site.commit({"nodes/n": "parameters: {a: 1}\n"})
    off = git_site.settings
    on = {**off, "serve": "whole", "canary": {"match": "wbe*"}}
    assert _metadata.opened(on).pillar("n")["a"] == 1
    [record] = (tmp_path / "cache").glob("*/reclass-record")
    # The first entry tests, and the rule is that of the first.
    _check.at_start({"__role": "master", "ext_pillar": [{"reclass": on}, {"reclass": off}]})
    assert all(json.loads(record.read_text())["served"].values())
    assert "'match: wbe*' of the setting 'canary' matches no node" in _check.check(options(on))["problems"]
    _check.at_start(options(off))
    assert not any(json.loads(record.read_text())["served"].values())
    untested = _check.check(options({**off, "canary": {"percent": 5}}))["problems"]
    assert any("'canary' has no effect, because 'serve' is 'now'" in problem for problem in untested)
    git_site.commit({"nodes/n": "parameters: {a: 2}\n"})
    assert _metadata.opened(off).pillar("n")["a"] == 2
    assert _metadata.opened(on).pillar("n")["a"] == 2


@pytest.fixture
def tester() -> Iterator[Callable[[Any], None]]:
    """Begins a process that may test commits of these settings, and does not."""
    children: list[int] = []

    def begin(settings: Any) -> None:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, b"x" if _metadata.opened(settings).test_revisions() else b"-")
                signal.pause()
            finally:
                os._exit(1)
        children.append(child)
        assert os.read(reading, 1) == b"x"
        os.close(reading)
        os.close(writing)

    yield begin
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_commit_that_nobody_tests_is_a_problem(
    git_site: GitSite, tmp_path: Path, tester: Callable[[Any], None]
) -> None:
    git_site.commit({"nodes/n": "parameters: {a: 1}\n"})
    settings = {**git_site.settings, "serve": "tested"}
    assert _metadata.opened(settings).pillar("n")["a"] == 1
    tester(settings)
    git_site.commit({"nodes/n": "parameters: {a: 2}\n"})
    inventory = _metadata.opened(settings)
    assert inventory.pillar("n")["a"] == 1
    assert _check._held(inventory, []) == []
    # The commit was fetched a hundred seconds ago.
    [record] = (tmp_path / "cache").glob("*/reclass-record")
    content = json.loads(record.read_text())
    content["times"]["since"]["master"]["secs_since_epoch"] -= 100
    (tmp_path / "new").write_text(json.dumps(content))
    os.replace(tmp_path / "new", record)
    told = _check.check(options(settings))
    first, newest = git_site.git("log", "--format=%h", "--abbrev=8").split()[::-1]
    [problem] = told["problems"]
    begin, rest = problem.split(" seconds ago and is not tested, and ")
    name, seconds = begin.split(" was fetched ")
    assert (name, told["retcode"]) == (f"revision {newest} of master", 1)
    assert int(seconds) >= 100
    assert rest.startswith(f"minions have {first} of master: the process that tests takes long or hangs")
    states, delivery = inventory.fetch_states(), inventory.last_delivery()
    numbers = _metrics.of_inventory("x", "y", states, delivery)
    assert numbers["commit_waiting_seconds"] >= 100
    assert numbers["commit_refused"] == 0


def test_nodes_that_are_held_and_a_trial_are_named(git_site: GitSite) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("web1", "web2", "db1")}
    git_site.commit({**nodes, "classes/c": "parameters: {a: 1}\n"})
    settings = {**git_site.settings, "serve": "tested", "canary": {"match": "web*"}}
    inventory = _metadata.opened(settings)
    assert inventory.pillar("web1")["a"] == 1
    git_site.commit({"classes/c": "parameters: {a: 2}\n", "nodes/web2": "classes: [gone]\n"})
    remarks: list[str] = []
    [problem] = _check._held(inventory, remarks)
    assert problem.startswith("the newest revision is not served to 1 node (web2) that it breaks: ")
    [remark] = remarks
    begin = f"revision {inventory.delivery()['trial']['revision']} is on trial with 1 node for "
    assert remark.startswith(begin)
    assert re.fullmatch(r"\d+ seconds: reclass.promote, reclass.abort", remark[len(begin) :])


def test_no_inventory() -> None:
    assert "no inventory is configured" in _check.check({"__role": "master"})["problems"][0]


def test_options_that_are_probably_not_meant(write: Write) -> None:
    base = str(write(FILES))
    opts = options({"inventory_base_uri": base, "clas_mappings_of_a_test": []})
    opts["master_tops"] = {"reclass": {"inventory_base_uri": base, "cache": "stat"}}
    report = _check.check(opts)
    assert (report["problems"], report["retcode"]) == ([], 0)
    different, unknown = report["remarks"]
    assert "different options" in different
    assert unknown.startswith("unknown setting 'clas_mappings_of_a_test'")
    assert [found["configured"] for found in report["inventories"]] == [["ext_pillar"], ["master_tops"]]
    assert report["inventories"][1]["changes"] == "stamps are compared"


def test_folders_that_cannot_be_watched(write: Write) -> None:
    base = write(FILES)
    (base / "nodes" / "web2.yml").symlink_to("web1.yml")
    report = _check.check(options({"inventory_base_uri": str(base)}))
    [remark] = report["remarks"]
    assert "cannot be watched" in remark
    assert "fs.inotify.max_user_watches" in remark


def test_copies_of_the_modules(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    command = [sys.executable, "-m", "saltext.reclass.guard", str(folder)]
    previous = os.umask(0o077)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    os.umask(previous)
    assert done.stdout == f"module_dirs:\n  - {folder}\n"
    copies = [folder / "pillar/reclass_adapter.py", folder / "tops/reclass_adapter.py"]
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == copies
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.rglob("*"))
    given = {"inventory_base_uri": str(write(FILES))}
    for where in ({"module_dirs": [str(folder)]}, {"extension_modules": str(folder)}):
        report = _check.check(options(given, **where))
        assert (report["guard"], report["problems"]) == ([str(path) for path in copies], [])
    copies[1].write_text("# of another version")
    [problem] = _check.check(options(given, module_dirs=[str(folder)]))["problems"]
    assert problem.startswith(
        f"Salt uses '{copies[1]}' in place of the module of the package, and it differs"
    )


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(opts: dict[str, Any]) -> dict[str, Any]:
    """The report of a process that becomes another user, as `salt-run` does."""
    # What Python imports may be in a folder that is closed to others.
    _check.check({"ext_pillar": [{"reclass": {}}]})
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            # So may be the files that it compares.
            _versions.problems = lambda found: []
            os.write(write, json.dumps(_check.check(opts)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        report: dict[str, Any] = json.load(answer)
    os.waitpid(child, 0)
    return report


@as_root
def test_files_that_the_user_of_the_master_cannot_read(open_folder: Path) -> None:
    for name, text in FILES.items():
        path = open_folder / f"{name}.yml"
        path.parent.mkdir()
        path.write_text(text)
    opts = options({"inventory_base_uri": str(open_folder)})
    report = as_nobody(opts)
    assert report["user"] == "nobody"
    nodes = open_folder / "nodes"
    closed = f"no right to write '{nodes}' (mode {nodes.stat().st_mode & 0o7777:04o} of user 'root')"
    assert (report["problems"], report["inventories"][0]["edits"]) == ([], closed)
    for name in ("nodes", "classes"):
        (open_folder / name).chmod(0o777)
    [inventory] = as_nobody(opts)["inventories"]
    assert inventory["edits"] == f"of own files only; 2 are of other users, such as '{nodes}/web1.yml'"

    (open_folder / "classes" / "web.yml").chmod(0o600)
    hidden = nodes / "closed"
    hidden.mkdir(0o700)
    rights = "(mode 0{} of user 'root')"
    assert as_nobody(opts)["problems"] == [
        f"user 'nobody' cannot read '{hidden}' {rights.format(700)}",
        f"user 'nobody' cannot read '{open_folder}/classes/web.yml' {rights.format(600)}",
    ]
    nodes.chmod(0o700)
    [problem] = as_nobody(opts)["problems"]
    assert problem == f"user 'nobody' cannot read the folder '{nodes}' {rights.format(700)}"


@as_root
def test_a_lock_of_another_user(open_folder: Path) -> None:
    for name in ("nodes", "classes"):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(0o777)
    lock = open_folder / "classes" / ".reclass.lock"
    lock.touch(0o600)
    [problem] = as_nobody(options({"inventory_base_uri": str(open_folder)}))["problems"]
    assert problem.startswith(f"user 'nobody' cannot lock '{lock}' (mode 0600 of user 'root')")


@as_root
def test_a_cache_of_git_that_is_still_to_be_made(tmp_path: Path) -> None:
    from saltext.reclass import _check

    assert _check._cache(str(tmp_path / "home" / ".reclass" / "git" / "cache")) == []


def test_a_cache_of_git_of_another_user(open_folder: Path) -> None:
    tree = {"repo": "site", "cache_dir": "cache", "lock_dir": "lock"}
    given = {
        "storage_type": "yaml_git",
        "inventory_base_uri": str(open_folder),
        "nodes_uri": {**tree, "root": "nodes"},
        "classes_uri": {**tree, "root": "classes"},
    }
    first, second = as_nobody(options(given))["problems"]
    assert first == (
        f"user 'nobody' cannot make '{open_folder}/cache': no right to write '{open_folder}' "
        "(mode 0755 of user 'root')"
    )
    assert f"'{open_folder}/lock'" in second

    # As a command leaves them that root has run.
    for name in ("cache", "lock"):
        (open_folder / name).mkdir(0o700)
    first, second = as_nobody(options(given))["problems"]
    assert first == (
        f"user 'nobody' cannot use '{open_folder}/cache' (mode 0700 of user 'root'); "
        f"run as root: chown -R nobody '{open_folder}/cache'"
    )
    assert f"'{open_folder}/lock'" in second

    for name in ("cache", "lock"):
        shutil.chown(open_folder / name, "nobody")
    (open_folder / "lock" / "site").touch(0o600)
    [problem] = as_nobody(options(given))["problems"]
    assert f"cannot use '{open_folder}/lock/site' (mode 0600 of user 'root')" in problem


@as_root
def test_a_record_of_etcd_of_another_user(open_folder: Path) -> None:
    for name in ("nodes", "classes"):
        (open_folder / name).mkdir()
    # Nothing listens there, and nothing asks while the folder is closed.
    given = {"etcd_endpoints": ["http://127.0.0.1:9"], "etcd_cache_dir": "record"}
    (open_folder / "record").mkdir(0o700)
    report = as_nobody(options({"inventory_base_uri": str(open_folder), **given}))
    assert report["problems"] == [
        f"user 'nobody' cannot use '{open_folder}/record' (mode 0700 of user 'root'); "
        f"run as root: chown -R nobody '{open_folder}/record'"
    ]
    assert report["inventories"][0]["etcd"] == [f"{open_folder}/record"]


def test_a_master_that_is_older_than_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["salt-master", "60"], executable="/bin/sleep") as master:
        # The kernel sets the arguments shortly after the program has begun.
        while not Path(f"/proc/{master.pid}/cmdline").read_bytes().startswith(b"salt-master"):
            time.sleep(0.01)
        pidfile = tmp_path / "pid"
        pidfile.write_text(str(master.pid))
        opts = {"pidfile": str(pidfile)}
        monkeypatch.setattr(_versions, "_changed", lambda folder: time.time() + 10)
        found = _versions.versions(opts)
        assert found["master"]["process"] == master.pid
        assert found["master"]["older_than_package"]
        [problem] = _versions.problems(found)
        assert problem.endswith("restart the master")
        monkeypatch.setattr(_versions, "_changed", lambda folder: time.time() - 3600)
        assert _versions.problems(_versions.versions(opts)) == []
        master.kill()
    assert _versions.versions(opts)["master"] == {}


def test_a_package_that_is_not_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_versions, "_installed", lambda: "9.9.9")
    [problem] = _versions.problems(_versions.versions({}))
    assert "is 9.9.9, and the engine that this process has loaded is" in problem


def test_which_program_is_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.defpath}")
    program = _versions.versions({})["program"]
    assert program["ours"]
    assert "saltext-reclass" in program["version"]
    other = tmp_path / "reclass"
    other.write_text("#!/bin/sh\necho reclass 2.0.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    found = _versions.versions({})
    assert (found["program"]["path"], found["program"]["version"]) == (str(other), "reclass 2.0.0")
    assert f"'{other}' on the path is a program of another package: reclass 2.0.0" in _versions.remarks(found)


@pytest.mark.parametrize("change", ["missing", "replaced"])
def test_a_program_that_another_package_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    class File:
        name = "reclass"

        hash = SimpleNamespace(mode="sha256", value="of another file")

        @staticmethod
        def locate() -> Path:
            return tmp_path / "reclass"

    if change == "replaced":
        (tmp_path / "reclass").touch()
    monkeypatch.setattr("importlib.metadata.files", lambda name: [File])
    found = _versions.versions({})
    assert found["program"]["installed"] == change
    assert change in _versions.remarks(found)[0]
