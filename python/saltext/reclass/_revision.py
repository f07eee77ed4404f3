"""The state of an inventory, as the engine names it, and how to notice another one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass import _git

if TYPE_CHECKING:
    from collections.abc import Mapping


def source(state: Mapping[str, Any]) -> str:
    """The name of an inventory: those of its sources."""
    return ", ".join(one["source"] for one in state["sources"])


def is_of_commits(settings: Mapping[str, Any]) -> bool:
    """Whether minions get commits of the folders (``serve``), and not the files in them."""
    is_in_folders = str(settings.get("storage_type", "yaml_fs")) == "yaml_fs"
    return is_in_folders and str(settings.get("serve", "now")) != "now"


def uncommitted(settings: Mapping[str, Any], folders: list[str]) -> list[str]:
    """The YAML files in folders of a repository that differ from the commit that is checked out."""
    if not folders or not is_of_commits(settings):
        return []
    top = _output(folders[0], "rev-parse", "--show-toplevel")
    asked = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored", "--")
    listed = _output(folders[0], *asked, *folders) or ""
    files = [entry[3:] for entry in listed.split("\0") if entry.endswith((".yml", ".yaml"))]
    return sorted(f"{top}/{file}" for file in files if not Path(file).name.startswith("."))


def is_uncommitted(settings: Mapping[str, Any], path: str) -> bool:
    """Whether minions get commits, and this file is not as in the one that is checked out."""
    asked = ("status", "--porcelain", "--ignored", "--", path)
    return is_of_commits(settings) and bool(_output(str(Path(path).parent), *asked))


def checked_out(settings: Mapping[str, Any]) -> list[str | None]:
    """Commit and branch that are checked out where the folders are. A commit changes no file of theirs."""
    if str(settings.get("storage_type", "yaml_fs")) != "yaml_fs":
        return []
    from saltext.reclass._engine import Editor

    folders = [path for paths in Editor(**settings).folders().values() for path in paths]
    return [_output(folder, "rev-parse", "HEAD", "--abbrev-ref", "HEAD") for folder in folders]


def files(inventory: Any) -> list[Path]:
    """The files of the nodes and classes, sorted."""
    kinds = inventory.files().values()
    return sorted({Path(path) for kind in kinds for paths in kind.values() for path in paths})


def _output(folder: str, *arguments: str) -> str | None:
    """The output of git; ``None`` where it refuses, as it does for repositories of other users."""
    try:
        done = _git.run(*arguments, folder=folder, more={"GIT_OPTIONAL_LOCKS": "0"}, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.rstrip() if done.returncode == 0 else None
