"""The Python API of reclass-rs 0.11, answered by the engine of this package.

A program that imports ``reclass_rs`` works with this module in its place.
:func:`install` makes ``import reclass_rs`` find it, for programs that cannot be changed.
``docs/howto/migrate-from-reclass-rs.md`` lists the differences, which are on purpose.

Errors are ``ValueError``. Their texts begin as those of reclass-rs. The problems with file, line and column
follow, and ``__cause__`` is the :class:`~saltext.reclass.ReclassError`.
"""

from __future__ import annotations

import operator
import os
import re
import sys
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from saltext.reclass import _engine
from saltext.reclass.errors import ReclassError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CompatFlag",
    "Config",
    "Inventory",
    "NodeInfo",
    "NodeInfoMeta",
    "Reclass",
    "buildinfo",
    "install",
]

# What names the inventory here are the two paths. A storage of another type has no paths.
_REPLACED = ("config_file", "inventory_base_uri", "storage_type")
_BOOLEANS = (
    "class_mappings_match_path",
    "compose_node_name",
    "ignore_class_notfound",
    "ignore_overwritten_missing_references",
    "verbose_warnings",
)
_LISTS = ("class_mappings", "ignore_class_notfound_regexp")
_FLAGS = "reclass_rs_compat_flags"
_MISSING_CLASS = re.compile(r"no class '(.*)' in ", re.DOTALL)


@final
class CompatFlag(Enum):
    """A flag that brings back the behaviour of the Python program."""

    ComposeNodeNameLiteralDots = "ComposeNodeNameLiteralDots"
    """Composed node names are split at each dot, also at those of file names."""
    NestedReferenceNullAsNone = "NestedReferenceNullAsNone"
    """Null in the default of a reference is ``None`` in text."""

    @classmethod
    def _missing_(cls, value: object) -> CompatFlag | None:
        """The flag in the other two spellings, ``nested-reference-null-as-none`` and with underscores."""
        camel = "".join(word.capitalize() for word in re.split("[-_]", str(value)))
        return next((flag for flag in cls if flag.value == camel), None)

    def __repr__(self) -> str:
        return str(self)

    def __int__(self) -> int:
        return list(CompatFlag).index(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, int) and other == int(self))

    __hash__ = Enum.__hash__


