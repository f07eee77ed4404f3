from collections.abc import Mapping
from typing import Any, final

__all__ = ["Inventory", "__version__", "panic"]

__version__: str

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
    def nodes(self) -> list[str]:
        """The names of all nodes, sorted."""

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
        """The top of a minion: ``{environment: [applications]}``."""

def panic() -> None:
    """Panics inside of the engine, to show what a caller then sees: an ``InternalError``."""
