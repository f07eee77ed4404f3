"""Soft metadata in etcd from Python: two processes that write, threads, and children of a fork.

They need the programs of the packages ``etcd-server`` and ``etcd-client``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import Editor, Inventory, ReclassError, _edits

from tests.python import etcd_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = etcd_server.NEEDED

KEY = "/reclass/classes/cluster.prague.overrides/_param/a"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The settings of an inventory with soft metadata in an etcd."""
    (tmp_path / "nodes").mkdir()
    (tmp_path / "classes" / "cluster" / "prague").mkdir(parents=True)
    (tmp_path / "nodes" / "n.yml").write_text("classes: [cluster.prague.overrides]\n")
    overrides = tmp_path / "classes" / "cluster" / "prague" / "overrides.yml"
    overrides.write_text("parameters: {_param: {a: file}}\n")
    settings = {
        "inventory_base_uri": str(tmp_path),
        "etcd_cache_dir": str(tmp_path / "record"),
        "etcd_interval": 3600,
    }
    with etcd_server.running(tmp_path / "etcd") as endpoint:
        yield {**settings, "etcd_endpoints": [endpoint]}


def wrap(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts a program before ``etcdctl``; ``$real`` is the real one."""
    real = shutil.which("etcdctl")
    folder.mkdir()
    program = folder / "etcdctl"
    program.write_text(f"#!/bin/sh\nreal={real}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def param(settings: dict[str, Any]) -> Any:
    return Inventory(**settings).pillar("n")["_param"]["a"]


def test_functions_of_salt_write_to_etcd(settings: dict[str, Any]) -> None:
    assert param(settings) == "file"
    tested = _edits.set_param(settings, "a", 7, "prague", test=True, store="etcd")
    assert tested["changed"]
    assert tested["comment"] == "parameter 'a' would be set"
    assert param(settings) == "file"
    edit = _edits.set_param(settings, "a", 7, "prague", store="etcd")
    assert edit == {
        "changed": True,
        "comment": "parameter 'a' has been set",
        "file": f"etcd {KEY}",
        "diff": edit["diff"],
        "nodes": {"rendered": 1, "changed": 1, "broken": 0},
        "new": 7,
    }
    assert "+    a: 7\n" in edit["diff"]
    assert edit["diff"].startswith(f"--- /dev/null\n+++ etcd {KEY}\n")
    # All processes of the user see it at once, although the interval is not over.
    ask = "import json, sys; from saltext.reclass import Inventory\n"
    ask += "print(json.dumps(Inventory(**json.loads(sys.argv[1])).pillar('n')['_param']['a']))"
    child = subprocess.run(
        [sys.executable, "-c", ask, json.dumps(settings)], check=True, capture_output=True, text=True
    )
    assert json.loads(child.stdout) == 7
    assert _edits.get_param(settings, "a", "prague", store="etcd") == 7
    assert _edits.params(settings, "prague", store="etcd") == {"a": 7}
    assert _edits.params(settings, "prague") == {"a": "file"}
    assert _edits.get_param(settings, "b", "prague", store="etcd", default=None) is None
    with pytest.raises(ReclassError, match="store"):
        _edits.params(settings, "prague", store="etc")
    assert _edits.set_param(settings, "a", 7, "prague", store="etcd")["changed"] is False
    assert _edits.delete_param(settings, "a", "prague", store="etcd")["old"] == 7
    assert param(settings) == "file"
    assert _edits.delete_param(settings, "a", "prague", store="etcd")["changed"] is False


def test_a_write_that_the_master_does_not_read_says_so(settings: dict[str, Any]) -> None:
    _edits.set_param(settings, "a", 7, "prague", store="etcd")
    assert param({**settings, "etcd_interval": 0}) == 7
    etcd_server.ctl(settings["etcd_endpoints"][0], "del", "--prefix", "/reclass")
    settings["etcd_interval"] = 0
    for test in (True, False):
        done = _edits.set_param(settings, "b", 8, "prague", store="etcd", test=test)
        begin = "no minion gets it: etcd at '"
        assert done["warning"].startswith(begin)
        assert "is served as it was fetched last: " in done["warning"]
        assert "; if that is intended, run: rm '" in done["warning"]
        assert done["comment"].endswith(f"; {done['warning']}")
    assert param(settings) == 7


def test_a_secret_is_hidden_in_the_result(settings: dict[str, Any]) -> None:
    edit = _edits.set_param(settings, "password", "hunter2", "prague", store="etcd")
    assert "hunter2" not in str(edit)
    assert (
        etcd_server.ctl(settings["etcd_endpoints"][0], "get", KEY[:-1] + "password", "--print-value-only")
        == "hunter2\n"
    )


def test_of_two_processes_that_write_one_key_one_is_told(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another process writes between the reading and the transaction.
    other = f'case "$*" in *txn*) "$real" put {KEY} other >/dev/null;; esac; exec "$real" "$@"'
    wrap(tmp_path / "bin", monkeypatch, other)
    editor = Editor(**settings)
    for edit in (
        lambda: editor.set_cluster_param("a", "mine", "prague", store="etcd"),
        lambda: editor.delete_cluster_param("a", "prague", store="etcd"),
    ):
        with pytest.raises(ReclassError) as caught:
            edit()
        assert caught.value.code == "etcd-conflict"
        assert f"another process changed '{KEY}' in etcd meanwhile; nothing was written" in str(caught.value)
        assert etcd_server.ctl(settings["etcd_endpoints"][0], "get", KEY, "--print-value-only") == "other\n"


def test_other_threads_run_while_etcdctl_does(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap(tmp_path / "bin", monkeypatch, 'sleep 1; exec "$real" "$@"')
    inventory = Inventory(**{**settings, "etcd_interval": 0})
    asking = threading.Thread(target=lambda: inventory.pillar("n"))
    asking.start()
    longest = 0.0
    while asking.is_alive():
        begun = time.monotonic()
        time.sleep(0.01)
        longest = max(longest, time.monotonic() - begun)
    assert longest < 0.5


def test_a_child_of_a_fork_asks_for_itself(settings: dict[str, Any]) -> None:
    always = {**settings, "etcd_interval": 0}
    inventory = Inventory(**always)
    assert inventory.pillar("n")["_param"]["a"] == "file"
    etcd_server.ctl(settings["etcd_endpoints"][0], "put", KEY, "etcd")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if inventory.pillar("n")["_param"]["a"] == "etcd" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert inventory.pillar("n")["_param"]["a"] == "etcd"


def test_a_pillar_is_never_without_its_data(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ReclassError, match="cannot run the program 'etcdctl'") as caught:
        param(settings)
    assert caught.value.code == "etcd-unreachable"
