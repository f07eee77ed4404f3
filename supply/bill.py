"""Cargo's own account of a build becomes a bill of materials in CycloneDX (PEP 770 puts it into wheels).

It names each crate that is compiled into the programs and the module, with its version, licence and the
hash of its source, and which one needs which; and each library in the page of a graph, which the programs
contain. Nothing of it depends on when or where it was made.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "Cargo.lock"
PAGE_LOCK = ROOT / "crates/graph/explorer/package-lock.json"

# The feature `schema` brings it in, which tests alone turn on.
OPTIONAL = "schemars"


def metadata(target: str) -> dict[str, Any]:
    """What `cargo metadata` says of the locked dependencies for a target, all features on."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"]
    command += [f"--filter-platform={target}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def roots(cargo: dict[str, Any]) -> list[str]:
    """The crates of the wheel: the Python module, then the programs."""
    names = {package["name"]: package["id"] for package in cargo["packages"]}
    return [names["saltext-reclass"], names["reclass-cli"]]


def shipped(cargo: dict[str, Any]) -> dict[str, list[str]]:
    """The crates that a build needs, each with what it needs: tests alone need others."""
    nodes = {node["id"]: node for node in cargo["resolve"]["nodes"]}
    needs: dict[str, list[str]] = {}
    waiting = roots(cargo)
    while waiting:
        crate = waiting.pop()
        if crate not in needs:
            parts = nodes[crate]["deps"]
            needs[crate] = [
                part["pkg"]
                for part in parts
                if part["name"] != OPTIONAL and any(kind["kind"] != "dev" for kind in part["dep_kinds"])
            ]
            waiting += needs[crate]
    return needs


def checksums() -> dict[tuple[str, str], str]:
    """The hash of the source of each crate of a registry."""
    crate = re.compile(r'^name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"$', re.M)
    return {(name, version): checksum for name, version, checksum in crate.findall(LOCK.read_text())}


def libraries() -> list[Component]:
    """The libraries in the page of a graph."""
    found = []
    for path, package in json.loads(PAGE_LOCK.read_text())["packages"].items():
        if path == "" or package.get("dev"):  # The page itself, and what makes and tests it.
            continue
        name, version = path.removeprefix("node_modules/"), package["version"]
        group, _, bare = name.rpartition("/")
        purl = PackageURL("npm", namespace=group or None, name=bare, version=version)
        digest = base64.b64decode(package["integrity"].removeprefix("sha512-"), validate=True)
        found.append(
            Component(
                type=ComponentType.LIBRARY,
                group=group or None,
                name=bare,
                version=version,
                bom_ref=str(purl),
                purl=purl,
                licenses=[LicenseFactory().make_from_string(package["license"])],
                hashes=[HashType(alg=HashAlgorithm.SHA_512, content=digest.hex())],
            )
        )
    return found


def bill(target: str) -> str:
    """The bill as CycloneDX 1.6 in JSON."""
    cargo = metadata(target)
    packages = {package["id"]: package for package in cargo["packages"]}
    needs, hashes, licences = shipped(cargo), checksums(), LicenseFactory()
    components = {}
    for crate in needs:
        package = packages[crate]
        if package["source"] is None:  # A crate of this project is the wheel itself.
            continue
        name, version = package["name"], package["version"]
        checksum = hashes.get((name, version))
        components[crate] = Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=version,
            bom_ref=f"pkg:cargo/{name}@{version}",
            purl=PackageURL("cargo", name=name, version=version),
            # Older manifests write a slash for "or".
            licenses=[licences.make_from_string(package["license"].replace("/", " OR "))],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        )
    own = packages[roots(cargo)[0]]
    whole = Component(
        type=ComponentType.LIBRARY,
        name=own["name"],
        version=own["version"],
        bom_ref=f"pkg:cargo/{own['name']}@{own['version']}",
        purl=PackageURL("cargo", name=own["name"], version=own["version"]),
        licenses=[licences.make_from_string(own["license"])],
    )
    page = libraries()
    every = [*components.values(), *page]
    names = " ".join(sorted(str(component.bom_ref) for component in every))
    bom = Bom(
        components=every,
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{whole.bom_ref} {names}"),
    )
    bom.metadata.component = whole
    for crate, parts in needs.items():
        bom.register_dependency(
            components.get(crate, whole), [components[part] for part in parts if part in components]
        )
    bom.register_dependency(whole, page)
    text = json.loads(JsonV1Dot6(bom).output_as_string())
    # The library notes when it was run.
    text["metadata"].pop("timestamp", None)
    return json.dumps(text, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(bill("x86_64-unknown-linux-gnu"), end="")
