"""What the Python tests share: inventories written from a few lines."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import salt._logging

# Salt keeps what is logged before it is set up, to print it at the end. Nobody sets it up here.
salt._logging.shutdown_temp_handler()

ROOT = Path(__file__).resolve().parent.parent

# The long forms take minutes.
long = pytest.mark.skipif(not os.environ.get("RECLASS_LONG"), reason="make test-long runs it")

# What is left out on purpose, because it cannot be had here: names with commas.
WITHOUT = os.environ.get("RECLASS_WITHOUT", "").split(",")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(what, is_there, way): what a test cannot run without")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        what, is_there, way = mark.args
        if not is_there and what in WITHOUT:
            pytest.skip(f"without {what}")
        if not is_there:
            reason = f"there is no {what}: {way}. RECLASS_WITHOUT={what} skips the tests that need it."
            pytest.fail(reason, pytrace=False)


Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files of an inventory, by path without ``.yml``, and returns its folder."""

    def write(files: dict[str, str]) -> Path:
        base = tmp_path / "inventory"
        for folder in ("nodes", "classes"):
            (base / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = base / f"{name}.yml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return base

    return write


class GitSite:
    """An inventory in the branch ``master`` of a repository, and its settings."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "repo"
        for name in ("nodes", "classes"):
            (self.repo / name).mkdir(parents=True)
        self.git("init", "-q", "-b", "master")
        tree = {"repo": str(self.repo), "cache_dir": str(folder / "cache"), "lock_dir": str(folder / "lock")}
        self.settings: dict[str, Any] = {
            "storage_type": "yaml_git",
            "nodes_uri": {**tree, "root": "nodes"},
            "classes_uri": {**tree, "root": "classes", "branch": "master"},
            "git_fetch_interval": 0,
        }

    def commit(self, files: Mapping[str, str]) -> None:
        """Commits files, by path without ``.yml``."""
        for name, text in files.items():
            (self.repo / f"{name}.yml").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "change")

    def git(self, *arguments: str) -> str:
        """The output of git in the repository."""
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        command = ["git", "-C", str(self.repo), *person, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@pytest.fixture
def git_site(tmp_path: Path) -> GitSite:
    return GitSite(tmp_path)
