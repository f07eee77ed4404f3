"""
States from reclass
===================

Gives each minion the applications of its node in a reclass inventory as states,
in the environment of the node. The work is done by the engine in
``saltext.reclass``. A top needs no values: what is wrong with them alone is an error of
the pillar.

The options are those of Salt's builtin adapter, which this one replaces:

.. code-block:: yaml

    master_tops:
      reclass:
        inventory_base_uri: /srv/salt/reclass

Without ``inventory_base_uri`` the first folder of the environment ``base`` in
``file_roots`` is taken. All options stand in the documentation of the settings.

A minion gets its own top only: its id is the one that Salt has authenticated, not
the one in the options that the minion sends. The data of the pillar, which the
minion sends too, is not used here.

What goes wrong ends in a top with one state, which does not exist and whose name
says why, so that ``state.apply`` fails. Salt logs what is raised here, and goes on
without these states as if nothing had happened.
"""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)

__virtualname__ = "reclass"

# Put here by Salt's loader.
__opts__: dict[str, Any]


def __virtual__() -> str:
    # Always, as in the pillar module.
    return __virtualname__


def top(**kwargs: Any) -> dict[str, list[str]]:
    """
    The top of the minion that asks: ``{environment: [states]}``.

    opts
        The options of the minion, as the minion sent them.
    """
    try:
        from saltext.reclass import _salt
    except ImportError:
        log.exception("saltext-reclass is not installed in the environment of Salt")
        return {"base": ["reclass-failed--the-package-saltext-reclass-does-not-load"]}
    try:
        return _salt.top(kwargs.get("opts") or {}, __opts__)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - what else escapes takes a worker of the master out
        return _salt.failed_top(error, _salt.describe(error, "no top from reclass: "))
