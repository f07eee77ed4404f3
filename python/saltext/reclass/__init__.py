"""reclass for Salt: a tree of YAML files becomes one value per node.

>>> from saltext.reclass import Inventory
>>> inventory = Inventory(inventory_base_uri="/srv/salt/reclass")
>>> inventory.nodeinfo("web1.example.com")["parameters"]

Salt imports this package in each of its processes to find its modules, so it is
pure Python and loads the engine at the first use of :class:`Inventory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltext.reclass.errors import (
    ClassNotFoundError,
    InternalError,
    NodeNotFoundError,
    Problem,
    ReclassError,
    ReferenceNotFoundError,
    SettingsError,
    WireError,
)

if TYPE_CHECKING:
    from saltext.reclass._engine import Editor, Inventory

__all__ = [
    "ClassNotFoundError",
    "Editor",
    "InternalError",
    "Inventory",
    "NodeNotFoundError",
    "Problem",
    "ReclassError",
    "ReferenceNotFoundError",
    "SettingsError",
    "WireError",
]


def __getattr__(name: str) -> object:
    if name in ("Editor", "Inventory", "__version__"):
        from saltext.reclass import _engine

        return getattr(_engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
