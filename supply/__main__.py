"""A wheel as it was built becomes the wheel that is shipped: `python -m supply BUILT FOLDER`.

It gets a bill of materials, and the name of the oldest glibc that it can be installed on, which
`auditwheel` reads out of its symbols. Its module must use nothing but Python's stable interface.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from supply.bill import bill


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, text=True)
    return done.stdout


def platform(wheel: Path) -> str:
    """The platform tag of the oldest system that has the symbols that a wheel asks for."""
    found = re.search(r'"(manylinux_\w+)"', run("auditwheel", "show", str(wheel)))
    if found is None:
        sys.exit(f"{wheel} needs more than any Linux has")
    return found[1]


def main(built: Path, folder: Path) -> None:
    run("abi3audit", "--strict", str(built))
    with tempfile.TemporaryDirectory() as work:
        run("wheel", "unpack", "--dest", work, str(built))
        [root] = Path(work).iterdir()
        [info] = root.glob("*.dist-info")
        (info / "sboms").mkdir()
        (info / "sboms" / "reclass.cdx.json").write_text(bill())
        run("wheel", "pack", "--dest-dir", work, str(root))
        [packed] = Path(work).glob("*.whl")
        run("wheel", "tags", "--remove", "--platform-tag", platform(packed), str(packed))
        [shipped] = Path(work).glob("*.whl")
        folder.mkdir(exist_ok=True)
        (folder / shipped.name).write_bytes(shipped.read_bytes())
        print(folder / shipped.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
