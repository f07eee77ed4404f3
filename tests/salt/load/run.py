"""Puts a master, its clients and a changing inventory together, and counts.

`python -m tests.salt.load.run [REQUESTS]` prints the figures for `docs/reliability.md`, and fails where
something is not as it has to be.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
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
    from collections.abc import Iterator, Sequence

# Salt has handlers of its own for the signals of users.
STACKS = signal.SIGRTMIN
WORKERS = 5
NODES = 24
# By how much a process may grow in the second half, in kilobytes: what Salt and Python keep, and the
# strings of new values, of which the engine keeps 131,072.
GROWTH = 6 * 1024
# How many more descriptors a process may have open: Salt has four for each connection with which it listens
# to its bus, and seven for each with which it fires events; one of each may be under way.
TRANSIENT = 4 + 7
# The kernel's name for a descriptor that reports changes.
WATCH = "anon_inode:inotify"
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
    # How many are open of each kind or file.
    descriptors: Counter[str]

    def ours(self, inventory: Path) -> Counter[str]:
        """The descriptors that the engine could have open: of its watch, for git, and of files."""
        kinds = (WATCH, "pipe:", "/memfd:reclass", str(inventory))
        return Counter({name: count for name, count in self.descriptors.items() if name.startswith(kinds)})


@dataclass
class Figures:
    """What came out."""

    seconds: float = 0.0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    # How often Salt turned a minion away, and how often its log says so.
    turned_away: int = 0
    tokens: int = 0
    # How often an event was fired again, and how many of them the threads of the reactor say that they lost.
    fired_again: int = 0
    lost: int = 0
    # By code.
    refusals: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    # After how many requests, and the processes then.
    levels: list[tuple[int, dict[int, Process]]] = field(default_factory=list)

    def problems(self, site: Site, growth: int = GROWTH) -> Iterator[str]:
        """What is not as it has to be."""
        yield from self.wrong
        yield from self.failures
        if self.turned_away > self.tokens:
            yield f"minions were turned away {self.turned_away} times, {self.tokens} of them by Salt"
        if self.fired_again > self.lost:
            yield f"{self.fired_again} events had no answer, {self.lost} of them were lost by Salt"
        requests, last_of_all = self.levels[-1]
        middle = next(found for number, found in self.levels if 2 * number >= requests)
        # The workers, and the reactor once it has loaded the engine; none of them has ended.
        lasting = middle.keys() & last_of_all.keys()
        if len(lasting) < WORKERS:
            yield f"only {len(lasting)} processes had the engine in all of the second half"
        for number in lasting:
            half, last = middle[number], last_of_all[number]
            grown = last.kilobytes - half.kilobytes
            if grown > growth:
                yield f"{number} has grown by {grown} kB in the second half, to {last.kilobytes} kB"
            ours = last.ours(site.inventory)
            more = ours - half.ours(site.inventory)
            more.pop(WATCH, None)
            if more or ours[WATCH] > 1 or any(name.startswith(str(site.inventory)) for name in ours):
                yield f"{number} has files of ours open: {ours}, and more than before: {more}"
            if last.descriptors.total() > half.descriptors.total() + TRANSIENT:
                yield f"{number} has more open than before: {last.descriptors - half.descriptors}"

    def lines(self) -> Iterator[str]:
        """The figures, in the form that the page shows."""
        kinds = sorted({kind for kind, _ in self.answers})
        answers, changes = self.answers.total(), self.changes.total()
        yield f"{answers} requests and {changes} changes in {self.seconds:.0f} seconds."
        if self.turned_away:
            yield f"Salt turned minions away before it looked at their request, {self.turned_away} times."
        if self.fired_again:
            yield f"Salt lost events before it looked at them, {self.fired_again} times."
        yield ""
        yield "| asked by | right | refused, as the files deserved | wrong | no answer |"
        yield "|---|---|---|---|---|"
        for kind in kinds:
            cells = [str(self.answers[kind, verdict]) for verdict in ("right", "refused", "wrong", "none")]
            yield f"| {kind} | {' | '.join(cells)} |"
        yield ""
        yield "| refused with | times |"
        yield "|---|---|"
        for code, count in self.refusals.most_common():
            yield f"| `{code}` | {count} |"
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
                f"| {open_[WATCH]} |"
            )


def prepare(site: Site) -> None:
    """Configures a master of several workers, for an inventory that is not there yet."""
    reaction = site.folder / "ask.sls"
    reaction.write_text(REACTION)
    # When asked to, a process of the master writes down where each of its threads is.
    startup = site.folder / "startup"
    startup.mkdir()
    (startup / "sitecustomize.py").write_text(f"import faulthandler\nfaulthandler.register({STACKS:d})\n")
    site.environment["PYTHONPATH"] = str(startup)
    site.master_options |= {
        "worker_threads": WORKERS,
        "external_auth": {"auto": {"ada": ["@runner"]}},
        "reactor": [{"load/ask": [str(reaction)]}],
        # A thread of the reactor that ends with an exception says so at this level alone.
        "log_level_logfile": "debug",
        "log_granular_levels": {"salt": "warning", "asyncio": "warning", "salt.utils.process": "debug"},
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
    start = time.monotonic()
    clients = [_Client(site, f"{seed}.{number}", *share) for number, share in enumerate(shares)]
    draw = random.Random(seed)
    try:
        while any(client.process.poll() is None for client in clients):
            # Now in a burst, now with time for an answer in between.
            for _ in range(draw.choice([1, 1, 1, 5, 20])):
                inventory.change()
            time.sleep(draw.random() * 0.3)
            done = sum(client.answers() for client in clients)
            if done >= step * (len(figures.levels) + 1):
                figures.levels.append((done, processes(site)))
        # Now that nothing changes, everybody gets what there is.
        clients.append(_Client(site, f"{seed}.each", "each", 1, [str(folders[node]) for node in nodes]))
        clients[-1].process.wait()
    finally:
        for client in clients:
            client.process.kill()
            client.process.wait()
    figures.seconds = time.monotonic() - start
    # What is under way ends; then nobody asks any more.
    time.sleep(3)
    figures.levels.append((sum(client.answers() for client in clients), processes(site)))
    figures.changes = inventory.changes
    for client in clients:
        text = client.results.read_text()
        for line in text.splitlines():
            _judge(inventory, json.loads(line), figures)
        if client.process.returncode:
            figures.failures.append(client.output.read_text(errors="replace"))
    if figures.failures:
        dump_stacks(site)
    log = site.log("master")
    figures.tokens = log.count("Unable to decrypt token")
    figures.lost = log.count(", in _thread_target\n")
    return figures


class _Client:
    """One of those who ask, as a program of its own."""

    def __init__(self, site: Site, seed: str, kind: str, count: int, configs: Sequence[str]) -> None:
        self.results = site.folder / f"results{seed}"
        self.output = site.folder / f"client{seed}"
        command = [sys.executable, "-m", "tests.salt.load.clients", kind, str(self.results)]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, str(count), seed, *configs], cwd=ROOT, stdout=output, stderr=output
            )

    def answers(self) -> int:
        return self.results.read_bytes().count(b"\n") if self.results.exists() else 0


def dump_stacks(site: Site) -> None:
    """Has each process with the engine write down where its threads are: an answer may hang there."""
    for number in processes(site):
        os.kill(number, STACKS)
    time.sleep(1)


def _judge(inventory: Inventory, line: dict[str, Any], figures: Figures) -> None:
    kind, node, answer = line["kind"], line["node"], line.get("answer")
    if kind == "reactor":
        figures.fired_again += line["again"]
    else:
        figures.turned_away += line.get("again", 0)
    if "failure" in line:
        figures.answers[kind, "none"] += 1
        figures.failures.append(f"{kind} {node}: {line['failure']}")
        return
    if kind in ("runner", "reactor"):
        answer = answer["return"] if answer["success"] else {"_errors": [str(answer["return"])]}
    judge = inventory.judge_top if kind == "top" else inventory.judge_pillar
    try:
        codes = judge(node, answer, (line["start"], line["end"]))
    except Wrong as wrong:
        figures.answers[kind, "wrong"] += 1
        figures.wrong.append(f"{kind}: {wrong}")
        return
    figures.answers[kind, "refused" if codes else "right"] += 1
    figures.refusals.update(codes)


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
            # Sockets and pipes are numbered.
            names: Counter[str] = Counter()
            for entry in (folder / "fd").iterdir():
                # Some are closed meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    names[re.sub(r"\[\d+\]$", "", os.readlink(entry))] += 1
            found[int(folder.name)] = Process(int(status["VmRSS"].split()[0]), names)
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
            figures = load(site, requests, step=requests // 10)
            problems = list(figures.problems(site))
            if figures.failures:
                print(site.log("master")[-20000:], file=sys.stderr)
        finally:
            site.stop()
    print("\n".join(figures.lines()))
    for problem in problems[:10]:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
