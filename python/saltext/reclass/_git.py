"""Runs the program git, for what is known about a repository and for commits."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def run(
    *arguments: str,
    folder: str = "",
    more: Mapping[str, str] | None = None,
    text: str = "",
    timeout: int = 60,
    user: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs git in a folder, with ``more`` variables, a text as its input, a limit in seconds, as a user."""
    place = ["-C", folder] if folder else []
    rights: dict[str, Any] = {}
    if user is not None:
        rights = {"user": user, "group": os.stat(folder or ".").st_gid, "extra_groups": []}
        # The configuration of root is closed to others.
        more = {"HOME": "/", "GIT_CONFIG_GLOBAL": os.devnull, **(more or {})}
    return subprocess.run(
        # A repository may name a program that git would run.
        ["git", "-c", "core.fsmonitor=false", *place, *arguments],
        env={**os.environ, "LC_ALL": "C", **(more or {})},
        input=text,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=timeout,
        check=False,
        **rights,
    )
