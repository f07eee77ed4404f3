"""The Salt modules, called as Salt calls them but without Salt around."""

from __future__ import annotations

import copy
import logging
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import salt.config
from salt.exceptions import SaltInvocationError
from salt.utils import ctx
from saltext.reclass import ReclassError, _configuration, _engine, _salt
from saltext.reclass._salt import RefusedError
from saltext.reclass.pillar import reclass_adapter as pillar_module
from saltext.reclass.tops import reclass_adapter as tops_module

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": """
        applications: [nginx]
        environment: prod
        parameters: {secret: hunter2, a: '${_reclass_:environment}'}
    """,
    "nodes/db1": "applications: [postgresql]\nparameters: {seen: 1}",
    "nodes/broken": "classes: [gone]\nparameters: {secret: hunter2}",
}


@pytest.fixture
def base(write: Write) -> str:
    return str(write(SITE))


@pytest.fixture
def opts(base: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options of a master, put into both modules as Salt's loader does."""
    opts: dict[str, Any] = {
        "__role": "master",
        "id": "vm_master",
        "saltenv": None,
        "pillarenv": None,
        "file_roots": {"base": [base, "/elsewhere"]},
        "master_tops": {"reclass": {"inventory_base_uri": base}},
    }
    for module in (pillar_module, tops_module):
        monkeypatch.setattr(module, "__opts__", opts, raising=False)
    return opts


@pytest.fixture
def log() -> Iterator[list[logging.LogRecord]]:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    yield records
    logging.getLogger().removeHandler(handler)


class Request:
    """The context of a request that Salt has authenticated."""

    def __init__(self, minion: Any, cmd: str = "_master_tops") -> None:
        logs = {"log_fmt_minion_id": "[%(minion_id)s]", "log_fmt_jid": "[JID: %(jid)s]"}
        context = {"data": {"id": minion, "cmd": cmd}, "opts": logs}
        manager = getattr(ctx, "request_context", None) or ctx.RequestContext
        self.manager = manager(context)

    def __enter__(self) -> None:
        self.manager.__enter__()

    def __exit__(self, *reason: Any) -> None:
        self.manager.__exit__(*reason)


def test_both_claim_the_name_always() -> None:
    for module in (pillar_module, tops_module):
        assert module.__virtual__() == module.__virtualname__ == "reclass"


def test_pillar(opts: dict[str, Any], base: str) -> None:
    pillar = pillar_module.ext_pillar("web1", {}, inventory_base_uri=base)
    assert pillar["secret"] == "hunter2"
    assert pillar["__reclass__"]["environment"] == "prod"


