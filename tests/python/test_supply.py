"""What the wheel is made of, and that it installs where there is nothing but Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# The oldest glibc that the wheel may ask for: that of Salt's onedir packages, and of Rust.
GLIBC = (2, 17)

# Words of programs that speak to a network. Comments of crates hold addresses; nothing holds these.
NETWORK = re.compile(r"\b(TcpStream|UdpSocket|ureq|reqwest|hyper|curl|wget|git2|isahc|attohttpc)\b")


def wheel() -> Path:
    [found] = (ROOT / "dist").glob("*.whl")
    return found


def bill() -> Any:
    with zipfile.ZipFile(wheel()) as archive:
        [name] = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
        return json.loads(archive.read(name))


def packages() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout)["packages"])


def pythons() -> list[Path]:
    """One of each version from 3.10 on, as far as they are installed."""
    found: dict[str, Path] = {}
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in range(10, 20):
        candidates: list[str | Path | None] = [
            shutil.which(f"python3.{minor}"),
            *home.glob(f"versions/3.{minor}.*/bin/python"),
        ]
        for path in [Path(name) for name in candidates if name]:
            usable = subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False)
            if usable.returncode == 0:
                found[f"3.{minor}"] = path
    return list(found.values())


def test_the_bill_names_every_crate_with_its_hash_and_licence() -> None:
    lock = (ROOT / "Cargo.lock").read_text()
    [words] = re.findall(r"^allow = \[(.+)\]$", (ROOT / "deny.toml").read_text(), re.M)
    allowed = set(re.findall(r'"(.+?)"', words))
    components = bill()["components"]
    assert len(components) > 50
    for component in components:
        [hashed] = component["hashes"]
        entry = f'name = "{component["name"]}"\nversion = "{component["version"]}"\n'
        assert f'checksum = "{hashed["content"]}"' in lock.partition(entry)[2].partition("[[package]]")[0]
        [licence] = component["licenses"]
        expression = licence.get("expression") or licence["license"].get("id") or licence["license"]["name"]
        for part in expression.split(" AND "):
            assert set(part.strip("()").split(" OR ")) & allowed, f"{component['name']}: {expression}"
    names = {component["name"] for component in components}
    assert {"pyo3", "mimalloc", "fancy-regex"} <= names
    # What tests alone need is not shipped.
    assert not {"serde_json", "toml", "sha2"} & names


def test_crates_are_what_the_rules_allow() -> None:
    # As `cargo deny` holds them to; here without it.
    rules = (ROOT / "deny.toml").read_text()
    [banned, scripts, *_] = re.findall(r"^(?:deny|allow-build-scripts) = \[(.+?)\]", rules, re.M | re.S)
    sources = set(re.findall(r'^source = "(.+)"$', (ROOT / "Cargo.lock").read_text(), re.M))
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}
    names = {component["name"] for component in bill()["components"]}
    assert "openssl-sys" in banned
    assert not names & set(re.findall(r'"(.+?)"', banned))
    run = {
        package["name"]
        for package in packages()
        if any("custom-build" in target["kind"] for target in package["targets"])
    }
    assert "libmimalloc-sys" in run & names
    assert run & names <= set(re.findall(r'"(.+?)"', scripts))


def test_no_build_script_speaks_to_a_network() -> None:
    names = {component["name"] for component in bill()["components"]}
    scripts = 0
    for package in packages():
        built = [target["src_path"] for target in package["targets"] if "custom-build" in target["kind"]]
        if package["name"] not in names or not built:
            continue
        folder = Path(built[0]).parent
        sources = [Path(built[0]), *folder.glob("build/**/*.rs")]
        for source in sources:
            assert not NETWORK.search(source.read_text()), source
        scripts += 1
    assert scripts > 5


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda lock: lock.stem)
def test_every_requirement_is_one_version_with_hashes(lock: Path) -> None:
    lines = lock.read_text().replace("\\\n", " ").splitlines()
    entries = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    form = re.compile(
        r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==[^\s*;]+(?:\s*;([^#]*?))?(?:\s+--hash=sha256:[0-9a-f]{64})+\s*"
    )
    found = [match.groups() for entry in entries if (match := form.fullmatch(entry))]
    assert len(found) == len(entries) > 0, [entry for entry in entries if not form.fullmatch(entry)]
    # Several versions only for different Pythons.
    names = [name.lower() for name, _ in found]
    assert len(set(found)) == len(found)
    assert all(marker for name, marker in found if names.count(name.lower()) > 1)


def versions(program: bytes) -> set[tuple[int, ...]]:
    """The versions of glibc that the symbols of a program or library are of."""
    found = re.findall(rb"\0GLIBC_([0-9.]+)(?=\0)", program)
    return {tuple(map(int, version.split(b"."))) for version in found}


def test_the_wheel_asks_for_an_old_glibc_only() -> None:
    found = re.search(r"-cp310-abi3-manylinux_(\d+)_(\d+)_x86_64\.whl$", wheel().name)
    assert found, wheel().name
    assert (int(found[1]), int(found[2])) <= GLIBC
    # Of each program too: the tag is made from the module.
    with zipfile.ZipFile(wheel()) as archive:
        programs = [name for name in archive.namelist() if archive.read(name)[:4] == b"\x7fELF"]
        newest = {Path(name).name: max(versions(archive.read(name))) for name in programs}
    assert set(newest) == {"_engine.abi3.so", "reclass", "reclass-salt", "reclass-ansible"}
    assert all(version <= GLIBC for version in newest.values()), newest
    assert versions(b"\0GLIBC_2.3.4\0GLIBC_2.34\0read\0") == {(2, 3, 4), (2, 34)}


@pytest.mark.parametrize("python", pythons(), ids=str)
def test_it_installs_with_nothing_but_python(python: Path, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True, capture_output=True)
    programs = tmp_path / "venv" / "bin"
    environment = {"PATH": str(programs), "HOME": str(tmp_path)}
    pip: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel()]
    subprocess.run(pip, check=True, env=environment, capture_output=True)
    node = tmp_path / "site" / "nodes" / "n.yml"
    node.parent.mkdir(parents=True)
    (tmp_path / "site" / "classes").mkdir()
    node.write_text("parameters: {a: 1, b: '${a}'}\n")
    code = "import sys; from saltext.reclass import Inventory; "
    code += "print(Inventory(inventory_base_uri=sys.argv[1]).pillar('n')['b'])"
    asked: list[str | Path] = [programs / "python", "-c", code, tmp_path / "site"]
    done = subprocess.run(asked, check=True, env=environment, capture_output=True, text=True, cwd="/")
    assert done.stdout == "1\n"
    command: list[str | Path] = [programs / "reclass", "-b", tmp_path / "site", "--nodeinfo", "n"]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True, cwd="/")
    assert "  b: 1\n" in done.stdout
