"""Copies the modules for pillars and tops into a folder of Salt, where they outlive the package.

If the package is removed, Salt finds no module ``reclass``. It logs a line and gives minions a pillar without
reclass. The copies refuse instead: see "If the package is removed" in ``docs/administration.md``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import saltext.reclass
from saltext.reclass._files import replace

_MODULES = ("pillar/reclass_adapter.py", "tops/reclass_adapter.py")


def copies(folder: Path) -> list[tuple[Path, Path]]:
    """The modules of the package, each with its copy in the folder."""
    package = Path(saltext.reclass.__path__[0])
    return [(package / name, folder / name) for name in _MODULES]


def main() -> None:
    """Write the copies into a folder, and print the option of the master that names it."""
    parser = argparse.ArgumentParser(prog="python -m saltext.reclass.guard", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="such as /etc/salt/reclass")
    folder: Path = parser.parse_args().folder.absolute()
    # The user of the master must be able to read them.
    os.umask(0o022)
    try:
        for source, copy in copies(folder):
            copy.parent.mkdir(parents=True, exist_ok=True)
            replace(copy, source.read_bytes())
    except OSError as error:
        parser.exit(74, f"cannot write into '{folder}': {error.strerror}\n")
    print(f"module_dirs:\n  - {folder}")


if __name__ == "__main__":
    main()
