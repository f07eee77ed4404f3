"""Numbers that several pages name are those of the page that has them from a program."""

from __future__ import annotations

import re

from tests.conftest import ROOT


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_pages_agree_how_many_rules_lint_has() -> None:
    rules = len(re.findall(r"^### `", page("docs/lint.md"), re.M))
    assert [int(number) for number in rules_of("README.md")] == [rules]


def rules_of(name: str) -> list[str]:
    return re.findall(r"\b(\d+) rules\b", page(name))


def test_the_readme_says_how_many_real_answers_are_equal() -> None:
    row = re.search(r"^\| 46 public inventories: node answers \|(.*)\|$", page("docs/compatibility.md"), re.M)
    assert row
    every, equal, one_fork, by_ruling, unexplained = (int(cell) for cell in row[1].split("|"))
    said = page("README.md")
    assert f"for {every} nodes of 46 public inventories, {equal} are equal" in said
    assert f"{one_fork + by_ruling} differ by a [ruling]" in said
    assert f"{by_ruling} from both programs, and {one_fork} from one of them" in said
    assert unexplained == 0
