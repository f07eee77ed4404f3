"""Those who ask: minions, administrators through the master (salt-api does so), and the reactor.

Each is a program of its own, `python -m tests.salt.load.clients KIND RESULTS COUNT SEED CONFIG…`, and writes
a line of JSON for each answer: the kind, the node, the moments of request and answer, the answer.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import salt.channel.client
import salt.config
import salt.runner
import salt.utils.event
import salt.utils.master

import salt.pillar

Answers = Iterator[dict[str, Any]]
SECONDS = 60
# What Salt answers to a minion whose token it cannot decrypt: for a pillar, and for a top.
TURNED_AWAY = {
    "SaltClientError: Exception getting pillar.",
    "AuthenticationError: message authentication failed",
}


def minions(count: int, draw: random.Random, configs: list[str]) -> Answers:
    """Asks for pillars, and now and then for tops, with the code and the keys of minions."""
    all_opts = []
    for config in configs:
        opts = salt.config.minion_config(f"{config}/minion")
        opts["master_uri"] = f"tcp://127.0.0.1:{opts['master_port']}"
        all_opts.append(opts)
    for _ in range(count):
        opts = draw.choice(all_opts)
        kind = "top" if draw.random() < 0.2 else "pillar"
        yield ask(kind, opts["id"], lambda: top(opts) if kind == "top" else pillar(opts))  # noqa: B023


def pillar(opts: dict[str, Any]) -> Any:
    remote = salt.pillar.get_pillar(dict(opts), {"os": "Debian"}, opts["id"], None)
    try:
        return remote.compile_pillar()
    finally:
        remote.destroy()


def top(opts: dict[str, Any]) -> Any:
    with salt.channel.client.ReqChannel.factory(dict(opts)) as channel:
        load = {"cmd": "_master_tops", "id": opts["id"], "opts": {"id": opts["id"]}}
        if hasattr(channel, "auth"):
            load["tok"] = channel.auth.gen_token(b"salt")
        return channel.send(load, timeout=SECONDS)


def runners(count: int, draw: random.Random, configs: list[str]) -> Answers:
    """Calls the runner through the master: a worker forks for it, with the engine in its memory."""
    opts = salt.config.client_config(f"{configs[0]}/master")
    client = salt.runner.RunnerClient(opts)
    for _ in range(count):
        node = draw.choice(configs[1:])
        low = {
            "fun": "reclass.show_pillar",
            "arg": [node],
            "eauth": "auto",
            "username": "ada",
            "password": "x",
        }
        yield ask("runner", node, lambda: client.cmd_sync(low, timeout=SECONDS, full_return=True)["data"])  # noqa: B023


def each(count: int, draw: random.Random, configs: list[str]) -> Answers:
    """Asks as each minion once."""
    for config in configs:
        yield from minions(1, draw, [config])


def reactors(count: int, draw: random.Random, configs: list[str]) -> Answers:
    """Fires events, several at once, each of which lets a thread of the reactor call the runner."""
    opts = salt.config.client_config(f"{configs[0]}/master")
    with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus:
        await_reactor(bus)
        # One alone first: Salt makes what the threads of the reactor share in the first of them that
        # needs it, and when ten make it at once some end in a `KeyError` of Salt's.
        yield from react(bus, {draw.choice(configs[1:])})
        for _ in range(0, count, 10):
            yield from react(bus, set(draw.sample(configs[1:], min(10, len(configs) - 1))))


def await_reactor(bus: salt.utils.event.SaltEvent) -> None:
    """Waits until the reactor listens: nobody keeps an event for it that comes before."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        key = salt.utils.master.get_master_key("root", bus.opts)
        bus.fire_event({"key": key}, "salt/reactors/manage/is_leader")
        if bus.get_event(wait=1, tag="salt/reactors/manage/leader/value"):
            return
    raise TimeoutError("the reactor does not listen")


def react(bus: salt.utils.event.SaltEvent, nodes: set[str]) -> Answers:
    """Fires an event for each node, and waits for all answers.

    A job that began has to end. An event is fired again if it came to the bus and no job of the reactor
    began: Salt has lost it, before any module of ours was called.
    """
    waiting = set(nodes)
    for again in range(3):
        start = time.monotonic()
        asked: set[str] = set()
        begun: set[str] = set()
        for node in waiting:
            bus.fire_event({"node": node}, "load/ask")
        while waiting and time.monotonic() < start + SECONDS:
            event = bus.get_event(wait=5, full=True) or {"tag": "", "data": {}}
            tag, data = event["tag"], event["data"]
            if tag == "load/ask":
                asked.add(data["node"])
            if not tag.startswith("salt/run/") or data.get("user") != "Reactor":
                continue
            node = data["fun_args"][0]["minion"]
            begun.add(node)
            if tag.endswith("/ret"):
                waiting.discard(node)
                times = {"start": start, "end": time.monotonic()}
                yield {"kind": "reactor", "node": node, **times, "again": again, "answer": data}
        if waiting & begun or waiting - asked:
            break
    for node in waiting:
        seen = ", ".join(word for word, nodes in (("asked", asked), ("begun", begun)) if node in nodes)
        yield {
            "kind": "reactor",
            "node": node,
            "start": start,
            "again": again,
            "failure": f"no answer; on the bus: {seen or 'nothing'}",
        }


def ask(kind: str, node: str, question: Callable[[], Any]) -> dict[str, Any]:
    """The line for one answer.

    Salt sometimes turns a minion away before it reads the question ("Unable to decrypt token" in the log of
    the master). So the question is asked again; the line says how often.
    """
    for again in range(5):
        start = time.monotonic()
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            failure = f"{type(error).__name__}: {error}"
            if failure not in TURNED_AWAY:
                break
        else:
            times = {"start": start, "end": time.monotonic()}
            return {"kind": kind, "node": node, **times, "again": again, "answer": answer}
    return {"kind": kind, "node": node, "start": start, "again": again, "failure": failure}


def main() -> None:
    kind, results, count, seed, *configs = sys.argv[1:]
    questions = {"minions": minions, "each": each, "runners": runners, "reactors": reactors}[kind]
    with Path(results).open("w", buffering=1) as output:
        for line in questions(int(count), random.Random(seed), configs):
            print(json.dumps(line, default=str), file=output)


if __name__ == "__main__":
    main()
