"""
Pillar data of reclass
======================

Give each minion the parameters of its node in a reclass inventory. The key
``__reclass__`` holds ``nodename``, ``applications``, ``classes`` and ``environment``
of the node, and with ``revision_in_pillar`` its ``revision``. The engine is in ``saltext.reclass``.

The options are those of Salt's builtin adapter, which this one replaces:

.. code-block:: yaml

    reclass: &reclass
      inventory_base_uri: /srv/salt/reclass
      class_mappings:
        - 'web*  web.server'
    ext_pillar:
      - reclass: *reclass
    master_tops:
      reclass: *reclass

Without ``inventory_base_uri``, the adapter uses the first folder of the environment
``base`` in ``file_roots``. The documentation of the settings lists all options.

An inventory that cannot be rendered leaves no partial data: Salt refuses states
for the minion and shows one error that names the node, the file and the line.
The error is sent to the minion, so it never contains a parameter's value. The
master's log has the details.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from salt.exceptions import SaltInvocationError

# A process that forks while a thread imports this would have a child that waits for ever. The function says
# why it does not load.
with suppress(ImportError):
    import saltext.reclass._salt  # noqa: F401

log = logging.getLogger(__name__)

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str:
    # Always: a module that does not claim its name leaves minions with a pillar without reclass,
    # or with Salt's builtin adapter, and only the log of the master knows.
    return __virtualname__


def ext_pillar(minion_id: str, pillar: Any, /, *args: Any, **options: Any) -> dict[str, Any]:
    """
    Return the pillar of the node that has the name of the minion.

    minion_id
        The id of the minion, which is the name of its node.

    pillar
        The pillar so far. With the option ``propagate_pillar_data_to_reclass``, references can use it.

    options
        The options of the inventory.

    Raises ``SaltInvocationError`` for every failure.
    """
    try:
        from saltext.reclass import _salt
    except ImportError:
        # What it says names libraries of the system: nothing for a minion.
        log.exception("saltext-reclass is not installed in the environment of Salt")
        raise SaltInvocationError(
            "reclass: the package saltext-reclass does not load; the log says why"
        ) from None
    try:
        return _salt.pillar(minion_id, pillar, args, options, __opts__, globals().get("__grains__"))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - what else escapes takes a worker of the master out
        raise SaltInvocationError(_salt.describe(error)) from None
