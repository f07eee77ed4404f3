from collections.abc import Mapping, Sequence
from typing import Any, final

__all__ = ["Editor", "Inventory", "__version__", "configured", "panic"]

__version__: str

@final
class Editor:
    """What changes the files of an inventory, opened with the same settings as an :class:`Inventory`.

    An edit changes the bytes of one entry and leaves all others, under a lock, and the file is
    replaced at once or not at all. It is told as a dict: ``path``, ``changed``, the texts ``before``
    and ``after`` (``None`` for no file), and what they say, ``old`` and ``new``. With ``test``,
    nothing is written. Values that hold references or queries need ``interpolate``.

    Raises :class:`~saltext.reclass.ReclassError` with the codes ``edit-refused``, ``edit-reference``,
    ``name-refused``, ``path-refused``, ``node-exists``, ``file-unwritable`` and ``lock-timeout``, and
    :class:`~saltext.reclass.WireError` for a value or string that cannot be taken; then no file was
    changed. With the code ``folder-unflushed`` the change is made, and may be lost if the system crashes.
    """

    def __new__(cls, **settings: Any) -> Editor: ...
    def cluster_data(self, cluster: str = "", file_name: str = "") -> dict[str, Any]:
        """What the metadata file of a cluster says, as it is written; an empty dict for no file.

        The file is ``classes/cluster/<cluster>/overrides.yml``; the settings ``cluster_folder`` and
        ``cluster_file`` name others.
        """

    def folders(self) -> dict[str, list[str]]:
        """The folders of the inventory, those of ``classes`` and of ``nodes``."""

    def cluster_path(self, cluster: str = "", file_name: str = "") -> str:
        """The path of the metadata file of a cluster, which need not be there; its folder has to be."""

    def set_cluster_param(
        self,
        name: str,
        value: Any,
        cluster: str = "",
        file_name: str = "",
        *,
        interpolate: bool = False,
        test: bool = False,
    ) -> dict[str, Any]:
        """Gives a soft parameter (``parameters:_param``) of a cluster a value, of any type that YAML has."""

    def delete_cluster_param(
        self, name: str, cluster: str = "", file_name: str = "", *, test: bool = False
    ) -> dict[str, Any]:
        """Takes a soft parameter of a cluster away; without one, nothing is done."""

    def sources(self) -> list[dict[str, Any]]:
        """All files of the inventory as they are written.

        Each has its ``kind`` (``class`` or ``node``), ``name``, ``folder`` and ``path``, and ``data`` or,
        where it cannot be read, ``error``.
        """

    def create_node(
        self,
        name: str,
        folder: str = "",
        classes: Sequence[str] = ...,
        parameters: dict[str, Any] | None = None,
        entries: Sequence[tuple[Sequence[str], Any]] = ...,
        *,
        interpolate: bool = False,
        test: bool = False,
    ) -> dict[str, Any]:
        """Makes the file of a node, in a folder below ``nodes_uri`` that is made where it is missing.

        ``parameters`` are soft parameters, ``entries`` more values by the keys that lead to them.
        """

    def update_node(
        self,
        name: str,
        classes: Sequence[str] = ...,
        parameters: dict[str, Any] | None = None,
        entries: Sequence[tuple[Sequence[str], Any]] = ...,
        *,
        interpolate: bool = False,
        test: bool = False,
    ) -> dict[str, Any]:
        """Adds classes to the file of a node, and gives its parameters their values.

        Raises :class:`~saltext.reclass.NodeNotFoundError` for a node without a file.
        """

    def delete_node(self, name: str, *, test: bool = False) -> dict[str, Any]:
        """Takes the file of a node away."""

