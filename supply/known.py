"""Holds the Python packages of the lock files to a clone of pypa/advisory-database that is kept.

Its files are OSV records, one for each weakness, below ``vulns/<package>``. A version is weak where a
record lists it, or where it is in one of its ranges of versions (the OSV schema, "affected"); ranges of
commits say nothing of what a lock file has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# As `pip-compile` writes them.
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


class Weak(NamedTuple):
    """A version of a package of which a weakness is known."""

    package: str
    version: str
    weakness: str
    fixed: list[str]


def pinned(lock: Path) -> set[tuple[str, str]]:
    """The packages of a lock file: normalized names, and versions."""
    return {(canonicalize_name(name), version) for name, version in PIN.findall(lock.read_text())}


def weak(database: Path, packages: set[tuple[str, str]]) -> Iterator[Weak]:
    """What the database knows of these packages, in the order of their names.

    Raises a ``ValueError`` for a record that is not one: what is not understood must not count as safe.
    """
    folders: dict[str, list[Path]] = {}
    for folder in (database / "vulns").iterdir():
        folders.setdefault(canonicalize_name(folder.name), []).append(folder)
    for package, version in sorted(packages):
        for path in sorted(path for folder in folders.get(package, []) for path in folder.glob("*.y*ml")):
            # It makes strings of all: `1.10` is a version, and no number.
            record = yaml.load(path.read_text(), Loader=yaml.BaseLoader)  # noqa: S506
            try:
                # One that was withdrawn is none.
                if "withdrawn" in record or not is_affected(record, package, version):
                    continue
                yield Weak(package, version, record["id"], list(fixes(record, package)))
            except (AttributeError, KeyError, TypeError, InvalidVersion) as error:
                raise ValueError(f"{path} is no record that can be read: {error!r}") from error


def affected(record: dict[str, Any], package: str) -> Iterator[dict[str, Any]]:
    """The entries of a record that are about a package."""
    for entry in record["affected"]:
        about = entry["package"]
        if about["ecosystem"] == "PyPI" and canonicalize_name(about["name"]) == package:
            yield entry


def is_affected(record: dict[str, Any], package: str, version: str) -> bool:
    """Whether a version of a package is listed, or in a range."""
    return any(
        version_is_listed(entry.get("versions") or [], version)
        or any(in_range(each["events"], version) for each in ranges(entry))
        for entry in affected(record, package)
    )


def version_is_listed(versions: list[str], version: str) -> bool:
    wanted = Version(version)
    # Versions of old releases are no versions by PEP 440; no lock file has one.
    return any(is_version(listed) and Version(listed) == wanted for listed in versions)


def is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def ranges(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (each for each in entry.get("ranges") or [] if each["type"] == "ECOSYSTEM")


def in_range(events: list[dict[str, str]], version: str) -> bool:
    """The algorithm of the schema: the last event before a version decides."""
    wanted = Version(version)

    def place(event: dict[str, str]) -> tuple[Version, bool]:
        [(kind, at)] = event.items()
        # The last version that is affected still is: it ends after what begins there.
        return Version(at), kind == "last_affected"

    inside = False
    for event in sorted((event for event in events if "limit" not in event), key=place):
        [(kind, at)] = event.items()
        bound = Version(at)
        if kind == "introduced" and wanted >= bound:
            inside = True
        elif (kind == "fixed" and wanted >= bound) or (kind == "last_affected" and wanted > bound):
            inside = False
    return inside


def fixes(record: dict[str, Any], package: str) -> Iterator[str]:
    """The versions that end a weakness, if the record names any."""
    for entry in affected(record, package):
        for each in ranges(entry):
            yield from (event["fixed"] for event in each["events"] if "fixed" in event)
