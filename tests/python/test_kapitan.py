"""A real Kapitan and a real Commodore ask this engine. `make test` installs them, in `.venv-kapitan`."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv-kapitan" / "bin" / "python"
BACKENDS = ("reclass", "reclass-rs", "saltext-reclass")

pytestmark = pytest.mark.needs(
    "kapitan", (ROOT / ".venv-kapitan" / ".built").exists(), "make .venv-kapitan/.built, with Python 3.11"
)

# An inventory as those of Kapitan's examples, with exports and a query.
PROJECT = {
    "inventory/reclass-config.yml": """
        class_mappings:
          - '* site'
    """,
    "inventory/targets/web.yml": """
        classes: [app.web]
        parameters:
          replicas: 3
    """,
    "inventory/targets/db.yml": """
        classes: [app.database]
        parameters:
          clients: $[ exports:address ]
    """,
    "inventory/classes/site.yml": """
        parameters:
          domain: example.com
          kapitan:
            vars:
              target: ${_reclass_:name:short}
    """,
    "inventory/classes/app/web.yml": """
        classes: [common]
        applications: [web]
        parameters:
          image: nginx:1.29
          replicas: 1
        exports:
          address: ${host}
    """,
    "inventory/classes/app/database.yml": """
        classes: [common]
        applications: [database]
        parameters:
          image: postgres:18
    """,
    "inventory/classes/common.yml": """
        parameters:
          host: ${_reclass_:name:short}.${domain}
          kapitan:
            compile:
              - output_path: docs
                input_type: jinja2
                input_paths: [templates/readme.md]
              - output_path: manifests
                input_type: jsonnet
                input_paths: [templates/manifest.jsonnet]
    """,
    "templates/readme.md": """
        {% set values = inventory.parameters %}
        {{ values.image }} on {{ values.host }}, {{ values.clients | default({}) }}
    """,
    "templates/manifest.jsonnet": """
        local kap = import "lib/kapitan.libjsonnet";
        local values = kap.inventory().parameters;
        { manifest: { image: values.image, host: values.host } }
    """,
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
    return subprocess.run(
        [PYTHON, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def kapitan(folder: Path, command: str, backend: str) -> str:
    """What Kapitan prints; it must not fail."""
    result = run(folder, "-m", "saltext.reclass.kapitan", command, "--inventory-backend", backend)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_inventory_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    project = write(tmp_path, PROJECT)
    printed = kapitan(project, "inventory", "saltext-reclass")
    assert printed == kapitan(project, "inventory", "reclass")
    # reclass-rs has no exports, and leaves queries as text.
    assert "web: web.example.com" in printed
    assert "web: web.example.com" not in kapitan(project, "inventory", "reclass-rs")


def test_what_is_compiled_is_the_same(tmp_path: Path) -> None:
    compiled = {}
    for backend in ("reclass", "saltext-reclass"):
        project = write(tmp_path / backend, PROJECT)
        kapitan(project, "compile", backend)
        files = [path for path in (project / "compiled").rglob("*") if path.is_file()]
        compiled[backend] = {str(path.relative_to(project)): path.read_text() for path in files}
    assert compiled["saltext-reclass"] == compiled["reclass"]
    assert sorted(compiled["reclass"]) == [
        "compiled/db/docs/readme.md",
        "compiled/db/manifests/manifest.yaml",
        "compiled/web/docs/readme.md",
        "compiled/web/manifests/manifest.yaml",
    ]
    assert "{'web': 'web.example.com'}" in compiled["saltext-reclass"]["compiled/db/docs/readme.md"]


def test_the_file_of_kapitan_can_name_the_backend(tmp_path: Path) -> None:
    project = write(tmp_path, PROJECT)
    (project / ".kapitan").write_text("inventory_backend:\n  inventory-backend: saltext-reclass\n")
    result = run(project, "-m", "saltext.reclass.kapitan", "inventory", "-v")
    assert result.returncode == 0, result.stderr
    assert "Using SaltextReclassInventory as inventory backend" in result.stdout + result.stderr
    assert "web: web.example.com" in result.stdout


def test_composed_names(tmp_path: Path) -> None:
    project = write(tmp_path, PROJECT)
    (project / "inventory/targets/prod").mkdir()
    shutil.move(project / "inventory/targets/web.yml", project / "inventory/targets/prod/web.yml")
    printed = []
    for backend in BACKENDS[::2]:
        result = run(
            project,
            "-m",
            "saltext.reclass.kapitan",
            "inventory",
            "--compose-target-name",
            "--inventory-backend",
            backend,
        )
        assert result.returncode == 0, result.stderr
        printed.append(result.stdout)
    assert printed[0] == printed[1]
    assert "prod.web:" in printed[0]


def test_an_error_has_its_place(tmp_path: Path) -> None:
    project = write(tmp_path, PROJECT)
    (project / "inventory/classes/site.yml").write_text("parameters:\n  domain: ${dmoain}\n")
    result = run(
        project, "-m", "saltext.reclass.kapitan", "inventory", "--inventory-backend", "saltext-reclass"
    )
    assert result.returncode == 1
    assert "classes/site.yml:2:11" in result.stderr + result.stdout
    assert "Traceback" not in result.stderr


# A tenant of Commodore: the global repository, that of the tenant, and the facts of a cluster.
TENANT = {
    "global/commodore.yml": """
        classes:
          - global.defaults
          - global.distribution.${facts:distribution}
          - global.cloud.${facts:cloud}
          - ${cluster:tenant}.${cluster:name}
    """,
    "global/defaults.yml": """
        parameters:
          components:
            ingress: {url: https://git.example.com/ingress.git, version: v1.2.3}
          ingress: {class: nginx, host: "apps.${cluster:name}.example.com"}
    """,
    "global/distribution/openshift4.yml": "parameters: {ingress: {class: openshift}}",
    "global/cloud/x.yml": 'parameters: {storage: {class: "${facts:cloud}-ssd"}}',
    "tenant/c-bar.yml": """
        classes: [t-foo.common]
        parameters: {ingress: {replicas: 3}}
    """,
    "tenant/common.yml": "parameters: {contact: ada@example.com}",
    "values.yml": "parameters: {facts: {distribution: openshift4, cloud: x, region: r}}",
}
COMMODORE = "from commodore.cli import main; main()"
INSTALLED = f"from saltext.reclass import reclass_rs; reclass_rs.install(); {COMMODORE}"


@pytest.mark.parametrize("command", ["show", "components"])
def test_commodore_has_the_same_inventory(tmp_path: Path, command: str) -> None:
    tenant = write(tmp_path, TENANT)
    arguments = ("inventory", command, "global", "tenant", "-f", "values.yml")
    ours, theirs = (run(tenant, "-c", code, *arguments) for code in (INSTALLED, COMMODORE))
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr + theirs.stderr
    assert ours.stdout == theirs.stdout
    assert ("x-ssd" if command == "show" else "v1.2.3") in ours.stdout


def test_commodore_says_what_is_missing(tmp_path: Path) -> None:
    tenant = write(tmp_path, TENANT)
    (tenant / "global/cloud/x.yml").unlink()
    arguments = ("inventory", "show", "global", "tenant", "-f", "values.yml", "--no-allow-missing-classes")
    result = run(tenant, "-c", INSTALLED, *arguments)
    assert result.returncode == 1
    assert "Error while rendering global: Class global.cloud.${facts:cloud} not found" in result.stderr
    assert "global/commodore.yml:5:5: " in result.stderr
