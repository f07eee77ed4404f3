"""Turns what is installed, what runs and what is on the path into versions to compare."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import time
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE = "saltext-reclass"
_PROGRAM = "reclass"
# In seconds. The start of a process is known to a hundredth, and clocks are set.
_ROUNDING = 1


def versions(opts: Mapping[str, Any]) -> dict[str, Any]:
    """What is installed (``package``), loaded here (``engine``) and on the path (``program``).

    ``master`` says since when the master runs, and whether the package was installed later.
    """
    import salt.version
    from saltext.reclass import __path__ as folders
    from saltext.reclass._engine import __version__

    folder = Path(folders[0])
    return {
        "package": _installed(),
        "engine": __version__,
        "folder": str(folder),
        "installed": _time(changed := _changed(folder)),
        "salt": salt.version.__version__,
        "master": _master(opts, changed),
        "program": _program(),
    }


def problems(found: Mapping[str, Any]) -> list[str]:
    """What has to be mended before Salt can be relied on."""
    wrong = []
    if found["package"] != found["engine"]:
        wrong.append(
            f"the package {_PACKAGE} is {found['package'] or 'not installed'}, and the engine that this "
            f"process has loaded is {found['engine']}: stop the master, install the package again, start it"
        )
    if found["master"].get("older_than_package"):
        wrong.append(
            f"the master runs since {found['master']['started']}, and files of {_PACKAGE} were installed at "
            f"{found['installed']}: restart the master"
        )
    return wrong


def remarks(found: Mapping[str, Any]) -> list[str]:
    """What the modules of Salt do not depend on."""
    program = found["program"]
    said = []
    if program["installed"] == "missing":
        said.append(
            f"the file of the program '{_PROGRAM}' of {_PACKAGE} is missing: another package with a file of "
            "that name was uninstalled. Install this one again"
        )
    elif program["installed"] == "replaced":
        said.append(
            f"the file of the program '{_PROGRAM}' of {_PACKAGE} was replaced by another package: uninstall "
            "that one, then install this one again"
        )
    if program["path"] and not program["ours"]:
        said.append(f"'{program['path']}' on the path is a program of another package: {program['version']}")
    return said


def _installed() -> str | None:
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def _changed(folder: Path) -> float:
    """When a file of the package was put where it is, the last one of them."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return max((path.stat().st_ctime for path in files), default=0.0)


def _master(opts: Mapping[str, Any], changed: float) -> dict[str, Any]:
    """Since when the master runs, by its process number; empty where it does not, or where nobody tells."""
    try:
        number = int(Path(str(opts.get("pidfile"))).read_text(encoding="ascii"))
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return {}
    if b"salt" not in command:
        # The number was given to another process meanwhile.
        return {}
    # proc(5): the name of the program is in parentheses; field 22 is the start, in ticks since the boot.
    ticks = int(status.rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    started = time.time() - age
    return {
        "process": number,
        "started": _time(started),
        "older_than_package": started + _ROUNDING < changed,
    }


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _program() -> dict[str, Any]:
    """The program on the path, and whether that of the package is as it was installed."""
    path = shutil.which(_PROGRAM)
    version = _said(path) if path else None
    return {
        "path": path,
        "version": version,
        "ours": version is not None and _PACKAGE in version,
        "installed": _kept(),
    }


def _said(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run ({type(error).__name__})"
    return (done.stdout.strip().splitlines() or ["it says nothing"])[0]


def _kept() -> str:
    """Whether the file that was installed is there: two packages may have one of that name."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    for file in files:
        if file.name == _PROGRAM and file.hash is not None:
            path = Path(str(file.locate()))
            if not path.is_file():
                return "missing"
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
            kept = urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value
            return "kept" if kept else "replaced"
    return "unknown"
