"""
Soft metadata and nodes of reclass
==================================

Read and edit the inventory that this minion uses, or the master on the same machine.

An edit changes one entry and keeps every other byte of the file. A lock protects the edit, and the
file is replaced as a whole or not at all. Names are checked, and no path leads out of the inventory.
Every failure is an error with exit code 1.

Soft metadata are the parameters below ``_param`` in a class file of a cluster, by default
``classes/cluster/<cluster>/overrides.yml``. The settings ``cluster_folder`` and ``cluster_file`` choose
another file.

The inventory is on the master's machine. There, ``salt-run reclass.…`` runs as the user of the master and
``salt-call reclass.…`` as the user of the minion. ``salt '*' reclass.…`` would repeat the edit on each
minion that has an inventory.

The settings come from the first of these that exists: the option ``reclass`` of the minion, its
``ext_pillar`` or ``master_tops``, the same options of a master whose configuration is in the same folder,
``/etc/reclass/reclass-config.yml``.

.. code-block:: yaml

    reclass:
      inventory_base_uri: /srv/salt/reclass
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _functions

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    return (False, MISSING) if MISSING else __virtualname__


if not MISSING:
    # The table is the same for the execution module and the runner.
    _table = _functions.of_module(globals())
    globals().update(_table)
    __all__ = list(_table)
