"""Asks what is known of weaknesses in the crates of all lock files, and in the Python packages.

With a network, the databases of RustSec and PyPI are asked as they are today. Without one (``--offline``),
the crates are held to the database of RustSec that was fetched last, and its day is told; there is no
database of Python packages that could be kept, so these are left out, which is told too.

    python3 -m supply.audit [--offline] [--databases FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each has a lock file of its own.
MANIFESTS = ["Cargo.toml", "fuzz/Cargo.toml", "tests/sanitizer/Cargo.toml"]


def fetched(folder: Path) -> str | None:
    """The day of the newest change in the database that was fetched last, if one was."""
    # As cargo-deny names it: with a hash of its address.
    for database in folder.glob("advisory-db-*"):
        command = ["git", "-C", str(database), "show", "-s", "--format=%cs", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def crates(folder: Path, offline: bool) -> int:
    """Asks for the crates of all lock files; the exit code of the last that failed."""
    if offline:
        day = fetched(folder)
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


def packages(offline: bool) -> int:
    """Asks for the Python packages of all lock files; the exit code of the last that failed."""
    if offline:
        print("Weaknesses of Python packages are known to PyPI alone: they were not looked for.")
        return 0
    code = 0
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        command = ["pip-audit", "--strict", "--disable-pip", "--require-hashes", "-r", str(lock)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode or code
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--offline", action="store_true", help="ask the database that was fetched last")
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    parser.add_argument("--databases", type=Path, default=home / "advisory-dbs", help="where they are kept")
    asked = parser.parse_args()
    return crates(asked.databases, asked.offline) or packages(asked.offline)


if __name__ == "__main__":
    sys.exit(main())
