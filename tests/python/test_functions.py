"""The functions of the execution module and the runner, as Salt calls them."""

from __future__ import annotations

import inspect
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import salt.exceptions
from saltext.reclass import _functions, _place
from saltext.reclass.modules import reclass_mod
from saltext.reclass.runners import reclass_runner

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": "classes: [web]",
    "nodes/_generated/web2": "classes: [web]",
    "nodes/broken": "classes: [gone]",
    "classes/cluster/overrides": "parameters: {_param: {a: 1}}",
    "classes/web": "parameters: {retcode: 1, os: '${_grains_:os::none}'}",
}
# What an error of each of them is for Salt.
PLACES = [
    (reclass_mod, salt.exceptions.CommandExecutionError),
    (reclass_runner, salt.exceptions.NotImplemented),
]


@pytest.fixture
def opts(write: Write, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options of a process of Salt, put into both modules as its loader does."""
    settings = {"inventory_base_uri": str(write(SITE)), "grains": ["os"]}
    opts = {"id": "web1", "reclass": settings, "ext_pillar": [{"reclass": settings}]}
    for module, _ in PLACES:
        for name, value in (("__opts__", opts), ("__context__", {}), ("__salt__", {})):
            monkeypatch.setattr(module, name, value, raising=False)
    return opts


def names(module: Any) -> set[str]:
    return {name for name, found in vars(module).items() if inspect.isfunction(found) and name[0] != "_"}


def test_the_runner_has_all_functions_of_the_module() -> None:
    assert names(reclass_mod) < names(reclass_runner)
    assert names(reclass_mod) == {function.__name__ for function in _functions.EVERYWHERE}
    for module, program in ((reclass_mod, "salt-call"), (reclass_runner, "salt-run")):
        for name in names(module):
            function = getattr(module, name)
            assert (
                f"CLI Example:\n\n    .. code-block:: bash\n\n        {program} reclass.{name}"
                in function.__doc__
            )
            assert function.__module__ == module.__name__
            # Salt hands over all arguments, so that the function can refuse some.
            assert [*inspect.signature(function).parameters][-1] == "kwargs"


@pytest.mark.parametrize(("module", "error"), PLACES)
def test_a_slip_in_the_name_of_an_argument_is_an_error(opts: dict[str, Any], module: Any, error: Any) -> None:
    for name in names(module):
        with pytest.raises(error, match=f"^reclass: {name} has no argument 'tset'"):
            getattr(module, name)(tset=True)
    with pytest.raises(error, match=r"get_cluster_param has no argument 'defualt'; 'default' is similar$"):
        module.get_cluster_param("x", defualt=1)
    with pytest.raises(error, match=r"^reclass: node_get: missing a required argument: 'name'$"):
        module.node_get()
    with pytest.raises(error, match=r"^reclass: node_get: too many positional arguments$"):
        module.node_get("web1", "", "x")
    # What Salt adds of its own.
    assert module.get_cluster_param("x", default=1, __pub_jid="1") == 1


@pytest.mark.parametrize(("module", "error"), PLACES)
def test_whatever_goes_wrong_is_one_sentence(
    opts: dict[str, Any], module: Any, error: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(raised: BaseException) -> None:
        def fail(place: Any) -> None:
            raise raised

        _place.of_salt(fail, getattr(_place, place), vars(module))()

    place = "OfModule" if module is reclass_mod else "OfRunner"
    for raised in (BaseException("hunter2"), KeyError("hunter2")):
        with pytest.raises(error, match=r"^reclass: internal error \(\w+\)$"):
            failing(raised)
    with pytest.raises(error, match=r"^as it is$"):
        failing(salt.exceptions.SaltInvocationError("as it is"))
    with pytest.raises(KeyboardInterrupt):
        failing(KeyboardInterrupt())
    with pytest.raises(error, match=r"^reclass: no parameter 'x' in '.*overrides\.yml'$"):
        module.get_cluster_param("x")


@pytest.mark.parametrize(("module", "error"), PLACES)
def test_nodes_of_a_folder(opts: dict[str, Any], module: Any, error: Any) -> None:
    assert set(module.node_list()) == {"web1", "web2", "broken"}
    assert set(module.node_list("_generated")) == set(module.node_list(path="_generated")) == {"web2"}
    assert set(module.node_list(path="")) == {"web1", "broken"}
    assert module.node_get("web2", path="_generated")["web2"]["classes"] == ["web"]
    with pytest.raises(error, match="not in the folder 'x'"):
        module.node_get("web2", path="x")


def test_a_question_about_one_minion_reads_its_grains_only(
    opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def cached(tgt: Any, tgt_type: str = "glob") -> dict[str, Any]:
        asked.append((tgt, tgt_type))
        return {"web1": {"os": "Debian"}, "web2": {}}

    opts["master_tops"] = {"reclass": opts["reclass"]}
    functions = {"cache.grains": cached, "salt.execute": lambda *_, **__: {}, "cache.pillar": lambda tgt: {}}
    monkeypatch.setattr(reclass_runner, "__salt__", functions)
    assert reclass_runner.show_pillar("web1")["os"] == "Debian"
    assert reclass_runner.node_pillar("web1")["web1"]["os"] == "Debian"
    reclass_runner.show_top("web1")
    reclass_runner.top("web1", inventory=1)
    reclass_runner.explain("web1", "os")
    reclass_runner.validate_pillar("web1")
    reclass_runner.lint("web1")
    reclass_runner.compare("web1")
    assert asked == [(["web1"], "list")] * 8
    asked.clear()
    # Those that render nothing.
    for name in ("class_list", "node_list", "nodes", "soft_meta_list", "validate_yaml", "cache_info"):
        getattr(reclass_runner, name)()
    assert asked == []
    reclass_runner.lint("web*")
    reclass_runner.lint()
    assert asked == [("*", "glob")] * 2


def test_a_text_with_the_word_of_an_exit_code(opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`salt-run` would look for an exit code in a text beside an outputter."""
    opts["__cli"] = "salt-run"
    monkeypatch.setattr(reclass_runner, "__salt__", {"cache.grains": lambda **_: {"web1": {"os": "x"}}})
    assert reclass_runner.explain("web1", "retcode").startswith("retcode: 1\n")
    assert reclass_runner.explain("web1", "os")["outputter"] == "txt"


def test_differences_are_an_exit_code(
    opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    opts["reclass"].pop("grains")
    base = Path(opts["reclass"]["inventory_base_uri"])
    (base / "classes/web.yml").write_text("parameters: {a: 1}")
    (base / "nodes/broken.yml").unlink()
    git = ["git", "-C", str(base), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    pillar = reclass_runner.show_pillar("web1")
    monkeypatch.setattr(reclass_runner, "__salt__", {"cache.pillar": lambda tgt: {"web1": pillar}})
    for function, arguments in (("diff", ["HEAD"]), ("compare", [])):
        assert "retcode" not in getattr(reclass_runner, function)(*arguments)
    assert reclass_mod.diff("HEAD")["touched"] == 0
    assert reclass_mod.__context__ == {}
    (base / "classes/web.yml").write_text("parameters: {a: 2}")
    for function, arguments in (("diff", ["HEAD"]), ("compare", [])):
        answer = getattr(reclass_runner, function)(*arguments)
        assert (answer["retcode"], answer["touched"] > 0) == (1, True)
    # What Salt keeps for the next function of the process.
    assert reclass_runner.__context__ == {}
    assert reclass_mod.diff("HEAD")["touched"] == 2
    assert reclass_mod.__context__ == {"retcode": 1}
    opts["__cli"] = "salt-run"
    for function, arguments in (("diff", ["HEAD"]), ("compare", [])):
        with pytest.raises(salt.exceptions.NotImplemented, match="differ"):
            getattr(reclass_runner, function)(*arguments)
    (base / "nodes/web1.yml").write_text("classes: [gone]")
    with pytest.raises(salt.exceptions.NotImplemented, match=r"^web1: reclass: .*no class 'gone'"):
        reclass_runner.validate_pillar("web1")
    assert reclass_runner.validate_pillar("web2")["data"] == "1 node has a pillar"
    (base / "nodes/web1.yml").write_text("")
    told = f"web1: warning: '{base}/nodes/web1.yml' is empty; a full disk leaves empty files"
    assert reclass_runner.validate_pillar()["data"] == f"{told}\n2 nodes have a pillar"
    opts["output"] = "json"
    assert sorted(reclass_runner.validate_pillar()) == ["web1", "web2"]


def test_a_refused_classification_is_logged(opts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(f"{record.levelname} {record.getMessage()}")  # type: ignore[method-assign]
    logger = logging.getLogger("saltext.reclass")
    logger.addHandler(handler)
    try:
        cached = {"web1": {"reclass": {"ip": ["x"]}}}
        monkeypatch.setattr(reclass_runner, "__salt__", {"cache.grains": lambda **_: cached})
        rules = {"a": {"expression": "all", "node_class": {"value": ["web"]}}}
        rules["a"]["node_param"] = {"ip": {"value_template": "<<ip>>"}}
        for call in (
            lambda: reclass_runner.classify_minion("web1", rules),
            lambda: reclass_runner.classify_minion("web9", rules),
            lambda: reclass_runner.declassify_minion("web1"),
            lambda: reclass_runner.node_classify("web1", {}, rules),
        ):
            with pytest.raises(salt.exceptions.NotImplemented):
                call()
    finally:
        logger.removeHandler(handler)
    assert [line.split(": ")[:2] for line in lines] == [
        [
            "ERROR minion 'web1' is not classified",
            "what is known of 'ip' must be a text or a number, not a list",
        ],
        ["ERROR minion 'web9' is not classified", "the master has no grains of minion 'web9'"],
        ["ERROR minion 'web1' keeps its node", "the grain 'reclass' of minion 'web1' is not false"],
        ["ERROR node 'web1' is not classified", "nothing is known of 'ip', which a rule needs"],
    ]


def test_the_page_says_of_each_function_who_may_call_it() -> None:
    page = (Path(__file__).parents[2] / "docs/editing.md").read_text()
    table = page.split("## Who may call what")[1].split("`peer` checks the arguments")[0]
    names = [function.__name__ for function in _functions.EVERYWHERE + _functions.OF_RUNNER]
    assert [name for name in names if f"`{name}`" not in table] == []
