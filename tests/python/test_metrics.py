"""The counters of several processes are summed, and no count of a process that ended is lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import ReclassError, _metrics, _salt

if TYPE_CHECKING:
    from collections.abc import Callable

MONITORING = Path(__file__).resolve().parent.parent.parent / "examples/monitoring"


def master(base: Path, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a master, and the settings of an inventory."""
    return (
        {"cachedir": str(tmp_path / "cache"), "__role": "master", "id": "master"},
        {"inventory_base_uri": str(base), "metrics_file": str(tmp_path / "reclass.prom")},
    )


def in_child(work: Callable[[], Any]) -> int:
    """A child that works, and then waits for its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            os.write(writing, b"x")
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"x"
    os.close(reading)
    return child


def test_all_processes_are_summed(write: Callable[[dict[str, str]], Path], tmp_path: Path) -> None:
    base = write({"nodes/web1": "parameters: {a: 1}", "nodes/bad": "classes: [gone]"})
    opts, settings = master(base, tmp_path)

    def ask() -> None:
        for _ in range(3):
            _salt.pillar("web1", {}, (), settings, opts)
        with pytest.raises(ReclassError):
            _salt.pillar("bad", {}, (), settings, opts)

    expected = {"pillar": {"remembered": 2, "computed": 1}, "top": {"remembered": 0, "computed": 0}}
    children = [in_child(ask)]
    stats = _metrics.summed(opts)
    assert stats["answers"] == expected
    assert stats["errors"] == {"class-not-found": 1}
    assert stats["processes"] == 1
    # A child of a worker counts in its own file, and remembers what its parent does.
    children.append(in_child(lambda: (ask(), os.waitpid(in_child_that_ends(ask), 0))))
    children.append(in_child(ask))
    for _ in range(2):
        stats = _metrics.summed(opts)
        assert stats["answers"]["pillar"] == {"remembered": 9, "computed": 3}
        assert stats["errors"] == {"class-not-found": 4}
        assert stats["seconds"]["count"] == 16
        assert stats["seconds"]["buckets"]["+Inf"] == 16
        assert 0 < stats["seconds"]["sum"] < 60
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for _ in range(2):
        stats = _metrics.summed(opts)
        assert stats["answers"]["pillar"] == {"remembered": 9, "computed": 3}
        assert stats["processes"] == 0
    assert [path.name for path in (tmp_path / "cache/reclass/metrics").iterdir()] == ["total"]


def test_a_computed_answer_with_the_name_of_its_revision_counts_as_computed(
    write: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    opts, settings = master(write({"nodes/web1": "parameters: {a: 0}"}), tmp_path)
    settings["revision_in_pillar"] = True

    def ask() -> None:
        for number in range(1, 4):
            write({"nodes/web1": f"parameters: {{a: {number}}}"})
            for _ in range(2):
                _salt.pillar("web1", {}, (), settings, opts)

    os.waitpid(in_child_that_ends(ask), 0)
    assert _metrics.summed(opts)["answers"]["pillar"] == {"remembered": 3, "computed": 3}


def in_child_that_ends(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def test_nothing_is_counted_without_the_setting(
    write: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    opts, settings = master(write({"nodes/web1": "parameters: {a: 1}"}), tmp_path)
    del settings["metrics_file"]
    _salt.pillar("web1", {}, (), settings, opts)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("clear", [shutil.rmtree, lambda path: path.rename(path.with_name("away"))])
def test_a_worker_counts_on_after_the_cache_was_cleared(
    clear: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opts = {"cachedir": str(tmp_path / "cache")}

    def work() -> None:
        for _ in range(3):
            _metrics.counted("pillar", opts, dict)
        clear(tmp_path / "cache")
        # Until it looks again, what it counts is lost.
        _metrics.counted("pillar", opts, dict)
        assert not (tmp_path / "cache").exists()
        _metrics._Process.look = 0
        for _ in range(5):
            _metrics.counted("pillar", opts, dict)

    child = in_child(work)
    stats = _metrics.summed(opts)
    assert (stats["processes"], stats["seconds"]["count"]) == (1, 5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert _metrics.summed(opts)["seconds"]["count"] == 5


def test_a_worker_counts_as_soon_as_it_can(tmp_path: Path) -> None:
    opts = {"cachedir": str(tmp_path / "cache")}
    (tmp_path / "cache").write_text("no folder")

    def work() -> None:
        _metrics.counted("pillar", opts, dict)
        (tmp_path / "cache").unlink()
        _metrics._Process.look = 0
        _metrics.counted("pillar", opts, dict)

    child = in_child(work)
    assert _metrics.summed(opts)["seconds"]["count"] == 1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_count_looks_for_its_file_once_in_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opts, looks = {"cachedir": str(tmp_path)}, []
    is_at = _metrics._Counters.is_at
    monkeypatch.setattr(_metrics._Counters, "is_at", lambda *of: looks.append(of) or is_at(*of))
    monkeypatch.setattr(_metrics, "_LOOK", 3600 * 10**9)
    _metrics._Process.look = 0
    for _ in range(1000):
        _metrics.counted("pillar", opts, dict)
    assert len(looks) <= 1
    _metrics._Process.look = 0
    (tmp_path / "reclass/metrics" / str(os.getpid())).unlink()


def test_a_count_costs_little(tmp_path: Path) -> None:
    opts = {"cachedir": str(tmp_path)}
    _metrics.counted("pillar", opts, dict)
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(1000):
            _metrics.counted("pillar", opts, dict)
        times.append((time.perf_counter() - begun) / 1000)
    # It takes some 3 µs on an idle machine.
    assert min(times) < 30e-6
    os.unlink(tmp_path / "reclass/metrics" / str(os.getpid()))


STATS = {
    "processes": 2,
    "answers": {"pillar": {"remembered": 5, "computed": 1}, "top": {"remembered": 0, "computed": 2}},
    "errors": {"class-not-found": 3},
    "seconds": {"sum": 0.5, "count": 11, "buckets": {"0.1": 10, "+Inf": 11}},
    "inventories": [
        {
            "source": 'a "quoted" name',
            "revision": "a1b2 of main",
            "age_seconds": None,
            "stale": 0,
            "nodes": 4,
            "nodes_failing": 1,
            "commit_waiting_seconds": 70,
            "commit_refused": 1,
            "nodes_held": 3,
            "trial_seconds": 0,
            "drift_minions": 2,
            "drift_timestamp_seconds": 1000000000,
        }
    ],
}


def test_the_text_is_that_of_prometheus(tmp_path: Path) -> None:
    path = tmp_path / "reclass.prom"
    _metrics.write(str(path), STATS)
    text = path.read_text()
    assert 'reclass_answers_total{what="pillar",how="remembered"} 5\n' in text
    assert 'reclass_errors_total{code="class-not-found"} 3\n' in text
    assert 'reclass_answer_seconds_bucket{le="+Inf"} 11\n' in text
    assert 'reclass_nodes_failing{inventory="a \\"quoted\\" name"} 1\n' in text
    assert 'reclass_drift_minions{inventory="a \\"quoted\\" name"} 2\n' in text
    assert 'reclass_commit_waiting_seconds{inventory="a \\"quoted\\" name"} 70\n' in text
    assert 'reclass_commit_refused{inventory="a \\"quoted\\" name"} 1\n' in text
    assert 'reclass_nodes_held{inventory="a \\"quoted\\" name"} 3\n' in text
    assert 'reclass_trial_seconds{inventory="a \\"quoted\\" name"} 0\n' in text
    assert "reclass_age_seconds" not in text
    sample = re.compile(r'reclass_\w+(\{\w+="(?:[^"\\]|\\.)*"(,\w+="(?:[^"\\]|\\.)*")*\})? [0-9.]+')
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    assert all(sample.fullmatch(line) for line in lines), lines
    assert list(tmp_path.iterdir()) == [path]
    # Two entries read one inventory.
    text = _metrics.text({**STATS, "inventories": [*STATS["inventories"], *STATS["inventories"]]})  # type: ignore[misc]
    assert 'reclass_nodes_failing{inventory="a \\"quoted\\" name",entry="2"} 1\n' in text
    samples = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("# ")]
    assert len(samples) == len(set(samples))


def test_the_numbers_of_a_delivery() -> None:
    assert "nodes_held" not in _metrics.of_inventory("a", "r", [], None)
    held = [{"problem": "x", "nodes": ["a", "b"]}, {"problem": "y", "nodes": ["c"]}]
    delivery = {"is_served": False, "held": held, "waiting": 5, "trial": {"seconds": 7, "nodes": ["d"]}}
    names = ("commit_waiting_seconds", "commit_refused", "nodes_held", "trial_seconds")
    found = _metrics.of_inventory("a", "r", [], delivery)
    assert [found[name] for name in names] == [5, 1, 3, 7]
    found = _metrics.of_inventory("a", "r", [], {"is_served": True, "held": []})
    assert [found[name] for name in names] == [0, 0, 0, 0]


def test_rules_and_dashboard_name_metrics_that_there_are() -> None:
    one = {**STATS["inventories"][0], "age_seconds": 1}  # type: ignore[index]
    known = set(
        re.findall(
            r"^(reclass_\w+?)(?:_sum|_count)?[{ ]", _metrics.text({**STATS, "inventories": [one]}), re.M
        )
    )
    for name in ("reclass.rules.yml", "grafana.json"):
        text = (MONITORING / name).read_text()
        named = set(re.findall(r"\breclass_\w+", text))
        assert named
        assert named <= known, name
    json.loads((MONITORING / "grafana.json").read_text())


@pytest.mark.needs("promtool", bool(shutil.which("promtool")), "install the package prometheus of Debian")
def test_promtool_takes_rules_and_metrics(tmp_path: Path) -> None:
    for command in (["check", "rules", "reclass.rules.yml"], ["test", "rules", "reclass.test.yml"]):
        done = subprocess.run(
            ["promtool", *command], cwd=MONITORING, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=_metrics.text(STATS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
