"""The worker of saltext-reclass: the Python module, and the ``ext_pillar`` that Salt calls."""

from __future__ import annotations

import threading
from typing import Any

from saltext.reclass import Inventory
from saltext.reclass.pillar import reclass_adapter

from benches.workers.literal import builder, leaves
from benches.workers.serve import each, keeping, serve, timed

# What Salt's loader puts there.
reclass_adapter.__opts__ = {"__role": "master", "id": "master"}


class Ours:
    """An inventory that stays open."""

    def open(self, base: str, settings: dict[str, Any]) -> None:
        self.settings = {"inventory_base_uri": base, **settings}
        self.inventory = Inventory(**self.settings)

    def ext_pillar(self, node: str) -> dict[str, Any]:
        return reclass_adapter.ext_pillar(node, {}, **self.settings)

    def nodes(self) -> list[str]:
        return self.inventory.nodes()

    def classes(self, node: str) -> list[str]:
        return list(self.inventory.nodeinfo(node)["classes"])

    def leaves(self, node: str) -> int:
        return leaves(self.ext_pillar(node))

    def nodeinfo(self, nodes: list[str]) -> list[float]:
        return each(self.inventory.nodeinfo, nodes)

    def one_by_one(self, nodes: list[str]) -> float:
        return timed(lambda: self.nodeinfo(nodes))

    def pillar(self, nodes: list[str], repeat: int = 1) -> list[float]:
        return each(self.ext_pillar, nodes * repeat)

    def edited(self, node: str) -> tuple[float, Any]:
        return keeping(lambda: self.ext_pillar(node), lambda pillar: pillar.get("edited"))

    def literal(self, node: str, repeat: int) -> list[float]:
        """The seconds to build what ``ext_pillar`` returns, by Python itself."""
        build = builder(self.ext_pillar(node))
        build()
        return [timed(build) for _ in range(repeat)]

    def loop(self, nodes: list[str], threads: int) -> float:
        """The seconds until all nodes were asked for, each thread with its share of them."""
        shares = [nodes[start::threads] for start in range(threads)]
        running = [threading.Thread(target=self.pillar, args=(share,)) for share in shares]

        def work() -> None:
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()

        return timed(work)


if __name__ == "__main__":
    serve(Ours())
