"""What the wheel is made of, and that it installs where there is nothing but Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from supply import audit, known, notes

ROOT = Path(__file__).resolve().parent.parent.parent

# What has a lock file of its own.
MANIFESTS = ["Cargo.toml", "fuzz/Cargo.toml", "tests/sanitizer/Cargo.toml"]

# The oldest glibc that the wheel may ask for: that of Salt's onedir packages, and of Rust.
GLIBC = (2, 17)

# Words of programs that speak to a network. Comments of crates hold addresses; nothing holds these.
NETWORK = re.compile(r"\b(TcpStream|UdpSocket|ureq|reqwest|hyper|curl|wget|git2|isahc|attohttpc)\b")


def wheel() -> Path:
    found = list((ROOT / "dist").glob("*.whl"))
    if not found:
        pytest.skip("needs the wheel that ships: make wheel")
    return found[0]


def bill() -> Any:
    with zipfile.ZipFile(wheel()) as archive:
        [name] = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
        return json.loads(archive.read(name))


def packages(manifest: str) -> list[dict[str, Any]]:
    """The crates of a lock file, those that only tests need included."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path", manifest]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout)["packages"])


def test_every_lock_file_is_known() -> None:
    command = ["git", "ls-files", "Cargo.lock", "*/Cargo.lock"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(found) == sorted(manifest.replace(".toml", ".lock") for manifest in MANIFESTS)


def pythons() -> list[Path]:
    """One of each version from 3.10 on, as far as they are installed; in the short form only the first."""
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
    return list(found.values())[: None if os.environ.get("RECLASS_LONG") else 1]


def test_the_bill_names_the_libraries_in_the_page_of_a_graph() -> None:
    folder = ROOT / "crates/graph/explorer"
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    shipped = {
        path.removeprefix("node_modules/") for path, one in locked.items() if path and not one.get("dev")
    }
    named = {
        "/".join(filter(None, [one.get("group"), one["name"]])): one
        for one in bill()["components"]
        if one["purl"].startswith("pkg:npm/")
    }
    assert set(named) == shipped == {"cytoscape", "@dagrejs/dagre", "@dagrejs/graphlib"}
    script = (folder.parent / "src/explorer.js").read_text()
    for name, one in named.items():
        assert one["licenses"] == [{"license": {"id": "MIT"}}]
        # The page shows the text of the licence.
        assert f"{name} {one['version']}" in script


def test_the_bill_names_every_crate_with_its_hash_and_licence() -> None:
    lock = (ROOT / "Cargo.lock").read_text()
    [words] = re.findall(r"^allow = \[(.+)\]$", (ROOT / "deny.toml").read_text(), re.M)
    allowed = set(re.findall(r'"(.+?)"', words))
    components = [one for one in bill()["components"] if one["purl"].startswith("pkg:cargo/")]
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
    assert {"pyo3", "indexmap", "fancy-regex"} <= names
    # What tests alone need is not shipped.
    assert not {"schemars", "toml", "sha2"} & names


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_crates_are_what_the_rules_allow(manifest: str) -> None:
    # As `cargo deny` holds them to; here without it.
    rules = (ROOT / "deny.toml").read_text()
    [banned, scripts, *_] = re.findall(r"^(?:deny|allow-build-scripts) = \[(.+?)\]", rules, re.M | re.S)
    lock = (ROOT / manifest).with_suffix(".lock").read_text()
    sources = set(re.findall(r'^source = "(.+)"$', lock, re.M))
    alone = manifest == "tests/sanitizer/Cargo.toml"  # It needs no crate.
    assert sources == (set() if alone else {"registry+https://github.com/rust-lang/crates.io-index"})
    found = packages(manifest)
    assert "openssl-sys" in banned
    assert not {package["name"] for package in found} & set(re.findall(r'"(.+?)"', banned))
    run = {
        package["name"]
        for package in found
        if any("custom-build" in target["kind"] for target in package["targets"])
    }
    assert alone or "libc" in run
    assert run <= set(re.findall(r'"(.+?)"', scripts))


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_no_build_script_speaks_to_a_network(manifest: str) -> None:
    scripts = 0
    for package in packages(manifest):
        built = [target["src_path"] for target in package["targets"] if "custom-build" in target["kind"]]
        if not built:
            continue
        folder = Path(built[0]).parent
        sources = [Path(built[0]), *folder.glob("build/**/*.rs")]
        for source in sources:
            assert not NETWORK.search(source.read_text()), source
        scripts += 1
    assert scripts >= {"Cargo.toml": 15, "fuzz/Cargo.toml": 8, "tests/sanitizer/Cargo.toml": 0}.get(
        manifest, 1
    )


WEAKNESS = """```toml
[advisory]
id = "RUSTSEC-2026-0001"
package = "libc"
date = "2026-01-01"

[versions]
patched = [">= 99.0.0"]
```

# A weakness made up for a test

Nothing of it is true.
"""


@pytest.mark.skipif(not shutil.which("cargo-deny"), reason="cargo-deny is not installed")
def test_an_audit_without_a_network_asks_the_database_that_was_fetched_last(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "supply.audit", "--offline", "--databases", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "There is no database of RustSec" in done.stdout
    # As cargo-deny names it for the address of RustSec.
    database = tmp_path / "advisory-db-3157b0e258782691"
    origin = tmp_path / "origin"
    weakness = origin / "crates/libc/RUSTSEC-2026-0001.md"
    weakness.parent.mkdir(parents=True)
    weakness.write_text(WEAKNESS)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(origin)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    subprocess.run(["git", "clone", "-q", origin, database], check=True)
    subprocess.run(["git", "-C", database, "fetch", "-q"], check=True)
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"weaknesses of crates that were known on 20\d\d-\d\d-\d\d\.", done.stdout)
    # Once for each lock file.
    assert done.stderr.count("ID: RUSTSEC-2026-0001\n") == 3, done.stderr
    weakness.write_text(WEAKNESS.replace("99.0.0", "0.0.1"))
    for arguments in (["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    subprocess.run(["git", "-C", database, "pull", "-q"], check=True)
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert "ID: RUSTSEC" not in done.stderr
    # Nothing is known of the packages, which is no success.
    assert done.returncode == 1
    assert "There is no database of Python packages" in done.stdout


OSV = """id: PYSEC-2026-1
modified: 2026-01-02T00:00:00Z
aliases: [CVE-2026-1]
details: A weakness made up for a test. Nothing of it is true.
affected:
  - package: {ecosystem: PyPI, name: %s, purl: 'pkg:pypi/x'}
    ranges:
      - type: GIT
        repo: https://example.com/x
        events: [{introduced: '0'}]
      - type: ECOSYSTEM
        events: %s
    versions: %s
"""


def kept(folder: Path, package: str, records: dict[str, str]) -> Path:
    """A clone of a database of Python packages, with these records of one package."""
    database = folder / "pypa-advisory-database"
    weaknesses = database / "vulns" / package
    weaknesses.mkdir(parents=True, exist_ok=True)
    for name, text in records.items():
        (weaknesses / f"{name}.yaml").write_text(text)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(database)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    return database


def test_an_audit_without_a_network_asks_the_kept_database_of_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "supply.audit", "--offline", "--databases", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "There is no database of Python packages" in done.stdout
    assert "git clone --depth 1 https://github.com/pypa/advisory-database" in done.stdout
    kept(tmp_path, "PyYAML", {"PYSEC-2026-1": OSV % ("PyYAML", "[{introduced: '0'}, {fixed: '99.0'}]", "[]")})
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    # Though there is nothing to ask for crates.
    assert "There is no database of RustSec" in done.stdout
    assert re.search(r"weaknesses of Python packages that were known on 20\d\d-\d\d-\d\d\.", done.stdout)
    lines = [line for line in done.stderr.splitlines() if "PYSEC-2026-1, fixed in 99.0" in line]
    assert [line for line in lines if line.startswith("requirements/dev.txt: pyyaml ")], done.stderr
    locks = [lock for lock in (ROOT / "requirements").glob("*.txt") if "\npyyaml==" in lock.read_text()]
    assert len(lines) == len(locks)


def test_a_kept_database_without_a_weakness_of_ours_is_a_success(tmp_path: Path) -> None:
    old = OSV % ("pyyaml", "[{introduced: '0'}, {fixed: '5.1'}]", "['3.0', 5.0b2, 2004d]")
    withdrawn = OSV % ("pyyaml", "[{introduced: '0'}]", "[]") + "withdrawn: 2026-01-03T00:00:00Z\n"
    other = OSV % ("pyyaml-include", "[{introduced: '0'}]", "[]")
    database = kept(
        tmp_path, "pyyaml", {"PYSEC-2026-1": old, "PYSEC-2026-2": withdrawn, "PYSEC-2026-3": other}
    )
    assert audit.packages(tmp_path, offline=True) == 0
    # What cannot be read might be one.
    (database / "vulns/pyyaml/PYSEC-2026-4.yaml").write_text("id: PYSEC-2026-4\n")
    assert audit.packages(tmp_path, offline=True) == 1


@pytest.mark.parametrize(
    ("events", "listed", "weak"),
    [
        ("[{introduced: '0'}]", "[]", True),
        ("[{introduced: '2.0'}]", "[]", True),
        ("[{introduced: 2.0.1}]", "[]", False),
        ("[{introduced: '0'}, {fixed: '2.0'}]", "[]", False),
        ("[{introduced: '0'}, {fixed: 2.0.post1}]", "[]", True),
        ("[{introduced: '0'}, {last_affected: '2.0'}]", "[]", True),
        ("[{introduced: '0'}, {last_affected: '1.9'}]", "[]", False),
        ("[{fixed: '3'}, {introduced: '1.10'}, {fixed: '1.2'}, {introduced: '0'}]", "[]", True),
        ("[{introduced: '0'}, {fixed: '1.2'}, {introduced: '10'}]", "[]", False),
        ("[{introduced: '10'}]", "['1.0', '2']", True),
        ("[{introduced: '10'}]", "['2.0.0']", True),
        ("[{introduced: '10'}]", "[2.0rc1, 2004d, 1.9]", False),
        ("[{introduced: '10'}]", "[2.00]", True),
        ("[{introduced: 0}, {fixed: 1.10}, {introduced: 2}, {fixed: 2.10}]", "[]", True),
    ],
)
def test_versions_and_ranges_count_as_the_format_says(
    tmp_path: Path, events: str, listed: str, weak: bool
) -> None:
    database = kept(tmp_path, "some-package", {"PYSEC-2026-1": OSV % ("Some.Package", events, listed)})
    found = list(known.weak(database, {("some-package", "2.0")}))
    assert bool(found) == weak


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


CHANGELOG = """# Changelog

## Unreleased

- Later.

## 1.2.0 - 2026-12-01

### Added

- One.

## 1.1.0 - 2026-11-01

- Before.
"""


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    assert notes.notes(CHANGELOG, "1.2.0") == "### Added\n\n- One."
    assert notes.notes(CHANGELOG, "1.1.0") == "- Before."
    assert notes.notes(CHANGELOG, "1.2") is None
    assert notes.notes(CHANGELOG, "1.0.0") is None
    # A release needs a day.
    assert notes.notes("## 1.0.0\n\n- One.\n", "1.0.0") is None


def test_each_fragment_of_the_changelog_is_of_a_kind() -> None:
    # towncrier leaves out a file whose name it does not know, without a word.
    kinds = re.findall(r"^\[tool\.towncrier\.fragment\.(\w+)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert "fixed" in kinds
    name = re.compile(rf"(?:\d+|\+[a-z-]+)\.(?:{'|'.join(kinds)})\.md")
    assert [path.name for path in (ROOT / "changelog").iterdir() if not name.fullmatch(path.name)] == [
        ".gitkeep"
    ]


def test_a_tag_names_the_version() -> None:
    command = [sys.executable, "-m", "supply.notes", "v9.9.9"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "the tag is v9.9.9" in done.stderr
    assert notes.version("pyproject.toml") == notes.version("Cargo.toml")


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
