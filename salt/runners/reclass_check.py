"""
The installation of reclass on the master
=========================================

Says what a master is set up with, and what cannot work. The functions belong to the runner ``reclass``.

Salt loads all runners when a master starts, and pillars and tops when the first minion asks. So this module
is where the options of a master are looked at early: what cannot work is an error in the log.
"""

from __future__ import annotations

from typing import Any

try:
    from saltext.reclass import _check, _versions
    from saltext.reclass._salt import commands

    MISSING = ""
except ImportError as error:
    MISSING = f"the package saltext-reclass does not load: {error}"

__virtualname__ = "reclass"

# Put here by Salt's loader.
__opts__: dict[str, Any]
__context__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    if MISSING:
        return (False, MISSING)
    _check.at_start(__opts__)
    return __virtualname__


def check() -> dict[str, Any]:
    """
    Look for what cannot work: settings, folders, rights of the master's user, locks, caches of git, versions.

    Returns ``user``, ``inventories``, ``versions``, and the lists ``problems`` and ``remarks``. With
    problems, ``retcode`` and the exit code are 1.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.check
    """
    with commands():
        report = _check.check(__opts__)
        # Makes the job fail; the exit code of `salt-run` is that of the report.
        __context__["retcode"] = report["retcode"]
        return report


def versions() -> dict[str, Any]:
    """
    The versions of the package, the engine and Salt, since when the master runs, and which program
    ``reclass`` is on the path.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.versions
    """
    with commands():
        return _versions.versions(__opts__)
