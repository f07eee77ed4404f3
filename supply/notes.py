"""The notes of a release are its section of CHANGELOG.md: `python -m supply.notes [TAG]`.

The version is that of `pyproject.toml`. `Cargo.toml` has to name the same, and so does a tag.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version(manifest: str) -> str:
    """The version that a manifest names first."""
    found = re.search(r'^version = "(.+)"$', (ROOT / manifest).read_text(), re.MULTILINE)
    if found is None:
        sys.exit(f"{manifest} names no version")
    return found[1]


def notes(changelog: str, release: str) -> str | None:
    """The text below the heading of a version, which has a day: `## 1.2.3 - 2026-11-23`."""
    heading = rf"^## {re.escape(release)} - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)"
    found = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def main() -> None:
    release = version("pyproject.toml")
    if version("Cargo.toml") != release:
        sys.exit(f"pyproject.toml names version {release}, and Cargo.toml {version('Cargo.toml')}")
    if sys.argv[1:] not in ([], [f"v{release}"]):
        sys.exit(f"pyproject.toml names version {release}, and the tag is {' '.join(sys.argv[1:])}")
    text = notes((ROOT / "CHANGELOG.md").read_text(), release)
    if text is None:
        sys.exit(f"CHANGELOG.md has no section '## {release} - YYYY-MM-DD'")
    print(text)


if __name__ == "__main__":
    main()
