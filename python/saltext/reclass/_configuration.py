"""Finds the settings of the inventory in the configuration of a Salt process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saltext.reclass._salt import RefusedError, settings_of

_FILES = ("/etc/reclass/reclass-config.yml", "/etc/kapicorp-reclass/kapicorp-reclass-config.yml")


def of_master(opts: Mapping[str, Any], inventory: int | str | None = None) -> dict[str, Any]:
    """The settings of the inventory for the minions of a master, or for a masterless minion.

    If ``ext_pillar`` has several entries ``reclass``, ``inventory`` chooses one by its number or its
    ``inventory_base_uri``. The default is the first entry.
    """
    if inventory is None:
        settings = _in_options(opts)
        if settings is None:
            raise RefusedError("no inventory is configured: neither ext_pillar nor master_tops has 'reclass'")
        return settings
    return _chosen(opts, inventory)[1]


def of_tops(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the inventory for tops. The default is the inventory of the pillar."""
    tops = opts.get("master_tops")
    if isinstance(tops, Mapping) and "reclass" in tops:
        return settings_of(tops["reclass"], opts)
    return of_master(opts)


def with_grains(settings: dict[str, Any], known: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The settings with ``known_grains`` by minion, if they read grains and know none."""
    reads = settings.get("grains") or settings.get("trusted_grains")
    if not reads or settings.get("known_grains") is not None:
        return settings
    # Salt's mappings of grains are no dicts.
    grains = {str(minion): dict(of_minion) for minion, of_minion in known().items()}
    return {**settings, "known_grains": grains}


def earlier_pillar(
    opts: Mapping[str, Any], minion: str, inventory: int | str | None = None
) -> dict[str, Any] | None:
    """The pillar of a minion before Salt evaluates an entry ``reclass`` of ``ext_pillar``.

    ``None`` if the settings of the entry do not use it.
    """
    at, settings = _chosen(opts, inventory or 1) if entries(opts) else (0, {})
    if not settings.get("propagate_pillar_data_to_reclass"):
        return None
    import salt.utils.minions

    import salt.pillar

    _, grains, _ = salt.utils.minions.get_minion_data(minion, opts)
    # The steps of Salt after the last entry are skipped.
    before = {**opts, "ext_pillar": opts["ext_pillar"][:at], "pillar_opts": False, "decrypt_pillar": []}
    pillar = salt.pillar.Pillar(before, grains or {"fqdn": minion}, minion, "base")
    if opts.get("ext_pillar_first"):
        data, errors = pillar.ext_pillar({})
    else:
        data = pillar.compile_pillar()
        errors = data.get("_errors")
    if errors:
        raise RefusedError(f"the pillar before reclass fails: {errors[0]}")
    return dict(data)


def entries(opts: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The indices and settings of the entries ``reclass`` of ``ext_pillar``."""
    return [
        (at, settings_of(entry["reclass"], opts))
        for at, entry in enumerate(opts.get("ext_pillar") or [])
        if isinstance(entry, Mapping) and "reclass" in entry
    ]


def _chosen(opts: Mapping[str, Any], inventory: int | str) -> tuple[int, dict[str, Any]]:
    known = entries(opts)
    if isinstance(inventory, int):
        found = known[inventory - 1 : inventory] if inventory > 0 else []
    else:
        found = [entry for entry in known if entry[1].get("inventory_base_uri") == inventory]
    if not found:
        names = ", ".join(repr(settings.get("inventory_base_uri")) for _, settings in known)
        raise RefusedError(
            f"ext_pillar has no inventory {inventory!r}; its entries 'reclass' are {names or 'none'}"
        )
    return found[0]


def of_minion(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the inventory for the execution module.

    The first of these sources that exists: the option ``reclass`` of the minion; its ``ext_pillar`` or
    ``master_tops``; those of a master whose configuration is beside that of the minion; the
    configuration file of the Python programs in ``/etc``. The pillar is no source, because it comes
    from an inventory itself.
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
    for _, settings in entries(opts):
        return settings
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
    for name in _FILES:
        path = Path(name)
        if path.is_symlink() or path.exists():
            return settings_of({"config_file": name}, {})
    return None
