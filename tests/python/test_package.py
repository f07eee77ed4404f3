"""What is installed, and what Salt finds of it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import salt.config
import salt.loader

ROOT = Path(__file__).resolve().parent.parent.parent


def python(code: str) -> str:
    """What Python prints, away from the repository."""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_wheel_holds_what_it_should() -> None:
    wheels = list((ROOT / "dist").glob("*.whl"))
    if not wheels:
        pytest.skip("needs the wheel that ships: make wheel")
    assert "-cp310-abi3-" in wheels[0].name
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        assert "Requires-Dist" not in wheel.read(metadata).decode()
    assert {
        "saltext/reclass/__init__.py",
        "saltext/reclass/_engine.abi3.so",
        "saltext/reclass/_engine.pyi",
        "saltext/reclass/py.typed",
        "saltext/reclass/engines/reclass_engine.py",
        "saltext/reclass/modules/reclass_mod.py",
        "saltext/reclass/pillar/reclass_adapter.py",
        "saltext/reclass/runners/reclass_runner.py",
        "saltext/reclass/states/reclass_state.py",
        "saltext/reclass/tops/reclass_adapter.py",
    } <= names
    data = {name.partition(".data/")[2] for name in names}
    programs = {"reclass", "reclass-salt", "reclass-ansible"}
    assert {f"scripts/{name}" for name in programs} <= data
    assert {f"data/share/man/man1/{name}.1" for name in programs} <= data
    assert "data/share/saltext-reclass/examples/inventory/nodes/web1.example.com.yml" in data
    # The second and third program are small.
    with zipfile.ZipFile(wheels[0]) as wheel:
        sizes = {Path(info.filename).name: info.compress_size for info in wheel.infolist()}
    assert sizes["reclass-salt"] + sizes["reclass-ansible"] < sizes["reclass"] / 4
    # `saltext` is a namespace, and nothing goes into the package of Salt itself.
    assert "saltext/__init__.py" not in names
    assert {name.split("/")[0] for name in names} - {"saltext"} == {
        next(name for name in names if ".data/" in name).split("/")[0]
    }


def test_the_page_of_the_package() -> None:
    metadata = distribution("saltext-reclass").metadata
    assert "salt-extension" in str(metadata["Keywords"]).split(",")
    page = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)]+)", page)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_folder_salt_never_shadows_salt() -> None:
    assert not (ROOT / "salt" / "__init__.py").exists()
    assert not list((ROOT / "salt").rglob("*.so"))
    assert not list((ROOT / "salt").rglob("reclass.py"))


def test_what_the_entry_point_names_does_not_load_the_engine() -> None:
    [entry] = [
        point for point in distribution("saltext-reclass").entry_points if point.group == "salt.loader"
    ]
    assert (entry.name, entry.value) == ("saltext.reclass", "saltext.reclass")
    code = "import sys, saltext.reclass as r; print('saltext.reclass._engine' in sys.modules); r.Inventory; "
    code += "print('saltext.reclass._engine' in sys.modules)"
    assert python(code).split() == ["False", "True"]


def test_a_pillar_loads_nothing_that_it_does_not_need() -> None:
    code = "import sys; from saltext.reclass.pillar import reclass_adapter as pillar; "
    code += "from saltext.reclass.tops import reclass_adapter; pillar.__opts__ = {}\n"
    code += "try:\n    pillar.ext_pillar('web1', {}, inventory_base_uri='/gone')\n"
    code += "except Exception as error:\n    assert 'directory-not-found' in str(error), error\n"
    code += "print(*(name for name in sys.modules if name.startswith('saltext.reclass._')))"
    assert set(python(code).split()) == {"saltext.reclass._salt", "saltext.reclass._engine"}


def test_names_that_the_package_does_not_have() -> None:
    import saltext.reclass

    with pytest.raises(AttributeError, match="Inventroy"):
        saltext.reclass.Inventroy  # type: ignore[attr-defined] # noqa: B018
    assert "Inventory" in dir(saltext.reclass)
    assert saltext.reclass.__version__ == distribution("saltext-reclass").version


def opts(tmp_path: Path, **more: Any) -> dict[str, Any]:
    config = salt.config.minion_config(None)
    config.update(
        cachedir=str(tmp_path), extension_modules=str(tmp_path / "none"), ext_pillar=[{"reclass": {}}], **more
    )
    return dict(config)


def file_of(function: Any) -> str:
    module = sys.modules[getattr(function, "func", function).__module__]
    return str(module.__file__)


@pytest.mark.parametrize("loader", ["pillar", "tops"])
def test_salt_loads_the_installed_modules_and_not_its_own(tmp_path: Path, loader: str) -> None:
    config = opts(tmp_path)
    if loader == "pillar":
        function = salt.loader.pillars(config, {})["reclass"]
    else:
        function = salt.loader.tops(opts(tmp_path, master_tops={"reclass": {}}))["reclass"]
    assert file_of(function).endswith(f"saltext/reclass/{loader}/reclass_adapter.py")


@pytest.mark.parametrize("loader", ["pillar", "tops"])
def test_the_folder_salt_is_a_tree_of_extension_modules(tmp_path: Path, loader: str) -> None:
    config = opts(tmp_path, master_tops={"reclass": {}})
    config["extension_modules"] = str(ROOT / "salt")
    loaded = salt.loader.pillars(config, {}) if loader == "pillar" else salt.loader.tops(config)
    assert file_of(loaded["reclass"]) == str(ROOT / "salt" / loader / "reclass_adapter.py")