@final
class Config:
    """The settings of an inventory. They do not change; :class:`Reclass` has methods for some of them."""

    def __init__(self, inventory_path: str, nodes_path: str, classes_path: str) -> None:
        self._inventory_path = inventory_path
        self._paths = {"nodes_uri": nodes_path, "classes_uri": classes_path}
        self._flags: set[CompatFlag] = set()
        self._settings: dict[str, Any] = {
            "class_mappings": [],
            "class_mappings_match_path": False,
            "compose_node_name": False,
            "ignore_class_notfound": False,
            "ignore_class_notfound_regexp": [".*"],
            "ignore_overwritten_missing_references": True,
            "verbose_warnings": False,
        }

    @classmethod
    def from_dict(cls, inventory_path: str, config: Mapping[str, Any], verbose: bool = False) -> Config:
        """The settings of a dict; ``nodes_uri`` and ``classes_uri`` are relative to ``inventory_path``.

        All :doc:`settings </settings>` count, also those that reclass-rs ignores. Unknown ones are warnings
        in the log ``saltext.reclass``, whatever ``verbose`` says.

        Raises ``ValueError`` for a setting of the wrong type or a pattern that does not compile.
        """
        made = cls._of_paths(inventory_path, None, None)
        for name, value in config.items():
            try:
                made._set(inventory_path, name, value)
            except ValueError as error:
                raise ValueError(f"Error while setting option {name}: {error}") from error
        made._open()
        return made

    @classmethod
    def _of_file(cls, inventory_path: str, config_file: str) -> Config:
        made = cls._of_paths(inventory_path, None, None)
        path = os.path.join(inventory_path, config_file)
        try:
            for name, value in _engine.configured(config_file=path).items():
                made._set(os.path.dirname(path), name, value)
            made._open()
        except (ReclassError, ValueError) as error:
            raise ValueError(f"loading config: {error}") from error
        return made

    @classmethod
    def _of_paths(cls, inventory_path: str | None, nodes: str | None, classes: str | None) -> Config:
        for kind, path in (("nodes", nodes), ("classes", classes)):
            if inventory_path is None and path is None:
                raise ValueError(f"One of inventory path and {kind} path must be provided.")
        base = "." if inventory_path is None else inventory_path
        paths = [os.path.join(base, path) for path in (nodes or "nodes", classes or "classes")]
        return cls(base, *map(_normal, paths))

    def _set(self, folder: str, name: str, value: Any) -> None:
        expected = f"Expected value of config key '{name}' to be a"
        if name in self._paths:
            if not isinstance(value, str):
                raise ValueError(f"{expected} string")
            self._paths[name] = os.path.join(folder, value)
        elif name in _BOOLEANS:
            if not isinstance(value, bool):
                raise ValueError(f"{expected} boolean")
            self._settings[name] = value
        elif name in (*_LISTS, _FLAGS):
            if not isinstance(value, list):
                raise ValueError(f"{expected} list")
            if name == _FLAGS:
                self._set_flags(value)
            elif all(isinstance(item, str) for item in value):
                self._settings[name] = list(value)
            else:
                place = f"config key '{name}'" if name == "class_mappings" else f"'{name}'"
                raise ValueError(f"Expected entry of {place} to be a string")
        elif name not in _REPLACED:
            self._settings[name] = value

    def _set_flags(self, words: Iterable[object]) -> None:
        others = []
        for word in words:
            if not isinstance(word, str):
                raise ValueError("Expected compatibility flag to be a string")
            try:
                self._flags.add(CompatFlag(word))
            except ValueError:
                # One of this engine, or the engine warns of it.
                others.append(word)
        self._settings["compat_flags"] = others

    def _open(self) -> _engine.Inventory:
        """The inventory of these settings, whose files are not read yet."""
        settings = dict(self._settings)
        settings["compat_flags"] = [*settings.get("compat_flags", []), *(flag.value for flag in self._flags)]
        settings.update({name: os.path.abspath(path) for name, path in self._paths.items()})
        base = os.path.abspath(self._inventory_path)
        try:
            # The engine reads the patterns only where missing classes are ignored.
            _engine.Inventory(inventory_base_uri=base, **{**settings, "ignore_class_notfound": True})
            return _engine.Inventory(inventory_base_uri=base, threads=Reclass._threads, **settings)
        except ReclassError as error:
            if error.code == "uri-overlap":
                raise ValueError("Nodes and classes path must be non-overlapping.") from error
            if error.code == "setting-pattern":
                patterns = "class_mappings" if "'class_mappings'" in str(error) else "class_notfound_regexp"
                raise ValueError(f"Error while compiling {patterns} patterns: {error}") from error
            raise ValueError(str(error)) from error

    def _with(self, flags: Iterable[CompatFlag]) -> Config:
        other = copy(self)
        other._flags = set(flags)
        return other

    @property
    def class_mappings(self) -> list[str]:
        """Texts ``pattern class…``: classes for the nodes that match."""
        return list(self._settings["class_mappings"])

    @property
    def class_mappings_match_path(self) -> bool:
        """Whether patterns are matched against the path of a node file."""
        return bool(self._settings["class_mappings_match_path"])

    @property
    def classes_path(self) -> str:
        return self._paths["classes_uri"]

    @property
    def compatflags(self) -> set[CompatFlag]:
        return set(self._flags)

    @property
    def compose_node_name(self) -> bool:
        """Whether folders are part of the names of nodes."""
        return bool(self._settings["compose_node_name"])

    @property
    def ignore_class_notfound(self) -> bool:
        """Whether missing classes are skipped."""
        return bool(self._settings["ignore_class_notfound"])

    @property
    def ignore_class_notfound_regexp(self) -> list[str]:
        """Patterns of the names that are skipped."""
        return list(self._settings["ignore_class_notfound_regexp"])

    @property
    def ignore_overwritten_missing_references(self) -> bool:
        """Whether a missing reference that a later scalar replaces is a warning."""
        return bool(self._settings["ignore_overwritten_missing_references"])

    @property
    def inventory_path(self) -> str:
        return self._inventory_path

    @property
    def nodes_path(self) -> str:
        return self._paths["nodes_uri"]

    @property
    def verbose_warnings(self) -> bool:
        """Whether there are more warnings."""
        return bool(self._settings["verbose_warnings"])

    def __repr__(self) -> str:
        return f"Config({self._inventory_path!r}, {self._paths}, {self._settings}, {self._flags})"


