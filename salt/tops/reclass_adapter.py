"""
States from reclass
===================

Give each minion the applications of its node in a reclass inventory as states, in
the environment of the node. The engine is in ``saltext.reclass``. A top needs no
values, so an error in a value is an error of the pillar alone.

The options are those of Salt's builtin adapter, which this one replaces:

.. code-block:: yaml

    master_tops:
      reclass:
        inventory_base_uri: /srv/salt/reclass

Without ``inventory_base_uri``, the adapter uses the first folder of the environment
``base`` in ``file_roots``. The documentation of the settings lists all options.

A minion gets only its own top: the id is the one that Salt has authenticated, not
the one in the options that the minion sends. The pillar data that the minion sends
are not used.

On a failure, the top has one state that does not exist and whose name gives the
reason, so ``state.apply`` fails. Salt only logs an exception of a top, and would
continue without these states.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

# A process that forks while a thread imports this would have a child that waits for ever. The function says
# why it does not load.
with suppress(ImportError):
    import saltext.reclass._salt  # noqa: F401

log = logging.getLogger(__name__)

__virtualname__ = "reclass"

# Salt's loader sets these.
__opts__: dict[str, Any]


def __virtual__() -> str:
    # Always, as in the pillar module.
    return __virtualname__


def top(**kwargs: Any) -> dict[str, list[str]]:
    """
    Return the top of a minion: ``{environment: [states]}``.

    opts
        The options that the minion sent.

    grains
        The grains that the minion sent. The settings say which of them references can read.
    """
    try:
        from saltext.reclass import _salt
    except ImportError:
        log.exception("saltext-reclass is not installed in the environment of Salt")
        return {"base": ["reclass-failed--the-package-saltext-reclass-does-not-load"]}
    try:
        return _salt.top(kwargs.get("opts") or {}, __opts__, kwargs.get("grains") or {})
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - what else escapes takes a worker of the master out
        return _salt.failed_top(error, _salt.describe(error, "no top from reclass: "))
