"""
The installation of reclass on the master
=========================================

Check the setup of a master. The functions belong to the runner ``reclass``.

Salt loads all runners when a master starts, but pillars and tops only when the first minion asks. So this
module checks the master's options when it is loaded, and logs an error for options that cannot work.
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

# Salt's loader sets these.
__opts__: dict[str, Any]
__context__: dict[str, Any]


def __virtual__() -> str | tuple[bool, str]:
    if MISSING:
        return (False, MISSING)
    _check.at_start(__opts__)
    return __virtualname__


def check() -> dict[str, Any]:
    """
    Check the installation: settings, folders, permissions of the master's user, locks, git caches, versions.

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
    Return the versions of the package, the engine and Salt, the start time of the master, and the program
    ``reclass`` on the path.

    CLI Example:

    .. code-block:: bash

        salt-run reclass.versions
    """
    with commands():
        return _versions.versions(__opts__)