@final
@dataclass(frozen=True, eq=False)
class NodeInfoMeta:
    """What a node is and where it is defined."""

    render_time: datetime
    """When the node was asked for."""
    environment: str
    name: str
    """With its folders if names are composed."""
    node: str
    """The path of the node below the folder of the nodes, without its extension."""
    uri: str
    """The file of the node."""


@final
@dataclass(frozen=True, eq=False)
class NodeInfo:
    """The values of a node. Lists and dicts belong to the caller; a change shows in this object only."""

    __reclass__: NodeInfoMeta
    applications: list[str]
    classes: list[str]
    """The classes of the node, as they are written."""
    exports: dict[str, Any]
    """The exports of the node. Those of reclass-rs are always empty."""
    parameters: dict[str, Any]

    @classmethod
    def _of(cls, data: Mapping[str, Any], render_time: datetime) -> NodeInfo:
        about = (str(data["__reclass__"][name]) for name in ("environment", "name", "node", "uri"))
        values = (data[name] for name in ("applications", "classes", "exports", "parameters"))
        return cls(NodeInfoMeta(render_time, *about), *values)

    def as_dict(self) -> dict[str, Any]:
        """The answer of the Python program: ``reclass --nodeinfo``."""
        return {
            "__reclass__": self.reclass_as_dict(),
            "applications": self.applications,
            "classes": self.classes,
            "environment": self.__reclass__.environment,
            "exports": self.exports,
            "parameters": self.parameters,
        }

    def reclass_as_dict(self) -> dict[str, Any]:
        """The part ``__reclass__`` of :meth:`as_dict`."""
        meta = self.__reclass__
        return {
            "node": meta.node,
            "name": meta.name,
            "uri": meta.uri,
            "environment": meta.environment,
            "timestamp": meta.render_time.strftime("%c"),
        }


@final
class Inventory:
    """The values of all nodes."""

    def __init__(self, data: Mapping[str, Any], render_time: datetime) -> None:
        self._data = data
        self._render_time = render_time
        self._nodes = {name: NodeInfo._of(node, render_time) for name, node in data["nodes"].items()}

    @property
    def applications(self) -> dict[str, list[str]]:
        """The nodes of each application, sorted."""
        return {name: sorted(nodes) for name, nodes in self._data["applications"].items()}

    @property
    def classes(self) -> dict[str, list[str]]:
        """The nodes of each class, sorted."""
        return {name: sorted(nodes) for name, nodes in self._data["classes"].items()}

    @property
    def nodes(self) -> dict[str, NodeInfo]:
        """The nodes by name."""
        return dict(self._nodes)

    def as_dict(self) -> dict[str, Any]:
        """The answer of the Python program: ``reclass --inventory``."""
        return {
            "applications": self.applications,
            "classes": self.classes,
            "nodes": {name: node.as_dict() for name, node in self._nodes.items()},
            "__reclass__": {"timestamp": self._render_time.strftime("%c")},
        }


