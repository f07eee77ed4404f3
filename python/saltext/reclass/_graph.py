"""Makes a graph of services from the roles of nodes and the relations that minions report.

The grain ``salt:graph`` comes from salt-formulas. It is a list of services, each with ``host``,
``service``, ``type`` and ``relations``. A relation names its other end by ``host``, by an address or name
(``host_from_target``) or by URLs of something outside (``host_external``).

Minions may report anything. Data of another shape are skipped, so they cannot damage other services.
"""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlparse

Service = dict[str, Any]


def graph(roles: Mapping[str, Iterable[str]], grains: Mapping[str, Mapping[str, Any]]) -> list[Service]:
    """All services, those of the inventory first.

    A service is ``unknown`` if it is in the inventory, and ``success`` if only its minion reports it.
    """
    reported = _reported(grains)
    services: dict[tuple[str, str], Service] = {}
    for host, names in roles.items():
        for name in names:
            known = reported.get((host, name), {})
            services[host, name] = {
                "relations": [],
                **known,
                "host": host,
                "service": name,
                "status": "unknown",
            }
    for (host, name), known in reported.items():
        if (host, name) not in services:
            services[host, name] = {**known, "host": host, "service": name, "status": "success"}
    return list(services.values())


def _reported(grains: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Service]:
    """The services that minions report, and those outside that their relations lead to."""
    listed = [
        copy.deepcopy(service)
        for of_minion in grains.values()
        for service in _mappings(of_minion.get("salt:graph"))
    ]
    outside: dict[tuple[str, str], Service] = {}
    for service in listed:
        relations = _mappings(service.get("relations"))
        service["relations"] = relations
        for relation in relations:
            relation["status"] = relation.get("status") or "unknown"
            if target := relation.pop("host_from_target", None):
                relation["host"] = _minion(grains, str(target))
            if urls := relation.pop("host_external", None):
                host = str(relation.get("service", ""))
                name = next(filter(None, map(_place, str(urls).split())), "")
                relation.update(host=host, service=name)
                outside[host, name] = {"type": relation.get("type", ""), "relations": []}
    reported = {
        (str(service.pop("host", "")), str(service.pop("service", ""))): service for service in listed
    }
    return {**reported, **{key: service for key, service in outside.items() if key not in reported}}


def _mappings(items: Any) -> list[dict[Any, Any]]:
    """Copies of those items that are mappings."""
    if not isinstance(items, (list, tuple)):
        return []
    return [dict(item) for item in items if isinstance(item, Mapping)]


def _place(url: str) -> str:
    """Host and port of a URL, without user and password; empty for an invalid URL."""
    try:
        return urlparse(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _minion(grains: Mapping[str, Mapping[str, Any]], target: str) -> str:
    """The id of the minion with this address or full name, or the target itself if there is no minion."""
    try:
        grain = f"ipv{ipaddress.ip_address(target).version}"
    except ValueError:
        grain = "fqdn"
    for minion, of_minion in grains.items():
        value = of_minion.get(grain)
        if value == target or (isinstance(value, (list, tuple)) and target in value):
            return minion
    return target
