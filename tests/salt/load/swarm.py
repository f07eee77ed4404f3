"""Hundreds of minions that answer the jobs of a master, in one process.

`python -m tests.salt.load.swarm NOTES MASTER CONFIG NAME…` reads the jobs on the bus of the master, as the
minions of other machines would get them. For each minion of a job it asks for the pillar and returns the
answer, with the code of Salt and with the id of the minion. All have one key. NOTES gets a line of JSON for
each pillar: the minion and the pillar.
"""

from __future__ import annotations

import copy
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import salt.channel.client
import salt.config
import salt.utils.event

from tests.salt.load.clients import SECONDS, pillar

# As many as the master has workers, so that they have something to do.
THREADS = 3


class Swarm:
    """The minions, and the pillars that they have."""

    def __init__(self, notes: str, config: str, names: list[str]) -> None:
        opts = salt.config.minion_config(f"{config}/minion")
        opts["master_uri"] = f"tcp://127.0.0.1:{opts['master_port']}"
        self.opts = {name: {**copy.deepcopy(opts), "id": name} for name in names}
        self.pillars: dict[str, dict[str, Any]] = {}
        self.notes = open(notes, "a", buffering=1, encoding="utf-8")  # noqa: SIM115 - as long as the process
        self.busy: set[tuple[str, str]] = set()

    def refresh(self, name: str) -> bool:
        found = self.pillars[name] = pillar(self.opts[name])
        print(json.dumps({"minion": name, "pillar": found}, default=str), file=self.notes)
        return True

    def do(self, job: dict[str, Any], name: str) -> None:
        """Does what a job asks of a minion, and returns it."""
        fun, jid, *arguments = job["fun"], job["jid"], *(job["arg"] or [])
        if fun == "saltutil.find_job":
            answer: Any = {"jid": arguments[0]} if (name, arguments[0]) in self.busy else {}
        elif fun == "saltutil.refresh_pillar":
            answer = self.refresh(name)
        elif fun == "slsutil.renderer":
            # Whether the pillar has errors, as `reclass.refresh` asks.
            answer = str("_errors" in self.pillars.get(name, {}))
        else:
            answer = True
        load = {"cmd": "_return", "id": name, "jid": jid, "fun": fun, "fun_args": arguments}
        self.send(name, {**load, "return": answer, "retcode": 0, "success": True})
        self.busy.discard((name, jid))

    def send(self, name: str, load: dict[str, Any]) -> None:
        with salt.channel.client.ReqChannel.factory(dict(self.opts[name])) as channel:
            if hasattr(channel, "auth"):
                load["tok"] = channel.auth.gen_token(b"salt")
            channel.send(load, timeout=SECONDS)


def main() -> None:
    notes, master, config, *names = sys.argv[1:]
    swarm = Swarm(notes, config, names)
    # The first one makes the key.
    swarm.refresh(names[0])
    opts = salt.config.client_config(f"{master}/master")
    with (
        ThreadPoolExecutor(THREADS) as pool,
        salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus,
    ):
        list(pool.map(swarm.refresh, names[1:]))
        while True:
            event = bus.get_event(wait=1, tag="salt/job", full=True, auto_reconnect=True)
            if event and event["tag"].endswith("/new"):
                job = event["data"]
                for name in swarm.opts.keys() & set(job["minions"]):
                    swarm.busy.add((name, job["jid"]))
                    pool.submit(swarm.do, job, name)


if __name__ == "__main__":
    main()
