"""
Soft metadata and nodes of reclass, on the master
=================================================

Show the pillars and tops that the master's inventory gives to minions, and edit the inventory. The
functions are those of the execution module ``reclass``. The configuration is the master's own
``ext_pillar``, or ``master_tops``.

If ``ext_pillar`` has several entries ``reclass``, each function uses the first one. The argument
``inventory`` selects another one, by its number (from 1) or by its ``inventory_base_uri``. The key
``__reclass__`` of a pillar comes from the last entry.

If the inventory reads grains, these functions use the grains that the master has cached. Those of a minion
that has not asked for its pillar yet are not known.

``check`` and ``versions`` report on the setup of the master.

An edit changes one entry and keeps every other byte of the file. Every failure is an error with exit
code 1.
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _check, _functions

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    if MISSING:
        return (False, MISSING)
    # Salt loads all runners when a master starts, but pillars and tops only when the first minion asks. So
    # the master's options are checked here; options that cannot work are errors in the log.
    _check.at_start(__opts__)
    return __virtualname__


if not MISSING:
    # The table is the same for the execution module and the runner.
    _table = _functions.of_runner(globals())
    globals().update(_table)
    __all__ = list(_table)
