"""A package that is removed under a master: with copies of the modules, no pillar is without reclass."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite, Site

# A process that has not loaded the package yet finds none while the file is there.
REMOVED = """
import pathlib, sys

class Removed:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("saltext.reclass") and pathlib.Path({file!r}).exists():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Removed())
"""


def removed(site: Site) -> None:
    (site.folder / "removed").touch()


def start(site: Site) -> None:
    code = site.folder / "code"
    code.mkdir(parents=True)
    (code / "sitecustomize.py").write_text(REMOVED.format(file=str(site.folder / "removed")))
    site.environment["PYTHONPATH"] = str(code)
    site.start_master()


@pytest.fixture
def guarded(make_site: MakeSite) -> Site:
    site = make_site()
    folder = str(site.folder / "guard")
    site.master_options["module_dirs"] = [folder]
    subprocess.run([sys.executable, "-m", "saltext.reclass.guard", folder], check=True, env=os.environ)
    start(site)
    return site


def test_with_copies_each_answer_is_right_or_an_error(guarded: Site) -> None:
    site = guarded
    assert site.call("web1", "pillar.items").data["text"] == "hello"
    assert len(site.runner("reclass.check").data["guard"]) == 2
    removed(site)
    answers = [site.call("web1", "pillar.items").data for _ in range(6)]
    failed = [answer["_errors"] for answer in answers if "_errors" in answer]
    # Three workers, and one of them had the package already.
    assert failed
    for [error] in failed:
        assert "the package saltext-reclass does not load" in error
    assert all(answer["text"] == "hello" for answer in answers if "_errors" not in answer)
    applied = [site.call("web1", "state.apply", "test=True") for _ in range(4)]
    assert any(answer.code != 0 for answer in applied)
    for answer in applied:
        assert answer.code != 0 or "common" in str(answer.data), answer


def test_without_copies_pillars_are_empty(make_site: MakeSite) -> None:
    site = make_site()
    removed(site)
    start(site)
    assert site.call("web1", "pillar.items").data == {}
