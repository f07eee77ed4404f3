"""The pages are in plain English: phrases that readers stumble over are not used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# All but docs/benchmarks.md, which the benchmarks write.
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted((ROOT / "changelog").glob("*.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "benchmarks.md"),
    *sorted((ROOT / "docs/man").glob("*.1")),
    *sorted((ROOT / "tests").rglob("README.md")),
]

# A phrase, and a better one.
PHRASES = {
    r"\bbut for\b": "except for",
    r"\b(?:is|are|was|were|be|been|being) (?:not )?told\b": "who learns what, with them as the subject",
    r"\b(?:stands?|stood)\b": "is, are",
    r"(?:^|[.:] |^\| |^- )What (?!to )(?:[^.?]*)(?:[.]|$)": "a noun: 'errors', not 'what is wrong'",
    r"\b[Mm]ind that\b": "note that",
    r"\b[Ww]hoever\b": "a person or a user who",
    r"\bwithout a word\b": "without a message",
}


def prose(text: str) -> list[str]:
    """The lines of a page; blocks of code and what is in backticks are empty."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "``", text)
    # Neither headings, which may be questions, nor the names of links.
    return [
        re.sub(r"\[[^]]*\]\([^)]*\)", "[]", line)
        for line in re.sub(r"^#.*$", "", text, flags=re.M).split("\n")
    ]


def test_the_phrases_are_found() -> None:
    bad = [
        "All files but for one.",
        "Salt is told of it.",
        "A minion is not told.",
        "It stands in the file.",
        "What is wrong is an error.",
        "No. What fails is shown.",
        "Mind that.",
        "Whoever reads it.",
        "It ends without a word.",
    ]
    for line in bad:
        assert any(re.search(phrase, line) for phrase in PHRASES), line
    assert prose("`it stands`\n```\nbut for\n```\n# What is it\n") == ["``", "", "", "", "", ""]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_plain_english(page: Path) -> None:
    lines = prose(page.read_text(encoding="utf-8"))
    found = [
        f"{page.relative_to(ROOT)}:{number}: {match[0]!r}: {better}"
        for number, line in enumerate(lines, start=1)
        for phrase, better in PHRASES.items()
        if (match := re.search(phrase, line))
    ]
    assert not found, "\n".join(found)
