"""Kapitan with the inventory backend ``saltext-reclass``.

``python -m saltext.reclass.kapitan compile --inventory-backend saltext-reclass`` is ``kapitan compile`` with
it. Kapitan has no place to register a backend, so this happens before its command line starts. See
``docs/howto/kapitan.md``.
"""

from __future__ import annotations

import logging
from typing import Any

import kapitan.cli
import kapitan.inventory
from kapitan.errors import InventoryError
from kapitan.inventory.backends.reclass import get_reclass_config
from saltext.reclass import Inventory, ReclassError

BACKEND = "saltext-reclass"
"""The name of the backend for ``--inventory-backend``."""

logger = logging.getLogger(__name__)


class SaltextReclassInventory(kapitan.inventory.Inventory):  # type: ignore[misc]
    """An inventory of Kapitan: its targets are nodes, in the folder ``targets``."""

    def render_targets(self, targets: Any = None, ignore_class_not_found: bool = False) -> None:
        """Gives all targets their values.

        Raises ``InventoryError``. All problems are logged, with excerpts of the files and secrets as stars.
        """
        settings = get_reclass_config(
            self.inventory_path, ignore_class_not_found, self.compose_target_name, False
        )
        # Kapitan's paths are relative to its inventory, wherever the file with the settings says it is.
        settings["inventory_base_uri"] = self.inventory_path
        try:
            nodes = Inventory(**settings).inventory()["nodes"]
        except ReclassError as error:
            # Kapitan ends without a further word.
            logger.error("%s", error.full_text())
            raise InventoryError(str(error)) from error
        for name, node in nodes.items():
            target = self.targets[name]
            target.parameters = node["parameters"]
            target.classes = node["classes"]
            target.applications = node["applications"]
            target.exports = node["exports"]


def register() -> None:
    kapitan.inventory.AVAILABLE_BACKENDS[BACKEND] = lambda: SaltextReclassInventory


def main() -> None:
    """Runs the command line of Kapitan."""
    register()
    kapitan.cli.main()


if __name__ == "__main__":
    # The processes that compile get the inventory as a pickle. So its class has to be in a module that they
    # can import, and not in `__main__`.
    from saltext.reclass import kapitan as importable

    importable.main()
