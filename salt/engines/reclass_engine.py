"""
Changes of a reclass inventory
==============================

Watch the inventories of a master. At each new revision, log how many nodes change and how many break, and
fire the event ``reclass/revision/new`` on the event bus of the master.

.. code-block:: yaml

    engines:
      - reclass:
          interval: 5
          settle: 2

The engine is a process of the master and ends with it. The master gives the same pillars without it.
"""

from __future__ import annotations

from typing import Any

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]
__runners__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    if __opts__.get("__role") != "master":
        return (False, "the engine reclass is for a master")
    return __virtualname__


def start(**options: Any) -> None:
    """
    Watch the inventories until the master ends.

    interval
        Seconds between two looks. Default: 5.

    settle
        Seconds without a further change after which a change is complete. Default: 2.

    refresh
        With ``affected``, refresh the pillars of the connected minions that a change touches.

    canary, batch
        As for ``reclass.refresh`` of the runner.
    """
    # Here, because Salt may load this file in search of another engine.
    import salt.utils.event
    from saltext.reclass import _turns

    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"], listen=False) as bus:
        _turns.run(__opts__, __runners__, bus.fire_event, options)
