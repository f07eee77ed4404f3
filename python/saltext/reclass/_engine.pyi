from collections.abc import Mapping, Sequence
from typing import Any, final

__all__ = [
    "Editor",
    "Inventory",
    "__version__",
    "configured",
    "panic",
    "rustc_version",
    "setting_names",
    "was_remembered",
]

__version__: str
rustc_version: str
setting_names: list[str]
"""The names of all settings."""

@final
class Editor:
    """Edits the class and node files of an inventory, with the same settings as an :class:`Inventory`.

    An edit takes a lock, changes the bytes of one entry and keeps all other bytes. The file is replaced
    in one step or not at all. The result is a dict: ``path``, ``changed``, the texts ``before`` and
    ``after`` (``None`` for no file), their unified ``diff``, and their data, ``old`` and ``new``. Secrets
    are ``***``. ``hash_before`` and ``hash_after`` are the SHA-256 of the file as it is (``None`` for no
    file). With ``test``, nothing is written. Values that contain references or queries need ``interpolate``.

    Before a file is replaced, the nodes that the edit touches are rendered with it. ``nodes`` has the numbers
    of those that were ``rendered``, ``changed`` and ``broken``; it is ``None`` if no byte changes or nothing
    renders. If a node breaks, the edit is refused (``edit-breaks``) without ``force``.

    Raises :class:`~saltext.reclass.ReclassError` with the codes ``edit-refused``, ``edit-reference``,
    ``edit-breaks``, ``name-refused``, ``path-refused``, ``node-exists``, ``file-unwritable`` and
    ``lock-timeout``, and :class:`~saltext.reclass.WireError` for an invalid value or string. In these cases
    no file has changed. With the code ``folder-unflushed`` the file has changed, but a crash of the system
    may undo it.
    """

    def __new__(cls, **settings: Any) -> Editor: ...
    def cluster_data(self, cluster: str = "", file_name: str = "", *, store: str = "file") -> dict[str, Any]:
        """The content of the metadata file of a cluster as written; an empty dict for no file.

        The file is ``classes/cluster/<cluster>/overrides.yml``, unless the settings ``cluster_folder``
        and ``cluster_file`` have other values. With ``store="etcd"``, the soft parameters of that class in
        etcd, in the same form.
        """

    def folders(self) -> dict[str, list[str]]:
        """The folders of the inventory: those of the ``classes``, and those of the ``nodes``."""

    def repositories(self) -> dict[str, dict[str, Any]] | None:
        """The repositories of the ``nodes`` and of the ``classes`` of an inventory in git, fetched now.

        Each has ``repo``, the served ``branch``, the ``root`` below its top, the ``folder`` of the bare
        repository with all commits, and ``heads``, the commits of all branches. ``None`` unless each of the
        two is one branch.
        """

    def push(self, tree: str, folder: str, commit: str, branch: str) -> str | None:
        """Pushes a commit of the bare repository ``folder`` to a branch of one of the ``repositories``.

        Returns ``None``, or the message of git if that fails.
        """

    def cluster_path(self, cluster: str = "", file_name: str = "", *, store: str = "file") -> str:
        """The path of the metadata file of a cluster. The file need not exist, but its folder must.

        With ``store="etcd"``, the prefix of its keys.
        """

    def set_cluster_param(
        self,
        name: str,
        value: Any,
        cluster: str = "",
        file_name: str = "",
        *,
        interpolate: bool = False,
        test: bool = False,
        force: bool = False,
        store: str = "file",
    ) -> dict[str, Any]:
        """Sets a soft parameter (``parameters:_param``) of a cluster to a value of any type of YAML.

        ``store`` is ``file`` or ``etcd``. In etcd, another process that changes the key meanwhile makes it an
        error with the code ``etcd-conflict``.
        """

    def delete_cluster_param(
        self,
        name: str,
        cluster: str = "",
        file_name: str = "",
        *,
        test: bool = False,
        force: bool = False,
        store: str = "file",
    ) -> dict[str, Any]:
        """Deletes a soft parameter of a cluster, if it exists. ``store`` is ``file`` or ``etcd``."""

    def sources(self, node: str | None = None) -> list[dict[str, Any]]:
        """All files of the inventory as written, or the file of one node.

        Each has its ``kind`` (``class`` or ``node``), ``name``, ``folder`` and ``path``, and ``data``, or
        ``error`` if it cannot be read.
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
        force: bool = False,
    ) -> dict[str, Any]:
        """Creates the file of a node in a folder below ``nodes_uri``, and a missing folder too.

        ``parameters`` are soft parameters. ``entries`` are other values, each with its keys from the top.
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
        force: bool = False,
    ) -> dict[str, Any]:
        """Adds classes to the file of a node, and sets its parameters.

        Raises :class:`~saltext.reclass.NodeNotFoundError` for a node without a file.
        """

    def delete_node(self, name: str, *, test: bool = False, force: bool = False) -> dict[str, Any]:
        """Deletes the file of a node."""

