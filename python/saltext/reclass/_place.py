"""Where the functions of `_functions` run: in the execution module of a minion, or in the runner of a master.

A function has a :class:`Place` as its first argument. Salt sees it without that argument, and in the runner
with the argument ``inventory``. An argument that a function does not have is an error, so no slip in a name
is left out. Every error becomes one of Salt's that ends a command with code 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import salt.exceptions
from saltext.reclass import _audit, _commit, _configuration, _edits
from saltext.reclass._salt import RefusedError, describe, similar

Function = Callable[..., Any]


class Place:
    """Where a function runs, with the variables that Salt's loader gives to a module."""

    program: str
    error: type[Exception]
    """Salt prints it without a traceback, and ends with code 1."""

    def __init__(self, variables: Mapping[str, Any], inventory: Any) -> None:
        self.opts: Mapping[str, Any] = variables["__opts__"]
        self.salt: Mapping[str, Any] = variables.get("__salt__") or {}
        self.context: dict[str, Any] = variables.get("__context__", {})
        self.grains: Mapping[str, Any] = variables.get("__grains__") or {}
        self.inventory = inventory
        self.failing = ""
        """What does not happen if the function fails, for the log: nobody else may read the error."""

    def test(self, test: bool | None) -> bool:
        """Whether an edit is only reported."""
        return bool(self.opts.get("test") if test is None else test)

    def is_read_by_people(self) -> bool:
        """Whether ``salt-run`` prints the answer, and nobody asked for another form."""
        return self.opts.get("__cli") == "salt-run" and not self.opts.get("output")

    def caller(self, function: str, given: Mapping[str, Any], of_job: Mapping[str, Any]) -> _audit.Caller:
        """Who called a function: Salt has it in arguments on a minion, and in the globals of a runner."""
        return _audit.Caller(function, given.get("__pub_user"), given.get("__pub_jid"))

    def settings(self, *minions: Any) -> dict[str, Any]:
        """The settings of the inventory, with the grains of those minions that the function renders."""
        raise NotImplementedError

    def settings_of_tops(self, minion: Any) -> dict[str, Any]:
        """The settings of the inventory for tops."""
        return self.settings(minion)

    def earlier(self, minion: Any) -> dict[str, Any] | None:
        """The pillar of a minion before reclass, where it is known and used."""
        return None

    def grains_of_all(self, names: list[str]) -> dict[str, Any]:
        """What all minions answer to ``grains.item``."""
        raise NotImplementedError

    def failed(self, answer: Any, lines: list[str]) -> Any:
        """The answer of a function that has found errors."""
        raise NotImplementedError

    def with_code(self, answer: Any, failed: bool) -> Any:
        """The data of an answer, with exit code 1 if something was found, where Salt can take one."""
        raise NotImplementedError


class OfModule(Place):
    """A minion, with the inventory of its own configuration."""

    program = "salt-call"
    error = salt.exceptions.CommandExecutionError

    def settings(self, *minions: Any) -> dict[str, Any]:
        settings = _configuration.of_minion(self.opts)
        return _configuration.with_grains(settings, lambda: {self.opts["id"]: self.grains})

    def grains_of_all(self, names: list[str]) -> dict[str, Any]:
        try:
            answers = self.salt["saltutil.cmd"](tgt="*", fun="grains.item", arg=names, timeout=10) or {}
        except Exception as error:  # noqa: BLE001 - whatever Salt meets where there is no master
            raise RefusedError(
                "all minions have to be asked, and only the master can: run 'salt-run reclass.graph_data' "
                f"there ({type(error).__name__})"
            ) from None
        return {name: answer.get("ret") for name, answer in answers.items()}

    def failed(self, answer: Any, lines: list[str]) -> Any:
        return self.with_code(answer, True)

    def with_code(self, answer: Any, failed: bool) -> Any:
        if failed:
            self.context["retcode"] = 1
        return answer