@final
class Inventory:
    """An inventory, opened with the settings of a ``reclass-config.yml`` as keyword arguments.

    All objects for equal settings share one cache, process-wide. The object itself
    holds nothing but the settings: after a fork it works in the child as in the parent.
    All methods may be called from any thread.

    Raises :class:`~saltext.reclass.SettingsError` for a setting of the wrong type; an
    unknown one is a warning in the log ``saltext.reclass``.
    """

    def __new__(cls, **settings: Any) -> Inventory: ...
    def nodes(
        self,
        *globs: str,
        classes: Sequence[str] | None = None,
        applications: Sequence[str] | None = None,
        environments: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
    ) -> list[str]:
        """The names of all nodes, sorted, or of those that pass all filters.

        ``classes``, ``applications`` and ``environments`` are globs, ``parameters`` are
        paths as for :meth:`explain`, ``files`` are files that have a part in the node.
        """

    def classes(self, *globs: str) -> list[dict[str, Any]]:
        """The classes, each with ``name``, ``file`` and ``nodes``."""

    def applications(self, *globs: str) -> list[dict[str, Any]]:
        """The applications, each with ``name`` and ``nodes``."""

    def params(
        self, *paths: str, nodes: Sequence[str] | None = None, show_secrets: bool = False
    ) -> list[dict[str, Any]]:
        """The parameters, each with ``path``, the ``places`` that set it, and ``nodes``."""

    def refs(self, *paths: str) -> list[dict[str, Any]]:
        """What refers to parameters; see ``docs/listings.md``."""

    def explain(
        self,
        node: str,
        *paths: str,
        exports: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        applications: Sequence[str] | None = None,
        environment: str | None = None,
        show_secrets: bool = False,
        plain: bool = False,
    ) -> dict[str, Any]:
        """Where the values of a node come from; ``docs/explain.md`` describes the answer.

        Paths are as in references, ``linux:system:name``; keys may be globs, ``**`` is any
        number of keys. With nothing chosen, everything is explained. Values have the types that
        PyYAML gives them, unless they are to be ``plain``, as ``reclass explain -o json`` prints them.

        Raises :class:`~saltext.reclass.ReclassError` with the code ``nothing-to-explain``
        for a path, class or application that the node does not have.
        """

    def lint(self, *nodes: str) -> list[dict[str, Any]]:
        """The findings of ``reclass lint``, notes included; see ``docs/lint.md``."""

    def diff(
        self, old: str, new: str = ".", *nodes: str, show_secrets: bool = False, plain: bool = False
    ) -> dict[str, Any]:
        """What differs between two states of the inventory; see ``docs/diff.md``.

        A state is a git revision, the base folder of an inventory, or ``.`` for this one. ``plain`` is
        that of :meth:`explain`.
        """

    def cache_info(self) -> dict[str, Any]:
        """What this process remembers of the inventory, and what was done for it.

        ``hits`` and ``misses`` count answers given again and computed (also
        ``nodes_computed``), ``files_read``, ``files_parsed``, ``trees_listed``,
        ``layers_merged`` and ``exports_computed`` the work behind them. Of
        ``nodes_evaluated`` every parameter was evaluated, of ``nodes_evaluated_partly``
        those that another node with the same classes does not have. ``answers`` and
        ``files`` are kept now, in about ``answers_memory`` and ``files_memory`` bytes;
        ``answers_limit`` is the setting ``cache_size`` in bytes. ``objects_memory`` is about how
        many bytes what Python objects are copied from takes, of the whole process.
        ``last_full_check`` is when every file was last looked at, in seconds since 1970,
        ``watching`` whether the kernel tells of changes.
        """

    def nodeinfo(self, name: str, environment: str | None = None) -> dict[str, Any]:
        """What ``reclass --nodeinfo`` prints of a node.

        The keys are ``__reclass__``, ``classes``, ``applications``, ``parameters``,
        ``exports`` and ``environment``. Values have the types that PyYAML gives them.
        ``environment`` replaces the environment of the node.
        """

    def inventory(self) -> dict[str, Any]:
        """What ``reclass --inventory`` prints: ``__reclass__``, ``nodes``, ``classes``, ``applications``."""

    def pillar(
        self, minion_id: str, pillar: Mapping[str, Any] | None = None, environment: str | None = None
    ) -> dict[str, Any]:
        """The pillar of a minion: its parameters, and ``__reclass__``.

        ``__reclass__`` has ``nodename``, ``applications``, ``classes`` and ``environment``.
        ``pillar`` counts with the setting ``propagate_pillar_data_to_reclass``,
        ``environment`` with ``allow_adapter_env_override``; ``node_not_found`` says
        what a minion without a node gets.

        All values are of types that Salt carries to a minion unchanged: dates and
        timestamps are ISO 8601 strings, sets are lists.

        Raises :class:`~saltext.reclass.WireError` for what cannot be carried.
        """

    def top(self, minion_id: str, environment: str | None = None) -> dict[str, list[str]]:
        """The top of a minion: ``{environment: [applications]}``.

        Only the parameters that class names refer to are evaluated; problems with others are no
        errors here. With ``propagate_pillar_data_to_reclass``, a class name that may depend on the
        pillar is one.
        """

def configured(**settings: Any) -> dict[str, Any]:
    """The settings with those of the file that ``config_file`` names."""

def panic() -> None:
    """Panics inside of the engine, to show what a caller then sees: an ``InternalError``."""
