"""The worker of reclass-rs. It has no Salt adapter: what one would do is opening, rendering, a dict."""

from __future__ import annotations

from typing import Any

from reclass_rs import Config, Reclass

from benches.workers.serve import each, keeping, serve, timed, twice_timed


class ReclassRs:
    """A ``Reclass``, which keeps the names of the files."""

    def open(self, base: str, settings: dict[str, Any]) -> None:
        self.config = Config.from_dict(base, settings)
        self._open()

    def _open(self) -> None:
        self.reclass = Reclass.from_config(self.config)

    def nodeinfo(self, nodes: list[str]) -> list[float]:
        return each(lambda node: self.reclass.nodeinfo(node).as_dict(), nodes)

    def one_by_one(self, nodes: list[str]) -> float:
        def work() -> None:
            self._open()
            self.nodeinfo(nodes)

        return timed(work)

    def pillar(self, nodes: list[str]) -> list[float]:
        return each(self._pillar, nodes)

    def edited(self, node: str) -> tuple[float, Any]:
        return keeping(lambda: self._pillar(node), lambda info: info["parameters"].get("edited"))

    def _pillar(self, node: str) -> dict[str, Any]:
        info: dict[str, Any] = Reclass.from_config(self.config).nodeinfo(node).as_dict()
        return info

    def inventory(self, threads: int) -> tuple[float, float]:
        """The seconds for all nodes, of the wall and the processor; what was rendered is kept."""
        Reclass.set_thread_count(threads)
        return twice_timed(self._inventory)

    def _inventory(self) -> None:
        self._open()
        self.rendered = self.reclass.inventory()


if __name__ == "__main__":
    serve(ReclassRs())
