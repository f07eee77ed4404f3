"""
Pillar data of reclass
======================

Gives each minion the parameters of its node in a reclass inventory, and under
``__reclass__`` what the node is: ``nodename``, ``applications``, ``classes`` and
``environment``. The work is done by the engine in ``saltext.reclass``.

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

Without ``inventory_base_uri`` the first folder of the environment ``base`` in
``file_roots`` is taken. All options stand in the documentation of the settings.

An inventory that cannot be rendered leaves no partial data: Salt refuses states
for the minion and shows one error that names the node, the file and the line.
The error never holds a parameter's value, for it is sent to the minion; the log
of the master has the rest of the story.
"""

from __future__ import annotations

import logging
from typing import Any

from salt.exceptions import SaltInvocationError

log = logging.getLogger(__name__)

__virtualname__ = "reclass"

# Put here by Salt's loader.
__opts__: dict[str, Any]


def __virtual__() -> str:
    # Always: a module that does not claim its name leaves minions with a pillar without reclass,
    # or with Salt's builtin adapter, and only the log of the master knows.
    return __virtualname__


def ext_pillar(minion_id: str, pillar: Any, /, *args: Any, **options: Any) -> dict[str, Any]:
    """
    The pillar data of the node that is named like the minion.

    minion_id
        The id of the minion, a name to look up.

    pillar
        The pillar so far. References may use it with the option
        ``propagate_pillar_data_to_reclass``.

    options
        The options of the inventory.

    Raises ``SaltInvocationError`` for whatever leaves no result.
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
        return _salt.pillar(minion_id, pillar, args, options, __opts__)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - what else escapes takes a worker of the master out
        raise SaltInvocationError(_salt.describe(error)) from None
