"""Compares the versions of the installed package, the loaded engine and the program on the path."""

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
# Tolerance in seconds. The start of a process is known to a hundredth, and clocks may be adjusted.
_ROUNDING = 1


def versions(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The versions of the installed ``package``, the loaded ``engine`` and the ``program`` on the path.

    ``master`` contains the start of the master, and whether the package was installed later.
    """
    import salt.version
    from saltext.reclass import __path__ as folders
    from saltext.reclass._engine import __version__

    folder = Path(folders[0])
    return {
        "package": _installed(),
        "engine": __version__,
        "folder": str(folder),
        "installed": local_time(changed := _changed(folder)),
        "salt": salt.version.__version__,
        "master": _master(opts, changed),
        "program": _program(),
    }


def problems(found: Mapping[str, Any]) -> list[str]:
    """The problems that must be fixed before Salt is reliable."""
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
    """The remarks on the program, which Salt's modules do not need."""
    program = found["program"]
    messages = []
    if program["installed"] == "missing":
        messages.append(
            f"the file of the program '{_PROGRAM}' of {_PACKAGE} is missing: another package with a file of "
            "that name was uninstalled. Install this one again"
        )
    elif program["installed"] == "replaced":
        messages.append(
            f"the file of the program '{_PROGRAM}' of {_PACKAGE} was replaced by another package: uninstall "
            "that one, then install this one again"
        )
    if program["path"] and not program["ours"]:
        messages.append(
            f"'{program['path']}' on the path is a program of another package: {program['version']}"
        )
    return messages


def _installed() -> str | None:
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def _changed(folder: Path) -> float:
    """The time when a file of the package was last installed."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return max((path.stat().st_ctime for path in files), default=0.0)


def _master(opts: Mapping[str, Any], changed: float) -> dict[str, Any]:
    """The start and the process number of the master; empty if it does not run, or cannot be found."""
    try:
        number = int(Path(str(opts.get("pidfile"))).read_text(encoding="ascii"))
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return {}
    if b"salt" not in command:
        # Another process has the number now.
        return {}
    # proc(5): the name of the program is in parentheses; field 22 is the start, in ticks since the boot.
    ticks = int(status.rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    started = time.time() - age
    return {
        "process": number,
        "started": local_time(started),
        "older_than_package": started + _ROUNDING < changed,
    }


def local_time(seconds: float) -> str:
    """A time since 1970 as text, with the offset of the machine's zone."""
    return datetime.datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _program() -> dict[str, Any]:
    """The program on the path, and the state of the program file of the package."""
    path = shutil.which(_PROGRAM)
    version = _version_of(path) if path else None
    return {
        "path": path,
        "version": version,
        "ours": version is not None and _PACKAGE in version,
        "installed": _file_state(),
    }


def _version_of(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run ({type(error).__name__})"
    return (done.stdout.strip().splitlines() or ["it says nothing"])[0]


def _file_state() -> str:
    """The state of the installed program file. Another package may have a file with the same name."""
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
            unchanged = urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value
            return "kept" if unchanged else "replaced"
    return "unknown"
