"""
Nodes and soft metadata of reclass as states
============================================

.. code-block:: yaml

    web3.example.com:
      reclass.node_present:
        - path: _generated
        - classes:
            - site.lan
            - role.web
        - parameters:
            address: 10.0.0.13

    service_database_host:
      reclass.cluster_param_present:
        - value: db1.example.com
        - cluster: prague

The states run on the minion that has the inventory. The execution module ``reclass`` describes where its
configuration comes from. With ``test=True``, nothing is written, and ``changes`` is the same.
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _states

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    return (False, MISSING) if MISSING else __virtualname__


if not MISSING:
    _table = _states.of_module(globals())
    globals().update(_table)
    __all__ = list(_table)
