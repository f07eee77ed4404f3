"""A panic at every point where Python objects are read or made, one after the other.

Only a build for tests has such points, so one is built here. ``panics.py`` asks the questions, in a
process of its own with that build.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import long

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and the engine of a build for tests."""
    if not shutil.which("cargo"):
        pytest.skip("needs Rust")
    command = ["cargo", "build", "--locked", "--quiet", "--package", "saltext-reclass"]
    command += ["--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    [library] = [
        name
        for message in messages
        if message.get("target", {}).get("name") == "_engine"
        for name in message.get("filenames", [])
        if name.endswith(".so")
    ]
    folder = tmp_path_factory.mktemp("engine")
    package = folder / "saltext" / "reclass"
    shutil.copytree(ROOT / "python" / "saltext" / "reclass", package)
    shutil.copy(library, package / "_engine.abi3.so")
    return folder


# The build takes minutes on a busy machine.
@long
@pytest.mark.timeout(1800)
def test_a_panic_anywhere_in_a_call_of_python_leaves_nothing_wrong(engine: Path, tmp_path: Path) -> None:
    program = [sys.executable, str(Path(__file__).with_name("panics.py")), str(engine), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=1100)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    print(f"{report['panics']} panics in calls of Python, at {report['points']}")
    assert report["panics"] > 100
    # A line of each that reads or makes objects.
    for file in ("asking", "incoming", "outgoing"):
        assert any(f"/{file}.rs:" in point for point in report["points"]), file
