"""Asks what is known of weaknesses in the crates of all lock files, and in the Python packages.

With a network, the databases of RustSec and PyPI are asked as they are today. Without one (``--offline``),
crates and packages are compared with copies of the databases in a folder: the copy of RustSec that
``cargo deny`` fetched last, and a clone of github.com/pypa/advisory-database. The day of each copy is
printed. A missing copy is an error.

    python3 -m supply.audit [--offline] [--databases FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from supply import known

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent

# Each has a lock file of its own.
MANIFESTS = ["Cargo.toml", "fuzz/Cargo.toml", "tests/sanitizer/Cargo.toml"]

# The database of Python packages that `--offline` asks: where it comes from, and its name in the folder.
PYPA = "https://github.com/pypa/advisory-database"
PYPA_FOLDER = "pypa-advisory-database"


def fetched(databases: Iterable[Path]) -> str | None:
    """The day of the newest change in the first of these that is a clone."""
    for database in databases:
        # Without its own, git would take the repository around it.
        if not (database / ".git").exists():
            continue
        command = ["git", "-C", str(database), "show", "-s", "--format=%cs", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def crates(folder: Path, offline: bool) -> int:
    """Asks for the crates of all lock files; the exit code of the last that failed."""
    if offline:
        # As cargo-deny names it: with a hash of its address.
        day = fetched(folder.glob("advisory-db-*"))
        if day is None:
            print(
                f"There is no database of RustSec in {folder}: run 'make audit' where github.com can be "
                "reached, and copy that folder."
            )
            return 1
        print(f"Without a network: weaknesses of crates that were known on {day}.", flush=True)
    with tempfile.TemporaryDirectory() as made:
        config = Path(made) / "deny.toml"
        rules = (ROOT / "deny.toml").read_text()
        config.write_text(f'{rules}\n[advisories]\ndb-path = "{folder}"\n')
        code = 0
        for manifest in MANIFESTS:
            command = ["cargo", "deny", *["--offline"] * offline, "--all-features"]
            command += ["--manifest-path", str(ROOT / manifest), "--config", str(config)]
            command += ["check", "advisories"]
            code = subprocess.run(command, cwd=ROOT, check=False).returncode or code
    return code


def packages(folder: Path, offline: bool) -> int:
    """Asks for the Python packages of all lock files; the exit code of the last that failed."""
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    if offline:
        return known_packages(folder / PYPA_FOLDER, locks)
    code = 0
    for lock in locks:
        command = ["pip-audit", "--strict", "--disable-pip", "--require-hashes", "-r", str(lock)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode or code
    return code


def known_packages(database: Path, locks: list[Path]) -> int:
    """Asks a kept database; an error where there is none, or where it cannot be read."""
    day = fetched([database])
    if day is None or not (database / "vulns").is_dir():
        print(
            f"There is no database of Python packages in {database}: run 'git clone --depth 1 {PYPA} "
            f"{database}' where github.com can be reached, and copy that folder."
        )
        return 1
    print(f"Without a network: weaknesses of Python packages that were known on {day}.", flush=True)
    found = 0
    for lock in locks:
        pins = known.pinned(lock)
        try:
            weak = list(known.weak(database, pins))
        except (OSError, ValueError, yaml.YAMLError) as error:
            print(f"{lock.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 1
        for one in weak:
            fixed = f", fixed in {', '.join(one.fixed)}" if one.fixed else ""
            name = f"{lock.relative_to(ROOT)}: {one.package} {one.version}"
            print(f"{name}: {one.weakness}{fixed}", file=sys.stderr)
        print(f"{lock.relative_to(ROOT)}: {len(pins)} packages, {len(weak)} weaknesses", flush=True)
        found += len(weak)
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--offline", action="store_true", help="ask the databases that are kept")
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    parser.add_argument("--databases", type=Path, default=home / "advisory-dbs", help="where they are kept")
    asked = parser.parse_args()
    # Both, whatever the first finds.
    of_crates = crates(asked.databases, asked.offline)
    of_packages = packages(asked.databases, asked.offline)
    return of_crates or of_packages


if __name__ == "__main__":
    sys.exit(main())
