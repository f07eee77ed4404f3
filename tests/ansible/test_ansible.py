"""A real Ansible asks `reclass-ansible` for its inventory. `make test` installs it, in `.venv-ansible`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ANSIBLE = ROOT / ".venv-ansible" / "bin"
PROGRAM = Path(sys.executable).parent / "reclass-ansible"

pytestmark = pytest.mark.needs(
    "ansible", (ANSIBLE / "ansible-inventory").exists(), "make .venv-ansible/.tools"
)


class Place:
    """A copy of the example, with a link to the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "inventory"
        shutil.copytree(ROOT / "examples" / "ansible", self.folder)
        (self.folder / "hosts").symlink_to(PROGRAM)
        self.home = folder

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of Ansible in another folder."""
        environment = {
            "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{ANSIBLE}:{os.environ['PATH']}",
            "SOURCE_DATE_EPOCH": "1795206020",
        }
        return subprocess.run(
            [program, *arguments],
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def json(self, program: str, *arguments: str, note: str = "") -> Any:
        """The output, with nothing on standard error but a note of this code."""
        result = self.run(program, *arguments)
        assert result.returncode == 0, result.stderr
        noted = [line.partition(":")[0] for line in result.stderr.splitlines() if "[" in line]
        assert noted == ([f"note[{note}]"] if note else []), result.stderr
        assert bool(result.stderr) == bool(note), result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_all_variables_and_groups_arrive(place: Place) -> None:
    seen = place.json("ansible-inventory", "--list")
    command = [str(PROGRAM), "--list", "-b", str(place.folder), "-o", "json"]
    ours = place.json(*command, note="configuration-unread")
    settings = place.json(str(place.folder / "hosts"), "--list")
    assert settings["all_hosts"] == {"hosts": ["db1", "web1", "web2"]}
    assert seen["_meta"]["hostvars"] == settings["_meta"]["hostvars"]
    # Without its settings, in another folder: lists, and no class mappings.
    assert ours["role.web"] == ["web1", "web2"]
    for group in ("all_hosts", "role.web", "postgresql_hosts", "nginx_hosts"):
        assert sorted(seen[group]["hosts"]) == settings[group]["hosts"]


def test_the_graph(place: Place) -> None:
    result = place.run("ansible-inventory", "--graph")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "@all:",
        "  |--@ungrouped:",
        "  |--@all_hosts:",
        "  |  |--db1",
        "  |  |--web1",
        "  |  |--web2",
        "  |--@role.web:",
        "  |  |--web1",
        "  |  |--web2",
        "  |--@postgresql_hosts:",
        "  |  |--db1",
        "  |--@nginx_hosts:",
        "  |  |--web1",
        "  |  |--web2",
    ]


def test_the_variables_of_a_host(place: Place) -> None:
    seen = place.json("ansible-inventory", "--host", "web1")
    assert seen == place.json(str(place.folder / "hosts"), "--host", "web1")
    assert seen["nginx"] == {"listen": "10.0.0.11:80", "workers": 4}
    assert seen["__reclass__"]["classes"] == ["all_hosts", "role.web"]


def test_ansible_asks_once(place: Place) -> None:
    log = place.home / "log"
    link = place.folder / "hosts"
    link.unlink()
    link.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {PROGRAM} -b {place.folder} "$@"\n')
    link.chmod(0o755)
    result = place.run("ansible-playbook", str(place.folder / "site.yml"))
    assert result.returncode == 0, result.stderr
    assert "4 workers listen on 10.0.0.11:80" in result.stdout
    assert log.read_text().splitlines() == ["--list"]


def test_groups_that_are_lists_arrive_too(place: Place) -> None:
    settings = place.folder / "reclass-config.yml"
    settings.write_text(settings.read_text().replace("group_form: mapping\n", ""))
    assert place.json(str(place.folder / "hosts"), "--list")["role.web"] == ["web1", "web2"]
    result = place.run("ansible-inventory", "--list")
    assert result.returncode == 0
    assert json.loads(result.stdout)["role.web"] == {"hosts": ["web1", "web2"]}


def test_a_node_that_fails_leaves_no_inventory(place: Place) -> None:
    (place.folder / "nodes" / "db1.yml").write_text("parameters: {x: '${gone}'}\n")
    result = place.run("ansible-inventory", "--graph")
    assert result.returncode != 0
    assert result.stdout == ""
    assert "error[reference-not-found]: no parameter 'gone' for '${gone}'" in result.stderr
    hosts = place.run("ansible", "all", "--list-hosts")
    assert hosts.returncode != 0
    assert hosts.stdout == ""


def test_a_host_without_a_group_is_reported(place: Place) -> None:
    (place.folder / "reclass-config.yml").write_text("group_form: mapping\n")
    (place.folder / "nodes" / "db1.yml").write_text("parameters: {x: 1}\n")
    result = place.run("ansible-inventory", "--graph")
    assert result.returncode == 0
    assert "db1" not in result.stdout
    assert "warning[host-without-group]: node 'db1' has no class and no application" in result.stderr
