"""Names the state of an inventory: commits of its repositories, or a fingerprint of its files."""

from __future__ import annotations

import datetime
import hashlib
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of a commit or a fingerprint.
_SHOWN = 8


def sources(settings: Mapping[str, Any], inventory: Any) -> list[dict[str, Any]]:
    """The sources of an inventory that has answered a question: repositories, etcd, folders.

    A repository has ``commits`` by branch. A folder inside of a repository has them too, and ``clean`` says
    if its files are those of the commit. Files that are of no commit have a ``fingerprint``.
    """
    found = [_fetched(state) for state in inventory.fetch_states()]
    if str(settings.get("storage_type", "yaml_fs")) == "yaml_fs":
        from saltext.reclass._engine import Editor

        folders = [path for paths in Editor(**settings).folders().values() for path in paths]
        found = _folders(folders, inventory) + found
    return found


def text(known: list[dict[str, Any]]) -> str:
    """The states of all sources in a few words: ``a1b2c3d4 of main``; two equal texts are one state."""
    words = []
    for source in known:
        begin = [f"{commit[:_SHOWN]} of {branch}" for branch, commit in source.get("commits", {}).items()]
        begin += ["with changes" for _ in begin[:1] if source.get("clean") is False]
        begin += [source["fingerprint"][:_SHOWN]] if "fingerprint" in source else []
        words += [" ".join(begin)] if source.get("clean") is False else begin
    # Repositories of one branch are often those of nodes and classes, in the same repository.
    return ", ".join(dict.fromkeys(words)) or "without a name"


def since(opts: Mapping[str, Any], known: list[dict[str, Any]]) -> str:
    """When a process of this master first saw this state. It is kept in the cache of the master."""
    import salt.cache

    cache = salt.cache.factory(opts)
    seen = cache.fetch("reclass", "revisions") or {}
    key, now = ", ".join(source["source"] for source in known), text(known)
    if seen.get(key, {}).get("revision") != now:
        seen[key] = {"revision": now, "since": _time(time.time())}
        cache.store("reclass", "revisions", seen)
    return str(seen[key]["since"])


def _fetched(state: Mapping[str, Any]) -> dict[str, Any]:
    """A repository or an etcd: which commits are served, and how old they are."""
    found: dict[str, Any] = {"source": state["source"]}
    if state["fetched"] is not None:
        if state["commits"]:
            found["commits"] = state["commits"]
        found["fetched"] = _time(state["fetched"])
        found["age"] = max(0, round(time.time() - state["fetched"]))
    if state["stale"]:
        found["stale"] = state["stale"]
    return found


def _folders(folders: list[str], inventory: Any) -> list[dict[str, Any]]:
    """The folders, those of one repository together."""
    repositories: dict[str, list[str]] = {}
    for folder in folders:
        repositories.setdefault(_git(folder, "rev-parse", "--show-toplevel") or "", []).append(folder)
    found = []
    for top, inside in repositories.items():
        source: dict[str, Any] = {"source": os.path.commonpath(inside) if len(inside) > 1 else inside[0]}
        commit = _git(top, "rev-parse", "HEAD") if top else None
        if commit:
            branch = _git(top, "rev-parse", "--abbrev-ref", "HEAD") or "HEAD"
            changes = _git(top, "status", "--porcelain", "--", *inside)
            source |= {"commits": {branch: commit}, "clean": changes == ""}
        if not source.get("clean"):
            source["fingerprint"] = _fingerprint(inside, inventory)
        found.append(source)
    return found


def _fingerprint(folders: list[str], inventory: Any) -> str:
    """A hash of the names and the content of all files."""
    digest = hashlib.sha256()
    for path in files(inventory):
        if any(path.is_relative_to(folder) for folder in folders):
            try:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                content = type(error).__name__
            digest.update(f"{path}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def files(inventory: Any) -> list[Path]:
    """The files of the nodes and classes, sorted."""
    kinds = inventory.files().values()
    return sorted({Path(path) for kind in kinds for paths in kind.values() for path in paths})


def _git(folder: str, *arguments: str) -> str | None:
    """The output of git; ``None`` where it refuses, as it does for repositories of other users."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            # A repository may name a program that git would run.
            ["git", "-c", "core.fsmonitor=false", "-C", folder, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
