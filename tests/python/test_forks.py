"""A process that forks while one of its threads calls something for the first time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import first_calls
import pytest
from saltext.reclass import Editor, Inventory, _engine

Write = Callable[[dict[str, str]], Path]

FILES = {
    "nodes/n1": """
        classes: [a]
        parameters:
          day: 2026-01-02
          time: 2026-01-02T03:04:05+01:00
          number: 99999999999999999999999
          bytes: !!binary eA==
          list: [1, {c: 2}]
          again: ${list}
          password: hidden
    """,
    "nodes/n2": "{}",
    "nodes/no-class": "classes: [missing]",
    "nodes/no-reference": "parameters: {a: '${missing}'}",
    "classes/a": """
        parameters:
          y: {z: 1}
          all: $[ exports:e ]
        exports: {e: 1}
    """,
    "classes/mapped": "{}",
    "classes/cluster/c/overrides": "parameters: {_param: {k: 1}}",
    "schemas/y": "{type: object, properties: {z: {type: string, format: date, pattern: '^[a-z]+$'}}}",
}


def names() -> set[str]:
    """Everything of the module that can be called."""
    methods = {
        f"{owner.__name__}.{name}"
        for owner in (Inventory, Editor)
        for name in vars(owner)
        if not name.startswith("__")
    }
    functions = {
        name for name in vars(_engine) if not name.startswith("__") and callable(getattr(_engine, name))
    }
    # Builds for tests have it.
    return methods | functions - {"arm"}


def test_each_method_and_function_is_called() -> None:
    assert names() == {name for name in first_calls.CALLS if " " not in name}


@pytest.fixture
def repository(write: Write) -> Path:
    base = write(FILES)
    git = ["git", "-C", str(base), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q", "-b", "master"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    return write({"nodes/n2": "parameters: {x: 1}"})


@pytest.mark.parametrize("name", first_calls.CALLS)
def test_a_child_that_is_forked_during_the_first_call_does_not_hang(
    name: str, repository: Path, tmp_path: Path
) -> None:
    tree = {
        "repo": str(repository),
        "cache_dir": str(tmp_path / "cache"),
        "lock_dir": str(tmp_path / "lock"),
    }
    git = {
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, "root": "nodes"},
        "classes_uri": {**tree, "root": "classes", "branch": "master"},
        "serve": "tested",
        "git_fetch_interval": 0,
    }
    command = [sys.executable, first_calls.__file__, name, str(repository), json.dumps(git)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 0
