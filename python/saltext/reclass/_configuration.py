"""Turns the configuration of a Salt process into the settings of its inventory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltext.reclass._salt import RefusedError, settings_of

_FILES = ("/etc/reclass/reclass-config.yml", "/etc/kapicorp-reclass/kapicorp-reclass-config.yml")
# As for the programs, in bytes.
_LARGEST = 4 * 1024 * 1024


def of_master(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the inventory that a master, or a masterless minion, gives to its minions."""
    settings = _in_options(opts)
    if settings is None:
        raise RefusedError("no inventory is configured: neither ext_pillar nor master_tops has 'reclass'")
    return settings


def of_minion(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the inventory that the execution module works on.

    From the first that there is: the option ``reclass`` of the minion; its ``ext_pillar`` or
    ``master_tops``; those of a master whose configuration stands beside that of the minion; the
    configuration file of the Python programs in ``/etc``. Never from the pillar, which comes from
    an inventory itself.
    """
    own = opts.get("reclass")
    if isinstance(own, Mapping) and own:
        return settings_of(own, opts)
    settings = _in_options(opts) or _beside(opts) or _in_file()
    if settings is None:
        raise RefusedError(
            "no inventory is configured on this minion: set the option 'reclass', or run this on the master"
        )
    return settings


def _in_options(opts: Mapping[str, Any]) -> dict[str, Any] | None:
    for entry in opts.get("ext_pillar") or []:
        if isinstance(entry, Mapping) and "reclass" in entry:
            return settings_of(entry["reclass"], opts)
    tops = opts.get("master_tops")
    if isinstance(tops, Mapping) and "reclass" in tops:
        return settings_of(tops["reclass"], opts)
    return None


def _beside(opts: Mapping[str, Any]) -> dict[str, Any] | None:
    if opts.get("__role") == "master" or not opts.get("conf_file"):
        return None
    path = Path(str(opts["conf_file"])).with_name("master")
    if not path.is_file():
        return None
    import salt.config

    return _in_options(salt.config.master_config(str(path)))


def _in_file() -> dict[str, Any] | None:
    import salt.utils.yaml

    for name in _FILES:
        path = Path(name)
        if path.is_file():
            if path.stat().st_size > _LARGEST:
                raise RefusedError(f"the configuration file '{path}' has more than {_LARGEST} bytes")
            options = salt.utils.yaml.safe_load(path.read_text(encoding="utf-8"))
            return settings_of(options or {}, {})
        if path.is_symlink() or path.exists():
            raise RefusedError(f"the configuration file '{path}' is not a regular file")
    return None
