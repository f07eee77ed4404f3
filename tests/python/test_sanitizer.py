"""`make tsan` says what a machine lacks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        (None, "make tsan needs Rust"),
        ("exit 1", "rustup toolchain install nightly --component rust-src"),
        ("echo /nowhere", "rustup component add rust-src"),
    ],
)
def test_it_says_what_it_lacks(compiler: str | None, said: str, tmp_path: Path) -> None:
    if compiler:
        program = tmp_path / "rustc"
        program.write_text(f"#!/bin/sh\n{compiler}\n")
        program.chmod(0o755)
    command = [sys.executable, str(ROOT / "tests" / "sanitizer")]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("make tsan needs ")
    assert said in done.stderr
