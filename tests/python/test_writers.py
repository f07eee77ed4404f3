"""Everything that is written outside of inventories goes through one door, which follows no link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from saltext.reclass import _files, _metrics

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# What writes, makes or renames a file in Python and in Rust.
WRITERS = {
    "*.py": r"\.write_(?:text|bytes)\(|os\.(?:open|replace|rename|link|symlink|mkfifo|truncate)\(|O_CREAT"
    r"|\bopen\((?!os\.open).*[\"'][rb+]*[wax][b+]*[\"']|mkstemp|NamedTemporaryFile|shutil\.(?:copy|move)"
    r"|\.rename\(|\.touch\(|\.symlink_to\(|\.hardlink_to\(",
    "*.rs": r"File::create|OpenOptions|create_new|fs::write\(|fs::rename\(|fs::copy\(|hard_link\("
    r"|(?<![a-z_])symlink\(|OFlags::CREATE|renameat\(|tempfile::|set_len\(|mknod",
}

DOOR = "the door: a new file of a name that nobody can guess, without following links, is renamed"
PRIVATE = "a folder of this user alone, and no link is followed"
COPY = "in a temporary folder of this user alone"
READS = "only reads"

# Each place that has one of these words, and why that follows no link of somebody else.
KNOWN = {
    "python/saltext/reclass/_files.py": DOOR,
    "python/saltext/reclass/_fleet.py": "locks in a folder of this user alone",
    "python/saltext/reclass/_metrics.py": "counters in a folder of this user alone, without following links",
    "python/saltext/reclass/_push.py": COPY,
    "crates/cli/src/folder.rs": "a new temporary file, by `tempfile`",
    "crates/closed/src/lib.rs": "the names of calls that fail, for systems without files",
    "src/storage/fs.rs": READS,
    "src/storage/git/cache.rs": PRIVATE,
    "src/storage/os.rs": "a new file, removed at once, on systems without `memfd`",
    "src/storage/outside.rs": DOOR,
    "src/storage/private.rs": PRIVATE,
    "src/storage/record.rs": PRIVATE,
    "src/storage/write.rs": "files of inventories, their locks, and the list of files that git leaves out",
}


def writers(text: str, kind: str) -> list[str]:
    """The lines that write, without the comments and the unit tests of Rust."""
    code = text.split("#[cfg(test)]\nmod tests", maxsplit=1)[0]
    lines = [line.strip() for line in code.splitlines()]
    return [
        line for line in lines if re.search(WRITERS[kind], line) and not line.startswith(("//", "#", "use "))
    ]


def test_no_other_place_writes() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("python", "salt", "src", "crates")
        for kind in WRITERS
        for path in (ROOT / folder).rglob(kind)
        if writers(path.read_text(), kind)
    }
    assert found == set(KNOWN)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Path(new).write_text(text)", "*.py"),
        ('with open(path, "w", encoding="utf-8") as file:', "*.py"),
        ('with path.open("ab") as file:', "*.py"),
        ("file = os.open(path, os.O_WRONLY)", "*.py"),
        ("let file = File::create(path)?;", "*.rs"),
        ("fs::write(path, bytes)", "*.rs"),
    ],
)
def test_writers_are_found(line: str, kind: str) -> None:
    assert writers(line, kind) == [line]


def test_a_file_that_is_opened_for_reading_is_no_writer() -> None:
    assert writers('with open(path, encoding="utf-8") as file:\nopen(path, "rb")', "*.py") == []


def test_links_in_the_place_of_a_file_are_replaced(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_text("own")
    path.symlink_to(victim)
    _files.replace(path, b"new", 0o600)
    assert (victim.read_text(), path.read_text(), path.is_symlink()) == ("own", "new", False)
    assert path.stat().st_mode & 0o777 == 0o600
    _files.replace(path, b"")
    assert sorted(tmp_path.iterdir()) == [path, victim]


def test_no_new_file_is_left_where_a_file_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        _files.replace(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_metrics_follow_no_link_that_somebody_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("own")
    for name in ("reclass.prom", "reclass.prom.new"):
        (tmp_path / name).symlink_to(victim)
    monkeypatch.setattr(_metrics, "text", lambda stats: "numbers\n")
    _metrics.write(str(tmp_path / "reclass.prom"), {})
    assert victim.read_text() == "own"
    assert (tmp_path / "reclass.prom").read_text() == "numbers\n"
