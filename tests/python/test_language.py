"""The examples of docs/language.md are run: no output there is written by hand.

``BLESS=1 pytest tests/python/test_language.py`` writes the outputs anew; read the difference before you
commit it. An example is a ``<div class="example">``. In it, a block that begins with ``# nodes/web1.yml`` is
that file, a block that begins with ``# parameters of web1`` is a part of the answer, without ``_reclass_``,
and a ``console`` block is a command with its output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conftest import ROOT

PAGE = ROOT / "docs/language.md"
PROGRAM = Path(sys.executable).with_name("reclass")
EXAMPLE = re.compile(r'^<div class="example">\n.*?^</div>$', re.S | re.M)
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)
PART = re.compile(r"^# (\w+) of (\S+)\n", re.M)
SECTION = re.compile(r"^#{2,3} (.+)\n((?:(?!#{2,3} ).*\n)+)", re.M)
RULING = re.compile(r"\[[A-Z]\d+\]\(semantics\.md#[a-z]\d+\)")
# Where the inventory is in the page.
SHOWN = "/srv/salt/reclass"


def run(command: str, folder: Path) -> str:
    """The output of a command, errors included, as a page shows it."""
    environment = {"PATH": f"{PROGRAM.parent}:{os.defpath}", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    done = subprocess.run(
        ["sh", "-c", f"exec 2>&1\n{command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    exits = f"[exit code {done.returncode}]\n" if done.returncode else ""
    return done.stdout.replace(str(folder.resolve()), SHOWN) + exits


def part(name: str, node: str, folder: Path) -> str:
    """A section of the answer for a node."""
    answer = run(f"reclass --no-refs --nodeinfo {node}", folder)
    found = re.search(rf"^{name}:(?: (.*\n)|\n((?:(?!\w).*\n)+))", answer, re.M)
    assert found, f"no {name} in the answer for {node}:\n{answer}"
    section = (found[1] or textwrap.dedent(found[2])).rstrip("\n") + "\n"
    return re.sub(r"^_reclass_:\n(?: .*\n)+", "", section, flags=re.M) or "{}\n"


def played(example: str) -> str:
    """The example as it should be."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path in ("nodes", "classes"):
            (folder / path).mkdir()

        def output(block: re.Match[str]) -> str:
            first, _, _ = block["text"].partition("\n")
            if block["language"] == "console":
                text = f"{first}\n{run(first.removeprefix('$ '), folder)}"
            elif parts := PART.findall(block["text"]):
                text = "\n".join(f"# {name} of {node}\n{part(name, node, folder)}" for name, node in parts)
            else:
                path = folder / first.removeprefix("# ")
                assert path.suffix == ".yml", f"neither a file nor an output: {first}"
                path.parent.mkdir(parents=True, exist_ok=True)
                text = block["text"]
                path.write_text(text)
            return f"```{block['language']}\n{text}```"

        return BLOCK.sub(output, example)


def test_the_examples_are_what_the_engine_answers() -> None:
    page = PAGE.read_text()
    assert len(BLOCK.findall(page)) == sum(len(BLOCK.findall(one)) for one in EXAMPLE.findall(page))
    new = EXAMPLE.sub(lambda example: played(example[0]), page)
    if "BLESS" in os.environ:
        PAGE.write_text(new)
    else:
        assert page.split("\n") == new.split("\n"), "BLESS=1 writes the outputs anew"


def test_each_section_with_an_example_leads_to_a_ruling() -> None:
    sections = [(title, text) for title, text in SECTION.findall(PAGE.read_text()) if EXAMPLE.search(text)]
    assert len(sections) > 45
    assert [title for title, text in sections if not RULING.search(text)] == []


def test_each_question_has_an_example() -> None:
    sections = SECTION.findall(PAGE.read_text())
    questions = [(title, text) for title, text in sections if title.endswith("?")]
    assert len(questions) > 40
    assert [title for title, text in questions if not EXAMPLE.search(text)] == []
