"""The pure parts of the benchmark suite: what turns timings into a verdict and a page."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from statistics import StatisticsError
from typing import TYPE_CHECKING

import pytest

from benches import instructions
from benches.gen.__main__ import write
from benches.gen.layers import Layers, Numbers
from benches.instructions import Recorded
from benches.measure import (
    Figure,
    Growth,
    Row,
    Series,
    Target,
    alternate,
    at_least,
    at_most,
    exponent_at_most,
    growth,
    number,
    ratio,
    seconds,
    size,
)
from benches.page import page, table
from benches.programs import KAPICORP, OURS, RECLASS_RS
from benches.suite import Results
from benches.workers.literal import builder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.97])
def test_growth_finds_the_exponent(exponent: float) -> None:
    points = [(nodes, 0.003 * nodes**exponent) for nodes in (250, 500, 1000, 2000)]
    assert growth(points) == pytest.approx(exponent)


def test_growth_is_the_line_with_the_least_squares() -> None:
    # Doubled costs at both ends of three sizes lift the line and leave its slope.
    assert growth([(1, 2), (10, 10), (100, 200)]) == pytest.approx(1)
    # At the upper end alone they turn it: log 2 over two decades.
    assert growth([(1, 1), (10, 10), (100, 200)]) == pytest.approx(1.1505, abs=1e-4)


def test_growth_needs_two_sizes() -> None:
    with pytest.raises(StatisticsError):
        growth([(10, 1)])


def test_the_ratio_of_two_figures_is_taken_within_each_round() -> None:
    # The machine is ten times slower in the last round: for both.
    ours, peer = Figure([1.0, 2.0, 20.0]), Figure([100.0, 100.0, 1000.0])
    assert ratio(peer, ours).median == 50
    assert (ratio(peer, ours).low, ratio(peer, ours).high) == (50, 100)


def test_what_was_measured_once_is_held_against_every_round() -> None:
    measured = ratio(Figure([60.0], "once"), Figure([2.0, 3.0, 4.0]))
    assert (measured.low, measured.median, measured.high) == (15, 20, 30)


def test_a_round_has_every_program_in_turn() -> None:
    order: list[str] = []

    def work(name: str, turn: int) -> float:
        order.append(f"{name}{turn}")
        return turn

    values = alternate(2, {"a": lambda turn: work("a", turn), "b": lambda turn: work("b", turn)})
    assert order == ["a0", "b0", "a1", "b1"]
    assert values == {"a": [0, 1], "b": [0, 1]}


def test_targets_are_judged_by_medians() -> None:
    ours = Figure([0.001, 0.002, 0.5])
    assert at_most(0.002, ours, seconds) == Target("at most 2.00 ms", "2.00 ms", True)
    assert not at_most(0.0019, ours, seconds).reached
    assert at_least(40, Figure([0.08]), ours, "40 times") == Target("40 times", "40.0 times", True)
    assert not at_least(41, Figure([0.08]), ours, "41 times").reached
    assert exponent_at_most(1.05, 1.054).reached
    assert exponent_at_most(1.05, 1.056) == Target("at most 1.05", "1.06", False)


def test_quantities_have_three_digits_and_a_unit() -> None:
    assert [number(value) for value in (0.5, 1.337, 45.12, 671.4, 20400)] == [
        "0.50",
        "1.34",
        "45.1",
        "671",
        "20,400",
    ]
    assert [seconds(value) for value in (4.2e-7, 1.8e-5, 0.0133, 73.2)] == [
        "420 ns",
        "18.0 µs",
        "13.3 ms",
        "73.2 s",
    ]
    assert [size(value) for value in (30_000, 2_403e6, 1.2e9)] == ["30.0 KB", "2.40 GB", "1.20 GB"]


def test_the_gate_lets_three_percent_pass(capsys: pytest.CaptureFixture[str]) -> None:
    before = Recorded("a compiler", {"all": 1000, "one": 1000})
    assert instructions.judge({"all": 1030, "one": 1000, "new": 5}, "a compiler", before) == 0
    assert instructions.judge({"all": 1030, "one": 1031, "new": 5}, "a compiler", before) == 1
    printed = capsys.readouterr().out
    assert "error: the instructions of 'one' rose from 1,000 to 1,031\n" in printed
    assert "`make bench-record`" in printed


def test_counts_of_another_compiler_are_not_held(capsys: pytest.CaptureFixture[str]) -> None:
    before = Recorded("a compiler", {"one": 1000})
    assert instructions.judge({"one": 2000}, "a newer one", before) == 0
    assert "The recorded counts are of a compiler: these are not held" in capsys.readouterr().out


def test_what_could_not_be_counted_stays_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(instructions, "RECORDED", tmp_path / "instructions.json")
    instructions.RECORDED.write_text('{"made_with": "a compiler", "counts": {"one": 1, "two": 2}}')
    instructions.record({"one": 3}, "a compiler")
    assert instructions.recorded() == Recorded("a compiler", {"one": 3, "two": 2})
    instructions.record({"one": 4}, "a newer one")
    assert instructions.recorded() == Recorded("a newer one", {"one": 4})


@pytest.mark.parametrize(
    ("queries", "digest"),
    [
        (False, "a2aadf19b17ba4fc9a874b905a2abdb408d4b2f2ce837b5b21683a5ba528c4e3"),
        (True, "4edcfda2c1042add76683f71e413cda24bebff62cd9f8018830c5d94815aca5e"),
    ],
)
def test_an_inventory_is_the_same_to_the_byte(queries: bool, digest: str, tmp_path: Path) -> None:
    write(tmp_path, Layers(Numbers(60, 300, 2, queries=queries)))
    found = hashlib.sha256()
    for file in sorted(tmp_path.rglob("*.yml")):
        found.update(f"{file.relative_to(tmp_path)}\n".encode() + file.read_bytes())
    assert found.hexdigest() == digest


def test_a_literal_builds_an_equal_dict_each_time_anew() -> None:
    answer = {"a": [1, 2.5, None, {"b": "x"}], "c": {"d": [], "e": True}}
    build = builder(answer)
    built = build()
    assert built == answer
    built["a"][3]["b"] = "changed"
    assert build() == answer


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


@pytest.fixture
def results() -> Results:
    figures = {OURS: Figure([0.1, 0.2]), KAPICORP: Figure([73.0], "once"), RECLASS_RS: Figure([20.0, 50.0])}
    missed = Target("400 times", "365 times", False)
    lines = [Series(OURS, [(1, 1), (10, 10)]), Series(KAPICORP, [(1, 1), (10, 100)])]
    return Results(
        date="2026-01-02",
        machine="a machine",
        versions="the peers",
        targets=[Row("all nodes", "L", figures, [missed, Target("at most 1 s", "150 ms", True)])],
        growth=[Growth("all nodes", "seconds", "nodes", lines, [exponent_at_most(1.0, 1.0)])],
        counted={"all nodes of M": 1200},
        recorded={"all nodes of M": 1000},
        memory=[Row("all nodes", "L", {OURS: Figure([5e6], "or less")}, shown=size)],
        overview=[Row("again", "S (50)", {OURS: Figure([1e-4])})],
    )


def test_the_page_shows_what_is_missed(results: Results) -> None:
    lines = page(results).splitlines()
    assert "- Targets: 2 of 3 reached" in lines
    assert (
        "| all nodes (L) | 150 ms | 73.0 s (once): 548 times, 365 to 730 "
        "| 35.0 s: 225 times, 200 to 250 | 400 times | 365 times | **missed** |"
    ) in lines
    assert "|  |  |  |  | at most 1 s | 150 ms | yes |" in lines
    assert "| all nodes | nodes | 1.00 | 2.00 |  |  | at most 1.00 | yes |" in lines
    assert "| all nodes of M | 1,200 | 1,000 | +20.0% | **risen** |" in lines
    assert "| all nodes (L) | saltext-reclass | 5.00 MB (or less) |" in lines
    assert "| S (50) | again | 100 µs |  |  |" in lines


def test_the_page_says_that_nothing_was_counted(results: Results) -> None:
    shown = page(replace(results, counted={}))
    assert "Not counted in this run." in shown
