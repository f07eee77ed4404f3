"""Random histories of an inventory with `serve`: each door must answer what a model says.

`python -m tests.python.serve_model FOLDER FIRST RUNS` makes the runs with the seeds from FIRST on. Processes
answer in random order, and live as long as the workers of a master; some are killed, also amid a question.
What a killed process has done is not known, so a run holds all decisions that are possible. An answer must be
that of one of them, and leaves only those that it fits. In a quiet moment this is one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.python.serve_decisions import OF_NODE, PASSIVE, Blank, Decision, Rule, State, decided, expected
from tests.python.serve_doors import OF_PROGRAM, SLOW, Worker, ask_program, settings
from tests.python.serve_site import GONE, Commit, Repository, content

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = ["worker 1", "worker 2", "worker 3"]
"""The processes."""
# The engine lets commits wait at least ten seconds for the process that tests.
PATIENCE = 9


class MismatchError(Exception):
    """An answer that no decision explains."""


@dataclass
class Counts:
    """What the runs have done."""

    questions: int = 0
    kills: int = 0


@dataclass
class Run:
    """One history."""

    seed: int
    folder: Path
    counts: Counts
    steps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = chance = random.Random(self.seed)
        self.repository = Repository(self.folder / "site")
        self.plan = content(chance)
        self.revisions = itertools.count(1)
        self.known: list[Commit] = []
        self.head = GONE
        self.pushed = 0.0
        self.workers: dict[str, Worker] = {}
        self.memory: dict[str, set[Decision]] = {}
        """What each process may know."""
        self.watcher: str | None = None
        self.possible: set[State] = {Blank()}
        self.push(self.new_commit(None))
        canary = chance.choice([None, "n[01]"])
        self.rule = Rule(chance.random() < 0.3, canary, self.head if chance.random() < 0.2 else None)
        if self.rule.start:
            self.repository.write_ref("tags/start", self.head.sha)
        self.given = settings(self.folder, self.rule.whole, canary, self.rule.start is not None)
        self.steps.append(f"settings: {self.rule}")

    # What the administrators do.

    def new_commit(self, parent: Commit | None) -> Commit:
        commit = self.repository.commit(self.plan, next(self.revisions), parent)
        self.known.append(commit)
        return commit

    def push(self, commit: Commit) -> None:
        self.head, self.pushed = commit, time.monotonic()
        self.repository.write_ref("heads/master", commit.sha)
        if commit.readable:
            # A commit that a forced push takes away stays there as long as a tag has it.
            self.repository.write_ref(f"tags/r{commit.revision}", commit.sha)

    def change(self) -> None:
        """A commit: some of these break nodes, and some mend them."""
        chance, way = self.random, self.random.random()
        if way < 0.06:
            self.push(GONE)
        elif way < 0.14 and len(self.known) > 1:
            self.push(chance.choice(self.known))
        else:
            self.plan.change(chance)
            parents = [commit for commit in (self.head, chance.choice(self.known)) if commit.readable]
            self.push(self.new_commit(parents[-1] if chance.random() < 0.1 else parents[0]))
        self.steps.append(f"pushed: {self.head}")

    def push_unrelated(self) -> None:
        self.steps.append("pushed to another branch")
        self.repository.write_ref("heads/other", self.random.choice(self.known).sha)

    def lose_record(self) -> None:
        """Removes the record, or truncates it."""
        for record in (self.folder / "cache").glob("*.git/reclass-record"):
            truncated = self.random.random() < 0.5
            self.steps.append(f"the record is {'truncated' if truncated else 'removed'}")
            if truncated:
                os.truncate(record, record.stat().st_size // 2)
            else:
                record.unlink()
            self.possible = {Blank(truncated)}
            if self.watcher:
                # Who has no memory would wait for it, as for a test.
                self.ask(self.watcher, "pillar", "n0")

    # What the processes do.

    def worker(self, name: str) -> Worker:
        if name not in self.workers:
            self.workers[name] = Worker(self.given, self.folder)
            self.memory[name] = set()
        return self.workers[name]

    def kill(self, name: str) -> None:
        self.workers[name].kill()
        self.forget(name)

    def forget(self, name: str) -> None:
        """The process has been killed."""
        self.counts.kills += 1
        del self.workers[name], self.memory[name]
        if self.watcher == name:
            self.watcher = None

    def end(self) -> None:
        for worker in self.workers.values():
            with contextlib.suppress(OSError):
                worker.kill()

    def gone_by(self, state: State, asker: str) -> set[Decision]:
        """The decisions that a process may go by: its memory, if the record knows less."""
        memory = self.memory.get(asker, set())
        if isinstance(state, Blank):
            return memory
        better = {it for it in memory if not it.is_first} if state.is_first else set()
        return better if better and better == memory else {*better, state}

    def after(self, state: State, head: Commit, asker: str) -> set[State]:
        """The states that one question of a process may leave when it has fetched this commit."""
        known = self.gone_by(state, asker)
        if isinstance(state, Blank):
            if known:
                return {dataclasses.replace(it, distrusted=state.distrusted) for it in known}
            first = decided(self.rule, None, head)
            return {dataclasses.replace(first, distrusted=state.distrusted) if first else state}
        restored: set[State] = {dataclasses.replace(it, distrusted=False) for it in known if it != state}
        return {*restored, *(self.tested(state, head, asker) if state in known else ())}

    def tested(self, state: Decision, head: Commit, asker: str) -> set[State]:
        """The states that a look at this commit may leave."""
        if state.tested is head:
            return {state}
        tested = decided(self.rule, state, head)
        assert tested is not None
        if self.watcher in (None, asker):
            return {tested}
        return {state} if time.monotonic() - self.pushed < PATIENCE else {state, tested}

    def reachable(self, states: Iterable[State], heads: list[Commit], askers: list[str]) -> set[State]:
        """The states that any number of questions may leave, whose fetches found these commits in turn."""
        seen = set(states)
        for head in heads:
            left = list(seen)
            while left:
                state = left.pop()
                new = {it for asker in askers for it in self.after(state, head, asker)} - seen
                seen |= new
                left += new
        return seen

    def settled(self, asker: str) -> set[State]:
        """The states after a question that has no other one beside it."""
        states: set[State] = set()
        for state in self.possible:
            then = self.after(state, self.head, asker)
            states |= then
            if self.gone_by(state, asker) != {state}:
                # A memory is written again before the newest commit is looked at.
                states |= {it for known in then for it in self.after(known, self.head, asker)}
        return states

    def ask(self, asker: str, door: str, node: str) -> None:
        """A question in a quiet moment."""
        self.counts.questions += 1
        step = f"{asker}: {door} {node}"
        if asker == "program":
            answer = ask_program(self.folder, door, node)
        else:
            answer = self.worker(asker).ask(door, node)
        if door in PASSIVE:
            known: dict[State, set[State]] = {
                state: {*self.gone_by(state, asker)} or {state} for state in self.possible
            }
            fits = {
                state
                for state, seen in known.items()
                if any(expected(it, self.head, self.rule.canary, door, node) == answer for it in seen)
            }
        else:
            known = {state: {state} for state in self.settled(asker)}
            fits = {
                state for state in known if expected(state, self.head, self.rule.canary, door, node) == answer
            }
        self.steps.append(f"{step} -> {answer}")
        if not fits:
            wanted = [
                expected(it, self.head, self.rule.canary, door, node)
                for seen in known.values()
                for it in seen
            ]
            raise MismatchError(f"{step}\n  answer:   {answer}\n  expected: {wanted}\n  of: {list(known)}")
        self.possible = fits
        if asker != "program" and not any(isinstance(state, Blank) for state in fits):
            self.memory[asker] = {it for state in fits for it in known[state] if isinstance(it, Decision)}

    def ask_guest(self) -> None:
        """Who asks by other settings gets what the record says, and changes nothing."""
        self.counts.questions += 1
        door, node = self.random.choice([*OF_NODE, "status", "delivery"]), self.node()
        guest = Worker({**self.given, "limit_classes": 500, "_asker": "guest"}, self.folder)
        answer = guest.ask(door, node)
        guest.kill()
        step = f"guest: {door} {node} -> {answer}"
        self.steps.append(step)
        wanted = {it: expected(it, self.head, self.rule.canary, door, node) for it in self.possible}
        self.possible = {state for state, answers in wanted.items() if answers == answer}
        if not self.possible:
            raise MismatchError(f"{step}\n  expected: {wanted}")

    def race(self) -> None:
        """Questions side by side, with a push or a kill amid them."""
        chance = self.random
        names = chance.sample(NAMES, chance.choice([1, 2, 2, 3]))
        asked: dict[str, tuple[str, str]] = {}
        heads = [self.head]
        for number, name in enumerate(names):
            if number and chance.random() < 0.3:
                self.change()
                heads.append(self.head)
            asked[name] = chance.choice([*OF_NODE, "status", "delivery"]), self.node()
            self.worker(name).send(*asked[name])
            self.counts.questions += 1
        self.steps.append(f"side by side: {asked}")
        victim = chance.choice(names) if len(names) == 1 or chance.random() < 0.5 else None
        if victim:
            # A kill may come at any moment, so no state is waited for.
            time.sleep(chance.random() * chance.choice([0.003, 0.03, 0.15]))
            self.steps.append(f"{victim} is killed")
            self.workers[victim].kill()
        answers = {name: self.workers[name].receive() for name in names if name != victim}
        reached = self.reachable(self.possible, heads, names)
        if victim:
            if any(isinstance(state, Blank) for state in self.possible):
                # Killed between the two steps that put a new cache in the place of one that is not believed.
                reached.add(Blank())
            self.forget(victim)
        seen: dict[str, set[State]] = {}
        for name, answer in answers.items():
            door, node = asked[name]
            self.steps.append(f"  {name}: {answer}")
            seen[name] = {
                state
                for state in reached
                if any(expected(state, head, self.rule.canary, door, node) == answer for head in heads)
            }
            if not seen[name]:
                wanted = [expected(it, self.head, self.rule.canary, door, node) for it in reached]
                raise MismatchError(f"{name}: {door} {node}\n  answer:   {answer}\n  expected: {wanted}")
        # Nobody goes back behind what a question has seen.
        for states in seen.values():
            reached &= self.reachable(states, heads, names)
        self.possible = reached
        for name, states in seen.items():
            self.memory[name] = {state for state in states if isinstance(state, Decision)}

    def end_trial(self) -> None:
        """`reclass.promote` or `reclass.abort`, perhaps with a kill amid it."""
        name, promote = self.random.choice(NAMES), self.random.random() < 0.7
        after: dict[State, set[State]] = {}
        for state in self.possible:
            known = self.gone_by(state, name)
            # It may know of a trial, or of none.
            after[state] = {it.ended(promote) if it.trial is not None else state for it in known} or {state}
        step = f"{name}: {'promote' if promote else 'abort'}"
        self.worker(name).send("promote" if promote else "abort", "")
        if self.random.random() < 0.2:
            # As above: at any moment.
            time.sleep(self.random.random() * 0.01)
            self.kill(name)
            self.steps.append(f"{step}, and is killed")
            self.possible = {it for state, ended in after.items() for it in (state, *ended)}
            return
        ended = self.workers[name].receive()
        self.steps.append(f"{step} -> {ended}")
        self.possible = {it for state, its in after.items() for it in its if (it is not state) == ended}
        if not self.possible:
            raise MismatchError(f"{step} -> {ended}, with {list(after)}")
        if not any(isinstance(state, Blank) for state in self.possible):
            self.memory[name] = {state for state in self.possible if isinstance(state, Decision)}

    def watch(self) -> None:
        """A process becomes the one that tests, as the engine is."""
        name = self.random.choice(NAMES)
        self.ask(name, "pillar", "n0")
        if self.watcher is None:
            self.steps.append(f"{name} watches")
            if self.worker(name).ask("watch", "") is not True:
                raise MismatchError(f"{name} does not get the role of the one that tests")
            self.watcher = name

    def node(self) -> str:
        return self.random.choice(["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "unknown"])

    def question(self) -> None:
        chance, door = self.random, self.random.random()
        if door < 0.06 and not self.is_lost():
            # Without a decision, a guest makes one for itself alone.
            self.ask("program", chance.choice(OF_PROGRAM), self.node())
        elif door < 0.1:
            self.ask(chance.choice(NAMES), chance.choice(SLOW), "")
        elif door < 0.18 and not self.is_lost():
            self.ask_guest()
        else:
            doors = ["pillar", "pillar", "pillar", *OF_NODE, "status", "state", "delivery", "metrics"]
            self.ask(chance.choice(NAMES), chance.choice(doors), self.node())

    def is_lost(self) -> bool:
        return any(isinstance(state, Blank) for state in self.possible)

    def play(self) -> None:
        chance = self.random
        for _ in range(chance.randrange(3)):
            self.change()
        for _ in range(chance.randrange(6, 12)):
            way = chance.random()
            if way < 0.35:
                self.change()
            elif way < 0.62:
                self.question()
            elif way < 0.8:
                self.race()
            elif way < 0.88:
                if any(isinstance(state, Decision) and state.trial is not None for state in self.possible):
                    self.end_trial()
                else:
                    self.change()
            elif way < 0.92 and self.workers:
                name = chance.choice(sorted(self.workers))
                self.steps.append(f"{name} is killed")
                self.kill(name)
            elif way < 0.96:
                self.lose_record()
            elif way < 0.98 and not self.is_lost():
                self.watch()
            else:
                self.push_unrelated()
        self.agree()

    def agree(self) -> None:
        """All doors say the same in a quiet moment, whoever is asked."""
        chance = self.random
        if self.watcher:
            self.ask(self.watcher, "delivery", "")
        node = self.node()
        doors = [*OF_NODE, "status", "metrics"]
        if chance.random() < 0.08:
            doors += [*SLOW, "state", "delivery"]
        chance.shuffle(doors)
        for door in doors:
            self.ask(chance.choice(NAMES), door, node)
        for door in OF_PROGRAM if chance.random() < 0.08 else ():
            self.ask("program", door, node)
        # They have the same settings, so it is one decision.
        for record in (self.folder / "cache").glob("*.git/reclass-record"):
            assert len(json.loads(record.read_text()).get("served", {})) < 2


def main() -> None:
    folder, first, runs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    counts, begun = Counts(), time.monotonic()
    for seed in range(first, first + runs):
        place = folder / str(seed)
        place.mkdir()
        run = Run(seed, place, counts)
        try:
            run.play()
        except BaseException as error:
            print(f"seed {seed}:", *run.steps, "", sep="\n", flush=True)
            if not isinstance(error, MismatchError):
                raise
            sys.exit(f"seed {seed}: {error}")
        finally:
            run.end()
        # A git whose process was killed may still write.
        with contextlib.suppress(OSError):
            shutil.rmtree(place)
    seconds, used = time.monotonic() - begun, os.times()
    busy = used.user + used.system + used.children_user + used.children_system
    print(
        f"{runs} runs, {counts.questions} questions, {counts.kills} kills, "
        f"{seconds:.0f} seconds, {busy:.0f} of a processor"
    )


if __name__ == "__main__":
    main()
