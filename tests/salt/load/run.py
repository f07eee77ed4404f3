"""Puts a master, its clients and a changing inventory together, and counts.

`python -m tests.salt.load.run [REQUESTS]` prints the figures for `docs/reliability.md`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.salt.conftest import ROOT, Site
from tests.salt.load.inventory import Inventory, Wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 5
NODES = 24
REACTION = """
ask:
  runner.reclass.show_pillar:
    - args:
        - minion: {{ data['node'] | json }}
"""


@dataclass
class Process:
    """A process of the master that has loaded the engine."""

    kilobytes: int
    descriptors: Counter[str]


@dataclass
class Figures:
    """What came out."""

    seconds: float = 0.0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    # How often Salt turned a minion away, and how often its log says so.
    turned_away: int = 0
    tokens: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    # After how many requests, and the processes then.
    levels: list[tuple[int, dict[int, Process]]] = field(default_factory=list)

    @property
    def first(self) -> dict[int, Process]:
        return self.levels[0][1]

    @property
    def last(self) -> dict[int, Process]:
        return self.levels[-1][1]

    def lines(self) -> Iterator[str]:
        """The figures as they stand on the page."""
        kinds = sorted({kind for kind, _ in self.answers})
        answers, changes = self.answers.total(), self.changes.total()
        yield f"{answers} requests and {changes} changes in {self.seconds:.0f} seconds."
        if self.turned_away:
            yield f"Salt turned minions away before it looked at their request, {self.turned_away} times."
        yield ""
        yield "| asked by | right | refused, as the files deserved | wrong | no answer |"
        yield "|---|---|---|---|---|"
        for kind in kinds:
            cells = [str(self.answers[kind, verdict]) for verdict in ("right", "refused", "wrong", "none")]
            yield f"| {kind} | {' | '.join(cells)} |"
        yield ""
        yield "| change | times |"
        yield "|---|---|"
        for change, count in self.changes.most_common():
            yield f"| {change} | {count} |"
        yield ""
        yield "| requests | processes with the engine | largest, MB | all, MB | descriptors | of inotify |"
        yield "|---|---|---|---|---|---|"
        for requests, processes in self.levels:
            sizes = [process.kilobytes / 1024 for process in processes.values()]
            open_ = sum((process.descriptors for process in processes.values()), Counter())
            yield (
                f"| {requests} | {len(sizes)} | {max(sizes):.1f} | {sum(sizes):.1f} | {open_.total()} "
                f"| {open_['anon_inode:inotify']} |"
            )


def prepare(site: Site) -> None:
    """Configures a master of several workers, for an inventory that is not there yet."""
    reaction = site.folder / "ask.sls"
    reaction.write_text(REACTION)
    site.master_options |= {
        "worker_threads": WORKERS,
        "external_auth": {"auto": {"ada": ["@runner"]}},
        "reactor": [{"load/ask": [str(reaction)]}],
        "log_level_logfile": "warning",
    }


def load(site: Site, requests: int, seed: int = 1, step: int = 1000) -> Figures:
    """Asks for so many answers while the inventory changes; looks at the processes after each `step`."""
    inventory = Inventory(site.inventory, NODES, seed)
    site.start_master()
    folders = {node: site.configure_minion(node) for node in inventory.nodes}
    figures = Figures()
    nodes = inventory.nodes
    master = str(site.folder / "master")
    # Most of them by minions: the others cost a process or a burst each.
    shares = [
        ("minions", requests // 5, [str(folders[node]) for node in nodes[part::4]]) for part in range(4)
    ]
    shares += [(kind, requests // 10, [master, *nodes]) for kind in ("runners", "reactors")]
    clients, results = [], []
    start = time.monotonic()
    for number, (kind, count, configs) in enumerate(shares):
        results.append(site.folder / f"results{number}")
        command = [sys.executable, "-m", "tests.salt.load.clients", kind, str(results[-1])]
        with (site.folder / f"client{number}").open("wb") as output:
            clients.append(
                subprocess.Popen(
                    [*command, str(count), f"{seed}.{number}", *configs],
                    cwd=ROOT,
                    stdout=output,
                    stderr=output,
                )
            )
    draw = random.Random(seed)
    try:
        while any(client.poll() is None for client in clients):
            # Now in a burst, now with time for an answer in between.
            for _ in range(draw.choice([1, 1, 1, 5, 20])):
                inventory.change()
            time.sleep(draw.random() * 0.3)
            done = sum(_lines(path) for path in results)
            if done >= step * (len(figures.levels) + 1):
                figures.levels.append((done, processes(site)))
    finally:
        for client in clients:
            client.kill()
            client.wait()
    figures.seconds = time.monotonic() - start
    # What is under way ends; then nobody asks any more.
    time.sleep(3)
    figures.levels.append((sum(_lines(path) for path in results), processes(site)))
    figures.changes = inventory.changes
    figures.tokens = site.log("master").count("Unable to decrypt token")
    for number, path in enumerate(results):
        for line in path.read_text().splitlines():
            _judge(inventory, json.loads(line), figures)
        if clients[number].returncode or '"failure":' in path.read_text():
            figures.failures.append((site.folder / f"client{number}").read_text(errors="replace"))
    return figures


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _judge(inventory: Inventory, line: dict[str, Any], figures: Figures) -> None:
    kind, node, answer = line["kind"], line["node"], line.get("answer")
    figures.turned_away += line.get("again", 0)
    if "failure" in line:
        figures.answers[kind, "none"] += 1
        figures.failures.append(f"{kind} {node}: {line['failure']}")
        return
    if kind in ("runner", "reactor"):
        answer = answer["return"] if answer["success"] else {"_errors": [str(answer["return"])]}
    judge = inventory.judge_top if kind == "top" else inventory.judge_pillar
    try:
        verdict = judge(node, answer, (line["start"], line["end"]))
    except Wrong as wrong:
        verdict = "wrong"
        figures.wrong.append(f"{kind}: {wrong}")
    figures.answers[kind, verdict] += 1


def processes(site: Site) -> dict[int, Process]:
    """The processes of the master that have the engine and live on, by number."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if (
                int(stat[3]) != site.daemons["master"].pid
                or "_engine.abi3.so" not in (folder / "maps").read_text()
            ):
                continue
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            kinds = Counter(os.readlink(entry).split("[")[0] for entry in (folder / "fd").iterdir())
            found[int(folder.name)] = Process(int(status["VmRSS"].split()[0]), kinds)
        except (OSError, KeyError):
            # It has ended: a runner, or the descriptor of the moment.
            continue
    return found


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    with tempfile.TemporaryDirectory(prefix="load") as folder:
        site = Site(Path(folder))
        prepare(site)
        try:
            figures = load(site, requests)
        finally:
            site.stop()
    print("\n".join(figures.lines()))
    for problem in [*figures.wrong[:5], *figures.failures[:5]]:
        print(problem, file=sys.stderr)
    sys.exit(bool(figures.wrong or figures.failures))


if __name__ == "__main__":
    main()
