"""The schemas that ``reclass schema`` prints, read by a validator of JSON Schema.

Those of the files fit each file of the examples, of the language page, of the recorded cases and of the real
inventories, as far as reclass takes it. An inferred one fits the values that it was made of.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(sys.executable).with_name("reclass")
REAL = Path(os.environ.get("RECLASS_SHARED", ROOT.parent / "shared")) / "conformance/real"
BLOCK = re.compile(r"^```yaml\n# ((?:nodes|classes)/\S+|reclass-config\.yml)\n(.*?)^```$", re.S | re.M)


def printed(*arguments: str) -> Any:
    """What the program prints about the example."""
    folder = ROOT / "examples/inventory"
    done = subprocess.run([str(PROGRAM), *arguments], cwd=folder, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def schema(*arguments: str) -> Any:
    """A schema that the program prints."""
    return printed("schema", *arguments, "-o", "json")


@pytest.fixture(scope="module")
def validators() -> dict[str, Draft202012Validator]:
    """A validator for each kind of file."""
    schemas = schema("files")
    assert set(schemas) == {"node", "class", "config"}
    for one in schemas.values():
        Draft202012Validator.check_schema(one)
    return {name: Draft202012Validator(one) for name, one in schemas.items()}


def kind(path: str) -> str | None:
    """The kind of a file by its path."""
    found = re.search(r"(?:^|/)(nodes|classes)/.*\.ya?ml$", path)
    if found:
        return "node" if found[1] == "nodes" else "class"
    return "config" if path.endswith("reclass-config.yml") else None


def files() -> Iterator[tuple[str, str]]:
    """The paths and texts of the files of inventories."""
    page = (ROOT / "docs/language.md").read_text()
    yield from BLOCK.findall(page)
    for folder in (ROOT / "examples", ROOT / "tests/engine/evaluate/cases"):
        for path in sorted(folder.rglob("*.yml")):
            yield str(path.relative_to(ROOT)), path.read_text()


def real_files() -> Iterator[tuple[str, str]]:
    """The files of the real inventories, where they are."""
    for path in sorted(REAL.rglob("inventory/**/*.yml")):
        if path.is_file():
            yield str(path.relative_to(REAL)), path.read_text(errors="replace")


def faults(
    found: Iterator[tuple[str, str]], validators: dict[str, Draft202012Validator]
) -> tuple[int, list[str]]:
    """The number of files that were looked at, and what is wrong with them."""
    count, wrong = 0, []
    for path, text in found:
        name = kind(path)
        try:
            data = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if name:
            count += 1
            wrong += [f"{path}: {error.message}" for error in validators[name].iter_errors(data)]
    return count, wrong


def test_the_files_of_this_repository_fit(validators: dict[str, Draft202012Validator]) -> None:
    count, wrong = faults(files(), validators)
    assert count > 100
    assert wrong == []


@pytest.mark.skipif(not REAL.exists(), reason="no real inventories")
def test_real_files_fit_but_for_their_mistakes(validators: dict[str, Draft202012Validator]) -> None:
    count, wrong = faults(real_files(), validators)
    assert count > 1000
    # Sections that reclass reports too, `paramaters` among them, and a link that became a file.
    unknown = [fault for fault in wrong if " not match any of the regexes" in fault]
    assert len(unknown) < 10
    assert [fault for fault in wrong if fault not in unknown and "config_symlink.yml" not in fault] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("node", "clases: [a]"),
        ("node", "classes: a"),
        ("class", "classes: [1]"),
        ("class", "parameters: [a]"),
        ("config", "class_mapping: []"),
        ("config", "cache: sometimes"),
        ("config", "limit_depth: 0"),
    ],
)
def test_mistakes_do_not_fit(validators: dict[str, Draft202012Validator], name: str, text: str) -> None:
    assert list(validators[name].iter_errors(yaml.safe_load(text)))


def test_an_inferred_schema_fits_its_values() -> None:
    for path in ("nginx", "network", "postgresql", "motd", "admins"):
        inferred = schema("infer", path)
        Draft202012Validator.check_schema(inferred)
        validator = Draft202012Validator(inferred, format_checker=Draft202012Validator.FORMAT_CHECKER)
        nodes = printed("--inventory", "--output", "json")["nodes"]
        values = [node["parameters"][path] for node in nodes.values() if path in node["parameters"]]
        assert values
        assert [error.message for value in values for error in validator.iter_errors(value)] == []