def test_the_revision_is_in_the_pillar_if_a_setting_says_so(opts: dict[str, Any], write: Write) -> None:
    base = write({"nodes/n": "classes: [c]", "classes/c": "parameters: {a: 1}"})

    def about(**more: Any) -> dict[str, Any]:
        pillar = pillar_module.ext_pillar("n", {}, inventory_base_uri=str(base), **more)
        found: dict[str, Any] = pillar["__reclass__"]
        return found

    without = about()
    assert list(without) == ["nodename", "applications", "classes", "environment"]
    first = about(revision_in_pillar=True)
    revision = first.pop("revision")
    assert (first, re.fullmatch("[0-9a-f]{8}", revision) is not None) == (without, True)
    assert about(revision_in_pillar=True)["revision"] == revision
    # A file that the node does not use belongs to the revision too.
    write({"classes/other": "parameters: {a: 1}"})
    assert about(revision_in_pillar=True)["revision"] != revision
    git = ("git", "-C", str(base), "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    write({"classes/c": "parameters: {a: 2}"})
    assert re.fullmatch(
        f"{commit[:8]} of main with changes [0-9a-f]{{8}}", about(revision_in_pillar=True)["revision"]
    )
    assert about() == without


def test_the_inventory_is_in_the_first_folder_of_base_by_default(opts: dict[str, Any]) -> None:
    opts["master_tops"] = {"reclass": None}
    assert pillar_module.ext_pillar("db1", {})["seen"] == 1
    assert pillar_module.ext_pillar("db1", {}, None)["seen"] == 1
    assert tops_module.top(opts={"id": "db1"}) == {"base": ["postgresql"]}


@pytest.mark.parametrize("arguments", [("/srv/reclass",), (["a"],), (None, "b")])
def test_a_configuration_that_is_no_mapping(opts: dict[str, Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(
        SaltInvocationError, match=r"^reclass: the configuration of reclass must be a mapping"
    ):
        pillar_module.ext_pillar("db1", {}, *arguments)


def test_the_configuration_stays_as_it_is(opts: dict[str, Any], base: str) -> None:
    del opts["master_tops"]["reclass"]["inventory_base_uri"]
    opts["master_tops"]["reclass"]["reclass_source_path"] = "/opt/reclass"
    before = copy.deepcopy(opts)
    options = {"class_mappings": [], "reclass_source_path": "/opt/reclass"}
    pillar_module.ext_pillar("db1", {}, **options)
    tops_module.top(opts={"id": "db1"}, grains={})
    assert opts == before
    assert options == {"class_mappings": [], "reclass_source_path": "/opt/reclass"}


def test_options_that_nobody_knows_are_a_warning(
    opts: dict[str, Any], base: str, log: list[logging.LogRecord]
) -> None:
    assert (
        pillar_module.ext_pillar("db1", {}, inventory_base_uri=base, ignore_clas_notfound=True)["seen"] == 1
    )
    [warning] = [record.getMessage() for record in log if "ignore_clas_notfound" in record.getMessage()]
    assert "'ignore_class_notfound' is similar" in warning


def test_errors_are_one_exception_without_values(
    opts: dict[str, Any], base: str, log: list[logging.LogRecord]
) -> None:
    with pytest.raises(SaltInvocationError) as caught:
        pillar_module.ext_pillar("broken", {}, inventory_base_uri=base)
    message = str(caught.value)
    assert message.startswith(f"reclass: {base}/nodes/broken.yml:1:11: node 'broken': no class 'gone'")
    assert caught.value.__cause__ is None
    assert "hunter2" not in message
    assert not any("hunter2" in record.getMessage() for record in log)
    assert any("no class 'gone'" in record.getMessage() and record.levelno == logging.ERROR for record in log)


def test_the_masters_own_id_needs_no_node(opts: dict[str, Any], base: str) -> None:
    assert pillar_module.ext_pillar("vm_master", {}, inventory_base_uri=base) == {}
    opts["__role"] = "minion"
    with pytest.raises(SaltInvocationError, match="no node 'vm_master'"):
        pillar_module.ext_pillar("vm_master", {}, inventory_base_uri=base)


def test_the_environment_of_the_request_counts_with_the_option_only(opts: dict[str, Any], base: str) -> None:
    def environment(**options: Any) -> Any:
        return pillar_module.ext_pillar("web1", {}, inventory_base_uri=base, **options)["a"]

    allowed = {"allow_adapter_env_override": True}
    opts.update(pillarenv="dev", saltenv="test")
    assert environment() == "prod"
    assert environment(**allowed) == "dev"
    opts["pillarenv"] = None
    assert environment(**allowed) == "test"
    opts["saltenv"] = None
    assert environment(**allowed) == "prod"
    opts["saltenv"] = "../../etc"
    assert environment() == "prod"
    with pytest.raises(SaltInvocationError, match="not a valid name") as caught:
        environment(**allowed)
    assert "etc" not in str(caught.value)


def test_options_may_be_in_a_file_of_their_own(opts: dict[str, Any], base: str, tmp_path: Path) -> None:
    config = tmp_path / "reclass-config.yml"
    config.write_text(f"inventory_base_uri: {base}\nallow_adapter_env_override: on\ncache: off\n")
    opts["pillarenv"] = "dev"
    assert pillar_module.ext_pillar("web1", {}, config_file=str(config))["a"] == "dev"
    # The folder of the file, and not the first of file_roots.
    config.write_text("cache: off\n")
    with pytest.raises(SaltInvocationError, match=f"cannot read the folder '{tmp_path}/"):
        pillar_module.ext_pillar("web1", {}, config_file=str(config))
    opts["master_tops"] = {"reclass": {"config_file": str(config), "inventory_base_uri": base}}
    assert tops_module.top(opts={"id": "db1"}) == {"base": ["postgresql"]}
    config.unlink()
    with pytest.raises(SaltInvocationError, match="cannot use the configuration file"):
        pillar_module.ext_pillar("web1", {}, config_file=str(config))


PILLAR = "ext_pillar: [{other: 1}, {reclass: {inventory_base_uri: /srv/a, cache: off}}]\n"


@pytest.mark.parametrize(
    "files",
    [
        {"master": PILLAR},
        {"master": "user: root\n", "master.d/b.conf": PILLAR, "master.d/ignored": "ext_pillar: []\n"},
        {
            "master": "ext_pillar: [{reclass: {inventory_base_uri: /gone}}]\n",
            "master.d/a.conf": "ext_pillar: [{other: 2}]\nmaster_tops: {reclass: {cache: stat}}\n",
            "master.d/b.conf": PILLAR,
        },
        {
            "master": "default_include: a.d/*.conf\ninclude: [more/*, x]\n",
            "a.d/1.conf": "include: ../y\n",
            "y": PILLAR,
            "more/1": "master_tops: {reclass: {threads: 1}}\n",
            "more/.2": "ext_pillar: []\n",
            "x": "ext_pillar: [{reclass: {inventory_base_uri: /srv/x}}]\n",
        },
        {
            "master": "master_tops: {reclass: {threads: 1, class_mappings: [a b]}}\n",
            "master.d/1.conf": "master_tops: {reclass: {inventory_base_uri: /b, class_mappings: [c d]}}\n",
            "master.d/2.conf": "master_tops: {reclass: {threads: 2, class_mappings: [e f, g h]}}\n",
        },
        {"master": "ext_pillar: [{reclass: }]\n"},
        {"master": "file_roots: {base: [FOLDER/ro*ts, /x]}\next_pillar: [{reclass: {}}]\n", "roots/x": ""},
        {"master": "ext_pillar: [{reclass: {config_file: FOLDER/c.yml}}]\n", "c.yml": "threads: 3\n"},
    ],
)
def test_the_engine_reads_a_master_as_salt_does(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("FOLDER", str(tmp_path)))
    master = str(tmp_path / "master")
    of_salt = _configuration.of_master(salt.config.master_config(master))
    ours = _engine.configured(config_file=master)
    assert ours == {**of_salt, "config_file": master}


def test_options_are_words_whatever_yaml_reads_them_as(opts: dict[str, Any], base: str) -> None:
    opts["pillarenv"] = "dev"
    for word in (False, "off", "no", "False", 0, None):
        options: dict[str, Any] = {
            "allow_adapter_env_override": word,
            "propagate_pillar_data_to_reclass": word,
        }
        given = pillar_module.ext_pillar("web1", {"x": 1}, inventory_base_uri=base, cache=False, **options)
        assert given["a"] == "prod"


def test_show_pillar_shows_what_the_minion_gets(opts: dict[str, Any], base: str) -> None:
    # The runner says "base" where nobody asked for an environment.
    opts["saltenv"] = "base"
    options = {"inventory_base_uri": base, "allow_adapter_env_override": True}
    assert pillar_module.ext_pillar("web1", {}, **options)["a"] == "prod"
    with Request("web1", "_pillar"):
        assert pillar_module.ext_pillar("web1", {}, **options)["a"] == "base"
    opts["pillarenv"] = "base"
    assert pillar_module.ext_pillar("web1", {}, **options)["a"] == "base"


def test_the_pillar_so_far_is_propagated(opts: dict[str, Any], write: Write) -> None:
    base = str(write({"nodes/n": "parameters: {seen: '${from:sls}', address: ours}"}))
    options = {"inventory_base_uri": base, "propagate_pillar_data_to_reclass": True}
    lenient = {**options, "strict_constant_parameters": False}
    assert pillar_module.ext_pillar("n", {"from": {"sls": [1]}}, **options)["seen"] == [1]
    text = pillar_module.ext_pillar("n", {"from": {"sls": "${address}"}}, **options)["seen"]
    assert text == "${address}"
    held = pillar_module.ext_pillar("n", {"from": {"sls": 1}, "=address": "theirs"}, **lenient)
    assert held["address"] == "theirs"
    with pytest.raises(SaltInvocationError, match=r"constant-changed"):
        pillar_module.ext_pillar("n", {"from": {"sls": 1}, "=address": "theirs"}, **options)
    with pytest.raises(SaltInvocationError, match=r"\$\{from:sls\}"):
        pillar_module.ext_pillar("n", {"from": {"sls": [1]}}, inventory_base_uri=base)


def test_a_masterless_minion_hands_back_what_we_gave_it(opts: dict[str, Any], write: Write) -> None:
    opts["__role"] = "minion"
    files = {"nodes/n": "parameters: {both: [node], ours: [node], seen: '${sls}'}", "classes/c": "{}"}
    options = {"inventory_base_uri": str(write(files)), "propagate_pillar_data_to_reclass": True}
    sls = {"both": ["sls"], "sls": 1}
    pillar: dict[str, Any] = {}
    for _ in range(3):
        # What the SLS files say replaces what was there, and the rest stays.
        pillar = pillar_module.ext_pillar("n", {**pillar, **copy.deepcopy(sls)}, **options)
        assert (pillar["both"], pillar["ours"], pillar["seen"]) == (["sls", "node"], ["node"], 1)
    # What an SLS file no longer says is gone for references too.
    del sls["sls"]
    with pytest.raises(SaltInvocationError, match=r"no parameter 'sls'"):
        pillar_module.ext_pillar("n", {"both": ["sls"], "seen": 1, "ours": ["node"]}, **options)


def test_whatever_escapes_from_below_is_an_ordinary_exception(
    opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        pass

    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise Panic("hunter2")

    monkeypatch.setattr(_engine, "Inventory", fail)
    with pytest.raises(SaltInvocationError, match=r"^reclass: internal error \(Panic\)$"):
        pillar_module.ext_pillar("db1", {})
    [state] = tops_module.top(opts={"id": "db1"})["base"]
    assert state == "reclass-failed--internal--internal-error-Panic--see-the-log-of-the-master"

    monkeypatch.setattr(_engine, "Inventory", lambda **_: _engine.panic())
    place = r"^reclass: internal error: panic at crates/python/src/lib\.rs"
    with pytest.raises(SaltInvocationError, match=place):
        pillar_module.ext_pillar("db1", {})


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_a_process_passes(
    opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, exception: type[BaseException]
) -> None:
    def fail(**_options: Any) -> Any:
        raise exception

    monkeypatch.setattr(_engine, "Inventory", fail)
    with pytest.raises(exception):
        pillar_module.ext_pillar("db1", {})
    with pytest.raises(exception):
        tops_module.top(opts={"id": "db1"})


@pytest.mark.parametrize("missing", ["saltext.reclass", "saltext.reclass._engine"])
def test_an_engine_that_does_not_load_is_an_error_of_the_call(tmp_path: Path, missing: str) -> None:
    code = f"""
import sys
sys.path[:0] = [{str(Path(pillar_module.__file__).parent)!r}]
sys.modules[{missing!r}] = None
import importlib.util
from salt.exceptions import SaltInvocationError
def load(path):
    spec = importlib.util.spec_from_file_location("adapter", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__opts__ = {{"id": "m", "master_tops": {{"reclass": {{}}}}}}
    assert module.__virtual__() == "reclass"
    return module
try:
    load({pillar_module.__file__!r}).ext_pillar("db1", {{}})
except SaltInvocationError as error:
    assert str(error).startswith("reclass: the "), error
    assert str(error).endswith("saltext-reclass does not load; the log says why"), error
else:
    sys.exit("no error")
[state] = load({tops_module.__file__!r}).top(opts={{"id": "db1"}})["base"]
assert state.startswith("reclass-failed--"), state
"""
    subprocess.run([sys.executable, "-c", code], cwd="/", check=True, timeout=600)


def test_top_without_a_request(opts: dict[str, Any]) -> None:
    # Masterless, and salt-ssh: the options are our own.
    assert tops_module.top(opts={"id": "web1"}, grains={}) == {"prod": ["nginx"]}
    opts["__role"] = "minion"
    assert tops_module.top(opts={"id": "db1"}) == {"base": ["postgresql"]}


def test_top_for_the_authenticated_id_only(opts: dict[str, Any], log: list[logging.LogRecord]) -> None:
    with Request("web1"):
        assert tops_module.top(opts={"id": "web1"}) == {"prod": ["nginx"]}
        for claimed in ["db1", "../nodes/db1", 5, None]:
            [state] = tops_module.top(opts={"id": claimed})["base"]
            assert state.startswith("reclass-failed--refused--")
        assert tops_module.top()["base"][0].startswith("reclass-failed--refused--")
    with Request(None):
        assert tops_module.top(opts={"id": "web1"})["base"][0].startswith("reclass-failed--refused--")
    assert any("web1" in record.getMessage() and "refused" in record.getMessage() for record in log)


@pytest.mark.parametrize("sent", ["x", [1], 5, b"x", True])
@pytest.mark.parametrize("what", ["opts", "grains"])
def test_what_a_minion_sends_in_another_form_is_refused(
    opts: dict[str, Any], log: list[logging.LogRecord], what: str, sent: Any
) -> None:
    opts["master_tops"]["reclass"]["grains"] = ["os"]
    with Request("web1"):
        [state] = tops_module.top(**{"opts": {"id": "web1"}, "grains": {}, what: sent})["base"]
    assert state.startswith("reclass-failed--refused--the-")
    [line] = [record.getMessage() for record in log if record.levelno >= logging.ERROR]
    kind = type(sent).__name__
    words = {"opts": "options", "grains": "grains"}
    assert line == f"no top from reclass: the {words[what]} of the minion must be a mapping, not a {kind}"


def test_grains_of_another_form_are_refused(opts: dict[str, Any], base: str) -> None:
    for sent in ("x", [1], True):
        with pytest.raises(RefusedError, match="the grains of the minion must be a mapping"):
            _salt.pillar("web1", {}, (), {"inventory_base_uri": base, "grains": ["os"]}, opts, sent)


def test_salts_builtin_adapter_would_answer(opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the id of the options is not enough: the adapter of Salt believes it."""
    from salt.tops import reclass_adapter as builtin

    def answer(minion_id: str, **_options: Any) -> dict[str, list[str]]:
        return {"base": [f"the states of {minion_id}"]}

    program: Any = types.ModuleType("reclass.adapters.salt")
    errors: Any = types.ModuleType("reclass.errors")
    program.top, errors.ReclassException = answer, RuntimeError
    for name in ("reclass", "reclass.adapters"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "reclass.adapters.salt", program)
    monkeypatch.setitem(sys.modules, "reclass.errors", errors)
    monkeypatch.setattr(builtin, "__opts__", opts, raising=False)
    with Request("web1"):
        assert builtin.top(opts={"id": "db1"}) == {"base": ["the states of db1"]}
        assert tops_module.top(opts={"id": "db1"})["base"][0].startswith("reclass-failed--refused--")


def test_a_failing_top_is_a_state_that_cannot_exist(
    opts: dict[str, Any], log: list[logging.LogRecord]
) -> None:
    [state] = tops_module.top(opts={"id": "broken"})["base"]
    assert state.startswith("reclass-failed--class-not-found--")
    assert "no-class-gone" in state
    assert state.endswith("--see-the-log-of-the-master")
    assert state.replace("-", "").isalnum()
    assert len(state) < 255
    assert any(record.levelno == logging.ERROR and "no class 'gone'" in record.getMessage() for record in log)


@pytest.mark.parametrize(
    ("node", "top"),
    [
        # What is wrong with values is a matter of the pillar.
        ("parameters: {a: '${gone}'}", ["one"]),
        ("parameters: {a: '${gone'}", ["one"]),
        ("exports: {a: '${gone'}", ["one"]),
        ("classes: [bad]", ["one", "bad"]),
        ("classes: ['${name}']", ["one", "bad"]),
        # Never a list that is not whole.
        ("classes: ['${gone}']", "class-reference"),
        ("classes: ['${broken}']", "reference-syntax"),
        ("classes: [bad, gone]", "class-not-found"),
        ("classes: [worse]", "entry-type"),
        ("applications: [[a]]", "entry-type"),
        ("parameters: {a: '${gone'}\nenvironment: [a]", "section-type"),
    ],
)
def test_a_top_needs_no_values(opts: dict[str, Any], write: Write, node: str, top: list[str] | str) -> None:
    base = write(
        {
            "nodes/n": node,
            "classes/one": "applications: [one]\nparameters: {name: bad, broken: '${x'}",
            "classes/bad": "applications: [bad]\nparameters: {a: '${gone', b: {c: '${gone}'}}",
            "classes/worse": "applications: [{a: 1}]",
        }
    )
    for options in [{}, {"group_errors": False}]:
        reclass = {"inventory_base_uri": str(base), "class_mappings": ["* one"], **options}
        opts["master_tops"] = {"reclass": reclass}
        found = tops_module.top(opts={"id": "n"})["base"]
        if isinstance(top, list):
            assert found == top
        else:
            assert found[0].startswith(f"reclass-failed--{top}--")
        with pytest.raises(SaltInvocationError):
            pillar_module.ext_pillar("n", {}, **reclass)


def test_the_top_of_a_node_whose_pillar_was_answered(opts: dict[str, Any], base: str) -> None:
    options = opts["master_tops"]["reclass"]
    pillar_module.ext_pillar("web1", {}, **options)
    hits = _engine.Inventory(**options).cache_info()["hits"]
    assert tops_module.top(opts={"id": "web1"}) == {"prod": ["nginx"]}
    assert _engine.Inventory(**options).cache_info()["hits"] == hits + 1


def test_the_environment_of_a_top(opts: dict[str, Any]) -> None:
    minion = {"id": "web1", "saltenv": "dev", "pillarenv": "test", "pillar": {"a": 1}}
    assert tops_module.top(opts=minion) == {"prod": ["nginx"]}
    opts["master_tops"]["reclass"]["allow_adapter_env_override"] = True
    assert tops_module.top(opts=minion) == {"dev": ["nginx"]}
    assert tops_module.top(opts={**minion, "saltenv": None}) == {"test": ["nginx"]}
    assert tops_module.top(opts={**minion, "saltenv": "a/b"})["base"][0].startswith(
        "reclass-failed--refused--"
    )


def test_the_text_of_an_error_that_is_not_ours_is_not_shown(log: list[logging.LogRecord]) -> None:
    def fail(error: BaseException) -> str:
        try:
            raise error
        except BaseException as raised:  # noqa: BLE001 - as it is where errors are described
            return _salt.describe(raised)

    assert fail(ValueError("hunter2")) == "reclass: internal error (ValueError)"
    logged = "".join(record.getMessage() for record in log)
    assert "internal error (ValueError)" in logged
    assert "in fail" in logged, "the traceback is logged"
    assert "hunter2" not in logged
    message = "reclass: the engine of saltext-reclass does not load; the log says why"
    assert fail(ImportError("/usr/lib/libc.so.6: version `GLIBC_9' not found")) == message
    assert "GLIBC_9" in log[-1].getMessage()
    assert fail(ReclassError("what", "code")) == "reclass: what"
