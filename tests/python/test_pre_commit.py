"""The hook of git that holds the format: `.githooks/pre-commit`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORMATTED = {"src/lib.rs": "mod one;\n", "src/one.rs": "fn _f() {}\n", "one.py": "X = {1: 2}\n"}
RUFF = ROOT / ".venv/bin/ruff"
pytestmark = pytest.mark.skipif(not RUFF.exists(), reason="the hook needs ruff: make build")
MANIFEST = '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2024"\n'


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    return subprocess.run(
        ["git", "-C", str(folder), *person, *arguments],
        env={**outside, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    write(tmp_path, {**FORMATTED, "Cargo.toml": MANIFEST})
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "core.hooksPath", str(ROOT / ".githooks"))
    git(tmp_path, "add", ".", ":!.venv")
    assert git(tmp_path, "commit", "-m", "formatted").returncode == 0
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text"),
    [("src/one.rs", "fn  _f( ) { }\n"), ("one.py", "X={1:2}\n"), ("one.py", "import os\n")],
)
def test_a_commit_that_is_not_formatted_is_refused(clone: Path, file: str, text: str) -> None:
    write(clone, {file: text})
    refused = git(clone, "commit", "-am", "not formatted")
    assert refused.returncode == 1
    assert file in refused.stderr
    assert "`make fix`" in refused.stderr


def test_the_index_is_looked_at_and_not_the_files(clone: Path) -> None:
    write(clone, {"src/one.rs": "fn  _f( ) { }\n"})
    git(clone, "add", "src/one.rs")
    write(clone, FORMATTED)
    assert git(clone, "commit", "-m", "not formatted").returncode == 1
    write(clone, {"src/one.rs": "fn  _g( ) { }\n", "one.py": "X = {1: 3}\n"})
    git(clone, "reset", "--quiet")
    git(clone, "add", "one.py")
    assert git(clone, "commit", "-m", "formatted").returncode == 0
