"""The worker of kapicorp-reclass, called as its own command line and Salt adapter call it."""

from __future__ import annotations

from typing import Any

from reclass import get_path_mangler, get_storage
from reclass.adapters.salt import ext_pillar
from reclass.core import Core
from reclass.settings import Settings

from benches.workers.serve import each, keeping, serve, timed, twice_timed


class Kapicorp:
    """A ``Core``, which keeps the classes that it has read."""

    def open(self, base: str, settings: dict[str, Any]) -> None:
        self.base, self.settings = base, settings
        self._open()

    def _open(self) -> None:
        uris = (self.settings.get("nodes_uri", "nodes"), self.settings.get("classes_uri", "classes"))
        nodes, classes = get_path_mangler("yaml_fs")(self.base, *uris)
        self.core = Core(get_storage("yaml_fs", nodes, classes, False), None, Settings(self.settings))

    def nodeinfo(self, nodes: list[str]) -> list[float]:
        return each(self.core.nodeinfo, nodes)

    def one_by_one(self, nodes: list[str]) -> float:
        def work() -> None:
            self._open()
            self.nodeinfo(nodes)

        return timed(work)

    def pillar(self, nodes: list[str]) -> list[float]:
        return each(self._pillar, nodes)

    def edited(self, node: str) -> tuple[float, Any]:
        return keeping(lambda: self._pillar(node), lambda pillar: pillar.get("edited"))

    def _pillar(self, node: str) -> dict[str, Any]:
        pillar: dict[str, Any] = ext_pillar(node, {}, inventory_base_uri=self.base, **self.settings)
        return pillar

    def inventory(self) -> tuple[float, float]:
        """The seconds for all nodes, of the wall and the processor; what was rendered is kept."""
        return twice_timed(self._inventory)

    def _inventory(self) -> None:
        self._open()
        self.rendered = self.core.inventory()


if __name__ == "__main__":
    serve(Kapicorp())
