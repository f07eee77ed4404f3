"""Layers are the classes and nodes of an inventory: services, systems above them, clusters, nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from benches.gen.leaves import OF_ROLE, OF_SERVICE, OF_SYSTEM, Tree, drawing, fill, soft_parameters
from benches.gen.words import AREAS, BASE, COMPONENTS, FORMULAS, NODE_ROLES, ROLES, VARIANTS

if TYPE_CHECKING:
    from random import Random

ENVIRONMENTS = ("prod", "stage")


@dataclass(frozen=True)
class Numbers:
    """How much of everything an inventory has. The classes become some more."""

    nodes: int = 50
    classes: int = 100
    clusters: int = 2
    formulas_per_role: int = 12
    # Whether nodes export values, and those of three roles ask for them.
    queries: bool = False


@dataclass(frozen=True)
class Content:
    """The content of a file, as it is written."""

    classes: list[str] = field(default_factory=list)
    parameters: Tree = field(default_factory=dict)
    applications: list[str] = field(default_factory=list)
    exports: Tree = field(default_factory=dict)
    # Whether the class is the `init.yml` of a folder.
    init: bool = False


class Layers:
    """The classes and nodes, by name."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.classes: dict[str, Content] = {}
        self.nodes: dict[str, Content] = {}
        self._services: dict[str, list[str]] = {}
        self._systems: dict[str, list[str]] = {}
        # The roles of nodes, by cluster.
        self._roles: dict[str, list[str]] = {}
        of_clusters = max(3, min(len(NODE_ROLES), numbers.classes // 5 // numbers.clusters - 5))
        left = max(20, numbers.classes - numbers.clusters * (of_clusters + 5))
        services = max(len(BASE) + 4, int(left * 0.38))
        self._add_services(services)
        self._add_systems(left - services)
        for number in range(numbers.clusters):
            self._add_cluster(number, of_clusters)
        self._add_nodes()

    def _add(self, name: str, content: Content) -> None:
        if name in self.classes:
            raise ValueError(f"class '{name}' exists")
        self.classes[name] = content

    def _add_services(self, count: int) -> None:
        formulas = FORMULAS + [f"app{number:03}" for number in range(max(0, count - len(FORMULAS)))]
        formulas = formulas[: max(len(BASE) + 3, int(count / 1.7))]
        # Each formula has a server, and the first ones a client.
        for formula, role in islice(((formula, role) for role in ROLES for formula in formulas), count):
            self._services.setdefault(formula, []).append(role)
            self._add_service(formula, role)

    def _add_service(self, formula: str, role: str) -> None:
        name = f"service.{formula}.{role}"
        drawn = drawing(name)
        own = soft_parameters(formula, role)
        address, port, version, _, user, *_ = (f"${{_param:{key}}}" for key in own)
        drawn_address = drawn.random() >= 0.5
        values: list[object] = [
            f"10.1.{drawn.randint(0, 255)}.{drawn.randint(1, 254)}"
            if drawn_address
            else "${_param:single_address}",
            drawn.randint(1000, 65000),
            f"{drawn.randint(1, 9)}.{drawn.randint(0, 20)}",
            f"{drawn.getrandbits(96):024x}",
            formula,
            "${_param:region}",
            drawn.choice(["info", "debug", "warning"]),
            address,
        ]
        soft: Tree = dict(zip(own, values, strict=True))
        soft[f"{formula}_{role}_defaults"] = {
            "timeout": drawn.randint(1, 99),
            "retries": drawn.randint(1, 9),
            "owner": user,
            "tuning": {"buffer": drawn.randint(1, 4096), "mode": "auto"},
        }
        bind = {"address": address, "port": port}
        parameters = {"_param": soft, formula: {role: {"enabled": True, "version": version, "bind": bind}}}
        fill(parameters, (formula, role), drawn, OF_SERVICE)
        self._add(name, Content([], parameters, [formula]))

    def _add_systems(self, count: int) -> None:
        drawn = drawing("system")
        formulas = list(self._services)
        # The role of the service class that the first of a formula's component includes.
        roles: dict[str, str] = {}
        added = 0
        while added < count:
            formula = formulas[added] if added < len(formulas) else drawn.choice(formulas)
            base = f"system.{formula}.{drawn.choice(COMPONENTS)}"
            role = drawn.choice(self._services[formula])
            name = base
            if base in roles:
                name = f"{base}.{drawn.choice(VARIANTS)}"
                if name in self.classes:
                    name += str(drawn.randint(2, 999))
                    if name in self.classes:
                        continue
                includes = self._variant(drawn, formula, base)
            else:
                roles[base] = role
                includes = [f"service.{formula}.{role}"]
            self._add_system(name, formula, roles[base], includes)
            added += 1

    def _variant(self, drawn: Random, formula: str, base: str) -> list[str]:
        """What a variant of a system class includes."""
        includes = [base]
        if drawn.random() < 0.3:
            includes.append(f"service.{formula}.{drawn.choice(self._services[formula])}")
        others = [name for name in self._systems[formula] if name != base and name.startswith(base)]
        if others and drawn.random() < 0.3:
            includes.insert(1, drawn.choice(others))
        return includes

    def _add_system(self, name: str, formula: str, role: str, includes: list[str]) -> None:
        drawn = drawing(name)
        soft: Tree = {}
        for key in drawn.sample(soft_parameters(formula, role), 2):
            if key.endswith("_port"):
                soft[key] = drawn.randint(1000, 65000)
            else:
                own = f"sys-{drawn.getrandbits(32):x}"
                soft[key] = drawn.choice(["${_param:ntp_server}", "${_param:cluster_domain}", own])
        parameters: Tree = {"_param": soft}
        fill(parameters, (formula, role), drawn, OF_SYSTEM)
        applications = [formula] if drawn.random() < 0.2 else []
        init = name.count(".") == 2
        self._add(name, Content(includes, parameters, applications, init=init))
        self._systems.setdefault(formula, []).append(name)

    def _add_cluster(self, number: int, roles: int) -> None:
        cluster = f"c{number:02}"
        name = f"cluster.{cluster}"
        drawn = drawing("cluster", cluster)
        self._add(name, Content([f"{name}.secrets"], _cluster(drawn, number), init=True))
        secrets = {f"{word}_password": f"{drawn.getrandbits(96):024x}" for word in AREAS[:20]}
        self._add(f"{name}.secrets", Content([], {"_param": secrets}))
        for environment in ENVIRONMENTS:
            self._add(f"{name}.env.{environment}", Content([], _environment(environment)))
        base = []
        for formula in BASE:
            systems = self._systems.get(formula, [])
            base += drawn.sample(systems, min(len(systems), 2)) or [f"service.{formula}.server"]
        minion = {"master": {"host": "${_param:salt_master_host}"}}
        soft = {"salt_master_host": "${_param:infra_address}"}
        infra = Content(base, {"_param": soft, "salt": {"minion": minion}}, init=True)
        self._add(f"{name}.infra", infra)
        self._roles[cluster] = drawn.sample(NODE_ROLES, roles)
        for role in self._roles[cluster]:
            self._add_role(name, role)
        center = {"dc_gateway": f"10.{number}.255.254"}
        gateway = {"network": {"gateway": "${_param:dc_gateway}"}}
        self._add(f"{name}.dc.dc{number % 2}", Content([], {"_param": center, "linux": gateway}))

    def _add_role(self, cluster: str, role: str) -> None:
        name = f"{cluster}.role.{role}"
        drawn = drawing(name)
        includes = [f"{cluster}.infra"]
        usable = [formula for formula in self._services if formula not in BASE]
        for formula in drawn.sample(usable, min(self.numbers.formulas_per_role, len(usable))):
            services = self._services[formula]
            systems = self._systems.get(formula)
            includes.append(
                drawn.choice(systems) if systems else f"service.{formula}.{drawn.choice(services)}"
            )
            service = f"service.{formula}.{drawn.choice(services)}"
            if service not in includes and drawn.random() < 0.5:
                includes.append(service)
        parameters: Tree = {"_param": {}}
        for formula in BASE[:3]:
            service = f"service.{formula}.server"
            if service not in includes:
                includes.append(service)
            fill(parameters, (formula, "server"), drawn, OF_ROLE)
        exports: Tree = {}
        if self.numbers.queries:
            exports = _exports(role)
            if role in ("mon", "cfg", "prx"):
                parameters["discovery"] = {"query": _queries(role)}
        applications = [f"app-{role}"] if drawn.random() < 0.5 else []
        self._add(name, Content(includes, parameters, applications, exports))

    def _add_nodes(self) -> None:
        systems = sorted(name for name in self.classes if name.startswith("system."))
        clusters = list(self._roles.items())
        in_role: dict[tuple[str, str], int] = {}
        for number in range(self.numbers.nodes):
            turn, of_cluster = divmod(number, len(clusters))
            cluster, roles = clusters[of_cluster]
            role = roles[turn % len(roles)]
            drawn = drawing("node", number)
            environment = ENVIRONMENTS[drawn.random() >= 0.7]
            in_role[cluster, role] = in_role.get((cluster, role), 0) + 1
            short = f"{role}{in_role[cluster, role]:03}"
            classes = [
                f"cluster.{cluster}",
                f"cluster.{cluster}.env.{environment}",
                "cluster.${_param:cluster_name}.dc.${_param:dc}",
                f"cluster.{cluster}.role.{role}",
            ]
            # Some nodes have classes of their own, from a few that their role shares.
            if drawn.random() < 0.3:
                pool = drawing("pool", cluster, role).sample(systems, min(4, len(systems)))
                classes += pool[: drawn.randint(1, 3)]
            domain = f"{cluster}.example.com"
            address = f"10.{of_cluster}.{turn // 250 + 1}.{turn % 250 + 1}"
            parameters = {
                "_param": {
                    "single_address": address,
                    "linux_system_codename": drawn.choice(["jammy", "noble", "bookworm"]),
                    "reclass_data_revision": drawn.randint(1, 9),
                },
                "linux": {
                    "system": {
                        "name": short,
                        "domain": domain,
                        "cluster": "default",
                        "environment": environment,
                        "location": f"rack{drawn.randint(1, 40)}",
                    },
                    "network": {"interface": _interfaces()},
                },
            }
            self.nodes[f"{short}.{domain}"] = Content(classes, parameters)


def _cluster(drawn: Random, number: int) -> Tree:
    hosts = {}
    for place in range(24):
        host = f"{NODE_ROLES[place % len(NODE_ROLES)]}{place:02}"
        names = [host, f"{host}.${{_param:cluster_domain}}"]
        hosts[host] = {"address": f"10.{number}.0.{place + 1}", "names": names}
    return {
        "_param": {
            "cluster_name": f"c{number:02}",
            "cluster_domain": f"c{number:02}.example.com",
            "region": f"r{number % 3}",
            "flavor": drawn.choice(["stable", "nightly"]),
            "stable_repo_url": "http://repo.${_param:cluster_domain}/stable",
            "nightly_repo_url": "http://repo.${_param:cluster_domain}/nightly",
            "ntp_server": "${_param:infra_address}",
            "infra_address": f"10.{number}.0.1",
            "=cluster_id": number,
            "admin_email": "root@${_param:cluster_domain}",
            "dc": f"dc{number % 2}",
            "single_address": "127.0.0.1",
        },
        "linux": {
            "network": {"host": hosts, "fqdn": "${linux:system:name}.${linux:system:domain}"},
            "system": {"name": "unset", "domain": "${_param:cluster_domain}", "timezone": "UTC"},
        },
        "openssh": {"server": {"user": {f"admin{admin:02}": _admin(drawn, admin) for admin in range(6)}}},
    }


def _admin(drawn: Random, number: int) -> Tree:
    name = f"admin{number:02}"
    key = f"ssh-rsa AAAA{drawn.getrandbits(240):060x} {name}@${{_param:cluster_domain}}"
    user = {"name": name, "home": f"/home/{name}", "sudo": bool(number % 2)}
    return {"enabled": True, "public_keys": [{"key": key}], "user": user}


def _environment(name: str) -> Tree:
    lasting = name == "prod"
    sysctl = {"vm.swappiness": 10, "net.core.somaxconn": 1024 if lasting else 128}
    return {
        "_param": {"env_name": name, "log_retention": 30 if lasting else 7},
        "linux": {"system": {"environment": name, "kernel": {"sysctl": sysctl}}},
    }


def _interfaces() -> Tree:
    static = {"proto": "static", "address": "${_param:single_address}", "netmask": "255.255.255.0"}
    return {
        "eth0": {"enabled": True, "type": "eth", **static, "mtu": 1500},
        "eth1": {"enabled": True, "type": "eth", "proto": "manual", "mtu": 9000},
    }


def _exports(role: str) -> Tree:
    return {
        "host": {"address": "${_param:single_address}", "name": "${linux:system:name}"},
        "role": role,
        "cluster": "${_param:cluster_name}",
        "prometheus": {"target": {"address": "${_param:single_address}", "port": 9103}},
    }


def _queries(role: str) -> Tree:
    queries = {"targets": "$[ exports:prometheus:target if exports:cluster == self:_param:cluster_name ]"}
    if role != "cfg":
        queries["web_nodes"] = "$[ if exports:role == web ]"
    return queries | {"hosts": "$[ exports:host ]"}