@final
class Inventory:
    """An inventory, opened with the settings of a ``reclass-config.yml`` as keyword arguments.

    All objects of a process with equal settings share one cache. An object contains only the
    settings, so after a fork it also works in the child. All methods may be called from any thread.

    Raises :class:`~saltext.reclass.SettingsError` for a setting of the wrong type. An unknown
    setting causes a warning in the log ``saltext.reclass``.
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
        """The sorted names of all nodes, or of those that pass all filters.

        ``classes``, ``applications`` and ``environments`` are globs. ``parameters`` are
        paths as for :meth:`explain`. ``files`` are files that the node uses.
        """

    def files(self) -> dict[str, dict[str, list[str]]]:
        """The files of all ``nodes`` and ``classes``: for each name, the paths of its files.

        A name with several files is no error here. Classes in git repositories are left out until a
        node needs them.
        """

    def classes(self, *globs: str) -> list[dict[str, Any]]:
        """The classes, each with ``name``, ``file`` and ``nodes``."""

    def empty_files(self) -> list[dict[str, Any]]:
        """The empty files of classes and nodes, each with ``name``, ``file`` and ``nodes``.

        A full disk leaves such files. The setting ``empty_files`` makes errors of them.
        """

    def applications(self, *globs: str) -> list[dict[str, Any]]:
        """The applications, each with ``name`` and ``nodes``."""

    def params(
        self, *paths: str, nodes: Sequence[str] | None = None, show_secrets: bool = False
    ) -> list[dict[str, Any]]:
        """The parameters, each with ``path``, ``nodes``, and the ``places`` that set it."""

    def refs(self, *paths: str) -> list[dict[str, Any]]:
        """The references to parameters; see ``docs/listings.md``."""

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
        """The provenance of the values of a node; ``docs/explain.md`` describes the answer.

        Paths are as in references, ``linux:system:name``. Keys may be globs; ``**`` matches any
        number of keys. Without paths and other arguments, everything is explained. Values have the
        types of PyYAML, or with ``plain`` those of JSON, as ``reclass explain -o json`` prints them.

        Raises :class:`~saltext.reclass.ReclassError` with the code ``nothing-to-explain``
        for a path, class or application that the node does not have.
        """

    def lint(self, *nodes: str) -> list[dict[str, Any]]:
        """The findings of ``reclass lint``, notes included; see ``docs/lint.md``."""

    def diff(
        self, old: str, new: str = ".", *nodes: str, show_secrets: bool = False, plain: bool = False
    ) -> dict[str, Any]:
        """The differences between two states of the inventory; see ``docs/diff.md``.

        A state is a git revision, the base folder of an inventory, or ``.`` for this inventory.
        ``plain`` has the same effect as in :meth:`explain`.
        """

    def impact(self, old: str, new: str = ".", *nodes: str) -> dict[str, Any]:
        """The nodes and paths that differ between two states, or that depend on a place or name, ``old``.

        See ``docs/fleet.md``. No value is in it.
        """

    def explain_text(self, node: str, *paths: str) -> str:
        """The text of ``reclass explain``, with secrets hidden."""

    def lint_text(self, *nodes: str) -> str:
        """The text of ``reclass lint``: errors and warnings with excerpts, and the number of notes."""

    def diff_text(self, old: str, new: str = ".", *nodes: str) -> tuple[str, bool]:
        """The text of ``reclass diff``, with secrets hidden, and whether anything differs."""

    def compare(
        self,
        pillars: Mapping[str, Any],
        *nodes: str,
        only: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        show_secrets: bool = False,
        plain: bool = False,
    ) -> dict[str, Any]:
        """The differences to the pillars of minions, with their causes; see ``docs/compare.md``.

        ``pillars`` are the pillars by minion. ``only`` and ``exclude`` are globs of their first keys.
        ``plain`` has the same effect as in :meth:`explain`.
        """

    def compare_text(
        self,
        pillars: Mapping[str, Any],
        *nodes: str,
        only: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
    ) -> tuple[str, bool]:
        """The text of ``reclass compare pillars:FILE``, with secrets hidden, and whether anything differs."""

    def status(self) -> dict[str, Any]:
        """What ``reclass status -o json`` prints. Renders all nodes, each in the state that it gets."""

    def delivery(self) -> dict[str, Any] | None:
        """The way of the newest commits to the minions; ``None`` unless commits are tested (``serve``).

        ``fetched``, ``tested`` and ``served`` are names of commits, ``is_served`` says whether any node gets
        those that were tested last. ``held`` are their errors, each a ``problem`` with the ``nodes`` that
        keep earlier commits, and with the ``revision`` that has it if the commits on trial would mend it;
        ``first`` those of commits that were tested without earlier ones. ``trial`` has
        ``revision``, ``since``, ``seconds`` and ``nodes``, ``waiting`` the seconds of commits that are not
        tested, and ``distrusted`` says that a record of all this could not be believed.
        """

    def last_delivery(self) -> dict[str, Any] | None:
        """The same as of the last fetch, without a look for newer commits."""

    def nodes_of_other_commits(self) -> list[str]:
        """The sorted names of the nodes that get other commits than most (``serve``)."""

    def end_trial(self, promote: bool) -> str | None:
        """Serves the newest revision to all nodes or to none. Returns its name; ``None`` without a trial."""

    def unmatched_canary(self) -> str | None:
        """The problem of a ``canary`` whose ``match`` matches no node."""

    def forget_served(self) -> None:
        """Forgets which revisions were served. Does nothing as long as revisions are tested."""

    def test_revisions(self) -> bool:
        """Makes this process the one that tests new revisions; ``False`` if another one does."""

    def cache_info(self) -> dict[str, Any]:
        """The sizes and counters of the caches of this inventory in this process.

        - ``hits``, ``misses``: number of cached and of computed answers; ``nodes_computed`` equals ``misses``
        - ``files_read``, ``files_parsed``, ``folders_listed``, ``layers_merged``, ``exports_computed``:
          number of these operations
        - ``nodes_evaluated``: number of nodes with all parameters evaluated
        - ``nodes_evaluated_partly``: number of nodes that reused values of a node with the same classes
        - ``answers``, ``files``: number in the cache
        - ``answers_memory``, ``files_memory``: approximate size of these in bytes
        - ``answers_limit``: the setting ``cache_size`` in bytes
        - ``objects_memory``: approximate size in bytes of the strings of Python, process-wide
        - ``last_full_check``: time of the last check of every file, in seconds since 1970
        - ``watching``: whether the kernel reports changes
        """

    def fetch_states(self) -> list[dict[str, Any]]:
        """The git repositories and the etcd of the inventory, as of the last question in this process.

        - ``source``: the repository without a password, or the servers of etcd
        - ``commits``: the commit of each branch in use
        - ``fetched``: time of the last fetch, in seconds since 1970; ``None`` before the first one
        - ``failed``: time of the last fetch that failed; ``None`` if none is known
        - ``stale``: why older data are served; ``None`` if they are fresh
        """

    def state(self) -> dict[str, Any]:
        """The state of the inventory, in the form of ``reclass status -o json``. Renders no node.

        - ``revision``: its name. Two equal names are one state
        - ``since``: the time when it began, if that is known
        - ``sources``: the repositories, the etcd and the folders. Each has ``source``, its name, and what is
          known of ``commits`` by branch, ``clean``, ``fingerprint``, ``fetched``, ``age``, ``failed`` and
          ``stale``
        """

    def nodeinfo(self, name: str, environment: str | None = None) -> dict[str, Any]:
        """The output of ``reclass --nodeinfo`` for a node.

        The keys are ``__reclass__``, ``classes``, ``applications``, ``parameters``,
        ``exports`` and ``environment``. Values have the types of PyYAML.
        The argument ``environment`` replaces the environment of the node.
        """

    def inventory(self) -> dict[str, Any]:
        """The output of ``reclass --inventory``.

        The keys are ``__reclass__``, ``nodes``, ``classes`` and ``applications``.
        """

    def pillar(
        self,
        minion_id: str,
        pillar: Mapping[str, Any] | None = None,
        environment: str | None = None,
        grains: Mapping[str, Any] | None = None,
        *,
        schemas: bool = False,
    ) -> dict[str, Any]:
        """The pillar of a minion: its parameters, and ``__reclass__``.

        ``__reclass__`` has ``nodename``, ``applications``, ``classes`` and ``environment``, and with the
        setting ``revision_in_pillar`` the ``revision``.
        The argument ``pillar`` requires the setting ``propagate_pillar_data_to_reclass``, and
        ``environment`` requires ``allow_adapter_env_override``; otherwise they are ignored. Of ``grains``,
        those of the minion, only those are read that the settings name. The setting
        ``node_not_found`` decides the answer for a minion without a node.

        All values have types that Salt carries to a minion unchanged: dates and
        timestamps are ISO 8601 strings, sets are lists.

        The setting ``schema_check`` decides what a pillar that breaks a schema of its parameters means; with
        ``schemas`` it is an error.

        Raises :class:`~saltext.reclass.WireError` for a value that Salt cannot carry.
        """

    def top(
        self, minion_id: str, environment: str | None = None, grains: Mapping[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """The top of a minion: ``{environment: [applications]}``.

        Only the parameters that class names refer to are evaluated, so problems with others are no
        errors here. With ``propagate_pillar_data_to_reclass``, a class name that may depend on the
        pillar is an error.
        """

def configured(**settings: Any) -> dict[str, Any]:
    """The settings, combined with those of the file in ``config_file``."""

def was_remembered() -> bool:
    """Whether the last pillar or top of this thread was remembered, with the setting ``metrics_file``."""

def panic() -> None:
    """Panics inside of the engine, for tests. The caller gets an ``InternalError``."""
