"""What the commands print as JSON is what their schemas say: SARIF's own, and those of `docs/schemas`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

PROGRAM = Path(sys.executable).parent / "reclass"
ROOT = Path(__file__).resolve().parent.parent.parent.parent
SHARED = Path(os.environ.get("RECLASS_SHARED", ROOT.parent / "shared"))


def schema(path: Path) -> Any:
    loaded = json.loads(path.read_text())
    kind = Draft7Validator if "draft-07" in loaded["$schema"] else Draft202012Validator
    kind.check_schema(loaded)
    return kind(loaded, format_checker=kind.FORMAT_CHECKER)


SARIF = schema(ROOT / "tests/analysis/schemas/sarif-2.1.0.json")
OURS = {name: schema(ROOT / f"docs/schemas/{name}.json") for name in ("explain", "lint", "diff", "docs")}


def valid(validator: Any, data: Any) -> None:
    problems = [f"{problem.json_path}: {problem.message[:300]}" for problem in validator.iter_errors(data)]
    assert not problems, "\n".join(problems[:20])


def ask(*arguments: str | Path) -> Any:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done
    return json.loads(done.stdout)


def example(text: str, folder: Path) -> list[str]:
    """Writes the inventory of an example of the lints, and gives back the options that it needs."""
    (folder / "nodes").mkdir(parents=True)
    (folder / "classes").mkdir()
    for part in ("\n" + text).split("\n--- ")[1:]:
        name, _, body = part.partition("\n")
        if name == "settings":
            (folder / "reclass-config.yml").write_text(body + "\n")
        elif name != "findings":
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body + "\n")
    return ["-b", str(folder)]


def inventories(tmp_path: Path) -> list[Path]:
    """The example, the same with problems, one with queries, and the real ones where they are."""
    broken = tmp_path / "with spaces and ünïcode"
    shutil.copytree(ROOT / "examples/inventory", broken)
    (broken / "nodes/bad yaml.yml").write_text("a: [1\n")
    (broken / "nodes/lost.yml").write_text("classes: [nowhere]\nparameters: {password: hunter22}\n")
    (broken / "nodes/refs.yml").write_text(
        "parameters: {a: '${b}', b: '${a}', 'ü': 'é ${gone} ü', d: 12:30}\n"
    )
    real = sorted(path.parent for path in SHARED.glob("conformance/real/*/**/nodes"))
    return [ROOT / "examples/inventory", broken, ROOT / "examples/database", *real]


def test_the_schema_of_sarif_is_the_one_that_its_page_names() -> None:
    folder = ROOT / "tests/analysis/schemas"
    digest = hashlib.sha256((folder / "sarif-2.1.0.json").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text()


@pytest.mark.timeout(600)
def test_findings(tmp_path: Path) -> None:
    found = 0
    for base in inventories(tmp_path):
        findings = ask("lint", "-b", base, "-o", "json", "--level", "info")
        valid(OURS["lint"], findings)
        log = ask("lint", "-b", base, "-o", "sarif", "--level", "info")
        valid(SARIF, log)
        [run] = log["runs"]
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        assert {result["ruleId"] for result in run["results"]} <= rules
        assert len(run["results"]) == len(findings)
        found += len(findings)
    assert found > 10


def test_every_finding_of_the_examples(tmp_path: Path) -> None:
    for path in sorted((ROOT / "tests/analysis/lint").glob("*.txt")):
        folder = tmp_path / path.stem
        options = example(path.read_text(), folder)
        for form, validator in (("json", OURS["lint"]), ("sarif", SARIF)):
            command = [PROGRAM, "lint", *options, "-o", form, "--level", "info"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
            assert done.returncode in (0, 1), done
            valid(validator, json.loads(done.stdout))


@pytest.mark.timeout(600)
def test_explanations(tmp_path: Path) -> None:
    explained = 0
    for base in inventories(tmp_path):
        for path in sorted((base / "nodes").rglob("*.yml"))[:3]:
            command = [PROGRAM, "explain", "-b", base, path.stem, "-o", "json"]
            for more in (["**"], ["--class", "*", "--application", "*", "--export", "**"], []):
                done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
                if done.returncode in (0, 1):
                    valid(OURS["explain"], json.loads(done.stdout))
                    explained += 1
    assert explained > 10


def test_differences() -> None:
    examples = sorted((ROOT / "tests/analysis/diff").glob("*.txt"))
    assert examples
    for path in examples:
        valid(OURS["diff"], json.loads(path.read_text().split("--- json\n")[1]))


def test_the_python_api_gives_the_same(tmp_path: Path) -> None:
    from saltext.reclass import Inventory

    base = inventories(tmp_path)[1]
    inventory = Inventory(inventory_base_uri=str(base))
    for data, name in [
        (inventory.explain("web1.example.com", "**"), "explain"),
        (inventory.lint(), "lint"),
        (inventory.diff(str(ROOT / "examples/inventory"), "."), "diff"),
    ]:
        valid(OURS[name], json.loads(json.dumps(data, default=str)))


def test_documentation(tmp_path: Path) -> None:
    for base in inventories(tmp_path):
        command = [PROGRAM, "docs", "-o", "json", "-b", base]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # Names with several files are told behind the answer.
        assert done.returncode in (0, 65), done
        valid(OURS["docs"], json.loads(done.stdout))