class OfRunner(Place):
    """A master, with the inventory of its minions."""

    program = "salt-run"
    # The only one that Salt prints without a traceback.
    error = salt.exceptions.NotImplemented

    def caller(self, function: str, given: Mapping[str, Any], of_job: Mapping[str, Any]) -> _audit.Caller:
        fire = self.salt.get("event.send")
        return _audit.Caller(function, of_job.get("__user__"), of_job.get("__jid__"), fire)

    def settings(self, *minions: Any) -> dict[str, Any]:
        settings = _configuration.of_master(self.opts, self.inventory)
        return self.with_grains(settings, minions) if minions else settings

    def settings_of_tops(self, minion: Any) -> dict[str, Any]:
        if self.inventory is not None:
            return self.settings(minion)
        return self.with_grains(_configuration.of_tops(self.opts), (minion,))

    def with_grains(self, settings: dict[str, Any], minions: tuple[Any, ...]) -> dict[str, Any]:
        """The settings with the grains that the master has cached."""

        def cached() -> dict[str, Any]:
            names = [_edits.text(minion) for minion in minions]
            given: dict[str, Any] = {"tgt": names, "tgt_type": "list"}
            if set("*?[") & set("".join(names)):
                given = {"tgt": "*"}
            found = self.salt["cache.grains"](**given)
            return {minion: grains for minion, grains in found.items() if grains}

        return _configuration.with_grains(settings, cached)

    def earlier(self, minion: Any) -> dict[str, Any] | None:
        return _configuration.earlier_pillar(self.opts, _edits.text(minion), self.inventory)

    def grains_of_all(self, names: list[str]) -> dict[str, Any]:
        return self.salt["salt.execute"]("*", "grains.item", arg=names) or {}

    def failed(self, answer: Any, lines: list[str]) -> Any:
        # An answer that is a text, or a mapping of nodes, would end the command with 0.
        raise self.error("\n".join(lines))

    def with_code(self, answer: Any, failed: bool) -> Any:
        # `salt-run` takes its exit code from this key. Its context outlives the function.
        return {**answer, "retcode": 1} if failed and isinstance(answer, dict) else answer


_COMMIT = {"commit": False, "author": None, "message": None, "branch": None}
"""The arguments of all functions that edit, see :mod:`saltext.reclass._commit`."""
_EXAMPLE = "    CLI Example:\n\n    .. code-block:: bash\n"
"""How `sys.doc` begins the examples, which the texts of the functions have behind ``CLI Example::``."""
_COMMIT_TEXT = """\
    In a repository of git, ``commit=True`` commits the edit, on the current branch or on ``branch``, with
    ``author`` (``Name <address>``) and ``message``. An inventory in git is edited by a commit that is pushed.

"""


def of_salt(function: Function, place: type[Place], variables: dict[str, Any]) -> Function:
    """A function as Salt calls and documents it."""
    signature = inspect.signature(function)
    [_, *arguments] = signature.parameters.values()
    commits = {"force", "test"} <= set(signature.parameters)
    if commits:
        arguments += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in _COMMIT.items()
        ]
    if place is OfRunner:
        arguments.append(inspect.Parameter("inventory", inspect.Parameter.KEYWORD_ONLY, default=None))

    def called(*args: Any, **kwargs: Any) -> Any:
        # Salt adds what it knows of a job, as `__pub_jid`.
        given = {name: value for name, value in kwargs.items() if not name.startswith("__")}
        here = place(variables, given.get("inventory"))
        try:
            for name in given:
                if name not in known:
                    problem = f"{function.__name__} has no argument {name!r}"
                    raise RefusedError(problem + similar(name, known))
            given.pop("inventory", None)
            commit = {name: given.pop(name) for name in _COMMIT if commits and name in given}
            try:
                bound = signature.bind(here, *args, **given)
            except TypeError as error:
                raise RefusedError(f"{function.__name__}: {error}") from None
            caller = here.caller(function.__name__, kwargs, globals())
            with _audit.called(caller), _commit.asked(**{**_COMMIT, **commit}):
                return function(*bound.args, **bound.kwargs)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, place.error):
            raise
        except salt.exceptions.SaltException as error:
            raise place.error(str(error)) from None
        except BaseException as error:  # noqa: BLE001
            # A panic that nobody caught is no `Exception`, and would end the process of the job.
            raise place.error(describe(error, here.failing)) from None

    known = [argument.name for argument in arguments]
    # Otherwise Salt takes some slips for arguments that nobody wants, and leaves them out.
    everything_else = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
    called.__signature__ = inspect.Signature([*arguments, everything_else])  # type: ignore[attr-defined]
    called.__name__ = called.__qualname__ = function.__name__
    called.__module__ = variables["__name__"]
    example = (_COMMIT_TEXT if commits else "") + _EXAMPLE
    text = (function.__doc__ or "").replace("    CLI Example::\n", example)
    called.__doc__ = text.replace("salt-call reclass.", f"{place.program} reclass.")
    return called
