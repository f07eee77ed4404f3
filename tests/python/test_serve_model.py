"""Random histories with `serve`: each door answers what a model says (`serve_model`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import long

ROOT = Path(__file__).resolve().parent.parent.parent


def play(folder: Path, first: int, runs: int, parts: int) -> tuple[int, int, int]:
    """Makes runs in some processes, and returns the numbers of runs, questions and kills."""
    command = [sys.executable, "-m", "tests.python.serve_model"]
    started = []
    for part in range(parts):
        (folder / str(part)).mkdir()
        arguments = [str(folder / str(part)), str(first + part * runs // parts), str(runs // parts)]
        pipe = subprocess.PIPE
        started.append(
            subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
        )
    done = []
    for process in started:
        output, errors = process.communicate()
        # The seed, the steps, and both answers.
        assert process.returncode == 0, output + errors
        done.append([int(word) for word in output.replace(",", "").split() if word.isdigit()])
    made, questions, kills, *_ = (sum(numbers) for numbers in zip(*done, strict=True))
    return made, questions, kills


def test_each_door_answers_what_the_model_says(tmp_path: Path) -> None:
    runs, questions, kills = play(tmp_path, 1, 60, 2)
    assert runs == 60
    assert questions > 600
    assert kills > 30


# More than an hour of one processor.
@long
@pytest.mark.timeout(8 * 3600)
def test_each_door_answers_what_the_model_says_for_long(tmp_path: Path) -> None:
    runs, questions, kills = play(tmp_path, 1000, 10_000, 4)
    assert runs == 10_000
    assert questions > 100_000
    assert kills > 5_000