@final
class Reclass:
    """An inventory. Each answer is that of the files as they are when it is asked for.

    Raises ``ValueError`` for paths that overlap or cannot be read, and for a name with several files.
    """

    _threads: ClassVar[int] = 0

    def __init__(
        self,
        inventory_path: str | None = ".",
        nodes_path: str | None = None,
        classes_path: str | None = None,
        ignore_class_notfound: bool | None = None,
    ) -> None:
        config = Config._of_paths(inventory_path, nodes_path, classes_path)
        config._settings["ignore_class_notfound"] = bool(ignore_class_notfound)
        self._begin(config)

    @classmethod
    def from_config(cls, config: Config) -> Reclass:
        """The inventory with these settings."""
        made = cls.__new__(cls)
        made._begin(config)
        return made

    @classmethod
    def from_config_file(cls, inventory_path: str, config_file: str, verbose: bool = False) -> Reclass:
        """The inventory with the settings of a file, whose name is relative to ``inventory_path``."""
        return cls.from_config(Config._of_file(inventory_path, config_file))

    def _begin(self, config: Config) -> None:
        self._use(config)
        self._files("nodes")
        self._files("classes")

    def _use(self, config: Config) -> None:
        self._inventory = config._open()
        self._config = config

    def _files(self, kind: str) -> dict[str, Path]:
        """The file of each name, below the folder of its kind."""
        folder = self._config.nodes_path if kind == "nodes" else self._config.classes_path
        try:
            files = self._inventory.files()[kind]
        except ReclassError as error:
            failed = "classes" if os.path.isdir(self._config.nodes_path) else "nodes"
            raise ValueError(f"Error while discovering {failed}: {error}") from error
        top = os.path.abspath(folder)
        for name, paths in files.items():
            if len(paths) > 1:
                first, second, *_ = sorted(os.path.join(folder, os.path.relpath(path, top)) for path in paths)
                singular = {"nodes": "node", "classes": "class"}[kind]
                raise ValueError(
                    f"Error while discovering {kind}: Definition of {singular} '{name}' in '{first}' "
                    f"collides with definition in '{second}'. "
                    f"{kind.capitalize()} can only be defined once per inventory."
                )
        return {name: Path(os.path.relpath(path, top)) for name, [path] in files.items()}

    @property
    def config(self) -> Config:
        return self._config

    @property
    def nodes(self) -> dict[str, Path]:
        """The file of each node, below the folder of the nodes."""
        return self._files("nodes")

    @property
    def classes(self) -> dict[str, Path]:
        """The file of each class, below the folder of the classes."""
        return self._files("classes")

    def nodeinfo(self, nodename: str) -> NodeInfo:
        """The values of a node.

        Raises ``ValueError`` if the node has no file or cannot be rendered.
        """
        begun = datetime.now().astimezone()
        try:
            return NodeInfo._of(self._inventory.nodeinfo(nodename), begun)
        except ReclassError as error:
            raise ValueError(f"Error while rendering {nodename}: {_text(error, nodename)}") from error

    def inventory(self) -> Inventory:
        """The values of all nodes.

        Raises ``ValueError`` if one of them cannot be rendered.
        """
        begun = datetime.now().astimezone()
        try:
            return Inventory(self._inventory.inventory(), begun)
        except ReclassError as error:
            node = error.problems[0].node if error.problems else None
            text = f"Error rendering node {node}: {_text(error, node)}" if node else str(error)
            raise ValueError(f"Error while rendering inventory: {text}") from error

    @classmethod
    def set_thread_count(cls, count: int) -> None:
        """Sets how many threads render the inventories that are opened from now on; 0 for all processors.

        Raises ``TypeError`` for what is no integer, ``OverflowError`` for a negative one.
        """
        count = operator.index(count)
        if count < 0:
            raise OverflowError("can't convert negative int to unsigned")
        cls._threads = min(count, 2**32 - 1)

    def set_compat_flag(self, flag: CompatFlag) -> None:
        self._use(self._config._with({*self._config._flags, flag}))

    def unset_compat_flag(self, flag: CompatFlag) -> None:
        self._use(self._config._with(self._config._flags - {flag}))

    def clear_compat_flags(self) -> None:
        self._use(self._config._with(()))

    def set_ignore_class_notfound_regexp(self, patterns: list[str]) -> None:
        """Sets the patterns of the names that ``ignore_class_notfound`` skips.

        Raises ``ValueError`` for a pattern that does not compile.
        """
        config = copy(self._config)
        config._settings = {**config._settings, "ignore_class_notfound_regexp": list(patterns)}
        try:
            self._use(config)
        except ValueError as error:
            raise ValueError(f"Error while setting ignore_class_notfound_regexp: {error}") from error

    def __repr__(self) -> str:
        return f"Reclass({self._config!r})"


def _normal(path: str) -> str:
    """The path without ``..`` and ``.``. A ``./`` in front stays, as in reclass-rs."""
    normal = os.path.normpath(path)
    return f"./{normal}" if path.startswith("./") and not normal.startswith(".") else normal


def _text(error: ReclassError, node: str | None) -> str:
    """The words of reclass-rs for a missing class or node, then the problems."""
    problem = error.problems[0] if error.problems else None
    if error.code == "node-not-found":
        return f"Unknown node {node}\n{error}"
    if problem and (missing := _MISSING_CLASS.match(problem.message)):
        return f"Class {missing[1]} not found\n{error}"
    return str(error)


def buildinfo() -> dict[str, str]:
    """How the engine was built: the version of the Rust compiler."""
    return {"rustc_version": _engine.rustc_version}


def install() -> None:
    """Makes ``import reclass_rs`` find this module, in this process."""
    sys.modules["reclass_rs"] = sys.modules[__name__]


def __dir__() -> list[str]:
    """The names of reclass-rs, without what this module imports."""
    return sorted(__all__)
