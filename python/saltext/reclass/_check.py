"""Checks the configuration of a master and reports its inventories, problems and remarks.

`salt-run` switches to the user of the master before it calls a runner. So this process has the rights
of the master.
"""

from __future__ import annotations

import difflib
import logging
import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from saltext.reclass import _revision, _versions, guard
from saltext.reclass._salt import RefusedError, describe, is_of_master, settings_of
from saltext.reclass.errors import ReclassError

log = logging.getLogger(__name__)

# From here on a name is a slip in `reclass`: one letter is wrong, missing or too much, or two are exchanged.
_SIMILAR = 0.8
_ENTRIES = ("ext_pillar", "master_tops")
# Maximum number of entries that are listed; the others are counted.
_SHOWN = 10
# Seconds that a commit may wait for its test.
_PATIENCE = 60
_logged: set[str] = set()


def at_start(opts: Mapping[str, Any]) -> None:
    """Logs the invalid options of the master, once per process.

    Checks only settings and the outermost folders, because the inventory may be large.
    """
    if opts.get("__role") != "master":
        return
    if opts.get("__cli") == "salt-run":
        # It shows the error of the command itself.
        _folder_of_jobs(opts)
        return
    texts = [f"the configuration of the master cannot work: {problem}" for problem in _forms(opts)]
    for places, given in configured(opts):
        begin = f"the options of reclass in {' and '.join(places)} cannot work"
        texts += [f"{begin}: {problem}" for problem in _options(given, opts)[1]]
    for text in texts:
        if text not in _logged:
            _logged.add(text)
            log.error("%s", text)
    if is_of_master(opts):
        _forget_served(opts)


def _folder_of_jobs(opts: Mapping[str, Any]) -> None:
    """Makes the folder in which `salt-run` notes the job before it calls a runner.

    The master makes it at its first start. A setup is checked before that.
    """
    # Who may not make it gets Salt's own error.
    with suppress(OSError):
        Path(str(opts.get("cachedir") or os.devnull), "proc").mkdir(mode=0o750, parents=True, exist_ok=True)


def _forget_served(opts: Mapping[str, Any]) -> None:
    """Forgets which revisions were served, if no inventory tests them now."""
    try:
        from saltext.reclass._engine import Inventory

        known = [settings_of(given, opts) for _, given in configured(opts)]
        fixed = [
            str(one.get("serve", "now")) == "now" or one.get("git_revision") is not None for one in known
        ]
        if all(fixed):
            for settings in known:
                Inventory(**settings).forget_served()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001 - options that cannot work have their own line
        return


def check(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The report; ``retcode`` is 1 if there are problems."""
    report: dict[str, Any] = {"user": _user(os.geteuid()), "inventories": []}
    problems = _forms(opts)
    entries = configured(opts)
    if not entries and not problems:
        problems.append("no inventory is configured: neither ext_pillar nor master_tops has 'reclass'")
    remarks = []
    if len(entries) > 1:
        remarks.append(
            "the entries of ext_pillar and master_tops have different options; with 'serve', new revisions "
            "of the same nodes are tested by those of the first entry of ext_pillar alone"
        )
    tops = isinstance(opts.get("master_tops") or {}, Mapping)
    if entries and tops and not any("master_tops" in places for places, _ in entries):
        remarks.append("master_tops has no 'reclass': the applications of the nodes are no states")
    if entries and not any("ext_pillar" in places for places, _ in entries):
        remarks.append("ext_pillar has no 'reclass': minions get no pillar from it")
    for places, given in entries:
        with _warnings(remarks):
            inventory, wrong = _options(given, opts)
        if not wrong:
            with _warnings(remarks):
                wrong = _contents(inventory, settings_of(given, opts), remarks)
        report["inventories"].append({"configured": places, **inventory})
        problems += wrong
    report["guard"], wrong = _guard(opts)
    problems += wrong
    report["versions"] = _versions.versions(opts)
    problems += _versions.problems(report["versions"])
    remarks += _versions.remarks(report["versions"])
    # The log has a line for stale data too.
    remarks = [remark for remark in remarks if not remark.startswith(tuple(problems))]
    return {
        **report,
        "problems": problems,
        "remarks": list(dict.fromkeys(remarks)),
        "retcode": 1 if problems else 0,
    }


def _forms(opts: Mapping[str, Any]) -> list[str]:
    """The problems of the options `ext_pillar` and `master_tops` themselves."""
    try:
        from saltext.reclass._engine import setting_names
    except ImportError:
        # The look at the options of an inventory says why.
        setting_names = []
    problems = []
    pillars, tops = opts.get("ext_pillar") or [], opts.get("master_tops") or {}
    if not isinstance(pillars, list):
        problems.append("ext_pillar must be a list, with '- reclass:' below it. Now no minion gets a pillar")
    elif not all(isinstance(entry, Mapping) for entry in pillars):
        problems.append(
            "each entry of ext_pillar must be a mapping, as '- reclass:' with options below it. Now no "
            "minion gets a pillar"
        )
    if not isinstance(tops, Mapping):
        problems.append(
            "master_tops must be a mapping, with 'reclass:' and no dash below it. Now the master does not "
            "answer minions that ask for states"
        )
    for option, entry in _mappings(opts):
        for name in map(str, entry):
            if name != "reclass" and difflib.get_close_matches(name.lower(), ["reclass"], cutoff=_SIMILAR):
                problems.append(f"{option} has {name!r}, which Salt does not know; it must be 'reclass'")
            elif "reclass" in entry and name in setting_names:
                problems.append(f"{option} has {name!r} beside 'reclass' and not below it: indent it further")
    return problems


def _mappings(opts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The entries of the two options, each with the name of its option."""
    pillars = opts.get("ext_pillar")
    entries = [("ext_pillar", entry) for entry in pillars] if isinstance(pillars, list) else []
    entries.append(("master_tops", opts.get("master_tops")))
    return [(option, entry) for option, entry in entries if isinstance(entry, Mapping)]


def configured(opts: Mapping[str, Any]) -> list[tuple[list[str], Any]]:
    """The entries for reclass without duplicates, each with the names of its options."""
    entries = [(option, entry) for option, entry in _mappings(opts) if "reclass" in entry]
    found: list[tuple[list[str], Any]] = []
    for place, entry in entries:
        given = entry["reclass"]
        for places, other in found:
            if other == given:
                places.append(place)
                break
        else:
            found.append(([place], given))
    return found


def _options(given: Any, opts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The folders of an inventory, and the problems of its settings and folders."""
    try:
        from saltext.reclass._engine import Editor, Inventory

        settings = settings_of(given, opts)
        Inventory(**settings)
        record = _record(settings)
        wrong = [text for path in record for text in _cache(path)]
        caches = _caches(settings)
        wrong += [text for path in caches for text in _cache(path)]
        read = {**({"git": caches} if caches else {}), **({"etcd": record} if record else {})}
        if not _is_in_folders(settings):
            return read, wrong
        folders = Editor(**settings).folders()
        wrong += [text for paths in folders.values() for path in paths for text in _folder(path)]
        return {**folders, **read}, wrong
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic is no `Exception`, and a master starts all the same
        return {}, [_text(error)]


def _contents(inventory: dict[str, Any], settings: Mapping[str, Any], remarks: list[str]) -> list[str]:
    """The problems of the files. Adds details to the report of the inventory."""
    folders = [path for name in ("nodes", "classes") for path in inventory.get(name, [])]
    unreadable, foreign = _files(folders)
    if unreadable:
        more = len(unreadable) - _SHOWN
        return [*unreadable[:_SHOWN], *([f"{more} more cannot be read"] if more > 0 else [])]
    wrong = []
    for folder in folders:
        lock = Path(folder, ".reclass.lock")
        if os.access(folder, os.W_OK) and lock.exists() and not os.access(lock, os.R_OK | os.W_OK):
            wrong.append(f"{_who()} cannot lock '{lock}' ({_rights(lock)}): nothing can be edited")
    if closed := [folder for folder in folders if not os.access(folder, os.W_OK)]:
        inventory["edits"] = f"no right to write '{closed[0]}' ({_rights(closed[0])})"
    elif foreign:
        # An edited file must keep its owner, and only root can change the owner of a file.
        inventory["edits"] = f"of own files only; {len(foreign)} are of other users, such as '{foreign[0]}'"
    elif folders:
        inventory["edits"] = "possible"
    try:
        from saltext.reclass._engine import Inventory

        opened = Inventory(**settings)
        inventory["node_count"] = len(opened.nodes())
        # The first request of a process only lists the folders; the watch begins with the second one.
        opened.nodes()
        watching = opened.cache_info()["watching"]
        state = opened.state()
        unmatched = opened.unmatched_canary()
        empty = [f"'{row['file']}' is empty: a full disk leaves such files" for row in opened.empty_files()]
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic is no `Exception`
        return [*wrong, _text(error)]
    more = len(empty) - _SHOWN
    named = [*empty[:_SHOWN], *([f"{more} more files are empty"] if more > 0 else [])]
    (wrong if settings.get("empty_files") == "error" else remarks).extend(named)
    inventory["revision"] = state["revision"]
    inventory["sources"] = state["sources"]
    wrong += [source["stale"] for source in state["sources"] if "stale" in source]
    wrong += [*_held(opened, remarks), *([unmatched] if unmatched else [])]
    if files := _revision.uncommitted(settings, folders):
        others = f" and {len(files) - 1} more" if len(files) > 1 else ""
        remarks.append(
            "with the setting 'serve' no minion gets changes that are in no commit, as those of "
            f"'{files[0]}'{others}"
        )
    reads_files = folders and "git" not in inventory
    if reads_files:
        inventory["changes"] = "the kernel reports them (inotify)" if watching else "stamps are compared"
    else:
        interval = settings.get("git_fetch_interval", 60)
        inventory["changes"] = f"the repositories are fetched again after {interval} s"
    if reads_files and not watching and settings.get("cache", "auto") in ("auto", "inotify"):
        remarks.append(
            "the folders cannot be watched, so each answer compares the stamps of all files it depends on. "
            "Possible causes: the file system is not a local one, something is mounted inside, there are "
            f"symbolic or hard links, or inotify has no room left: {_inotify()}"
        )
    return wrong


def _held(inventory: Any, remarks: list[str]) -> list[str]:
    """The problems of a revision that is not served to all nodes (`serve`)."""
    delivery = inventory.delivery()
    if delivery is None:
        return []
    if trial := delivery.get("trial"):
        remarks.append(
            f"revision {trial['revision']} is on trial with {_count(trial['nodes'])} for "
            f"{trial['seconds']} seconds: reclass.promote, reclass.abort"
        )
    tested = delivery["tested"]
    if delivery["is_first"]:
        remarks.append(
            f"revision {tested} was tested without an earlier one, because none is known (a new master, or a "
            "lost record): what fails in it has no pillar, and no node got it before the others"
        )
    if delivery["is_aborted"]:
        remarks.append(
            f"revision {tested} is served to none, and minions have {delivery['served']}, because its trial "
            "was aborted: the next revision is tested again"
        )
    told = []
    if delivery["distrusted"]:
        told.append(
            "the record of the revisions that are served could not be believed (its content, its owner or "
            "its rights): the last decision that a process knew is kept until the next revision is tested"
        )
    if delivery.get("waiting", 0) > _PATIENCE:
        told.append(
            f"revision {delivery['fetched']} was fetched {delivery['waiting']} seconds ago and is not "
            f"tested, and minions have {delivery['served']}: the process that tests takes long or hangs. "
            "It is the engine 'reclass', or another process of the master"
        )
    for first in delivery["first"]:
        told.append(
            f"{_named(first['nodes'])} without a pillar in revision {tested}, and no earlier commit "
            f"is known: {first['problem']}"
        )
    for held in delivery["held"]:
        begin = f"the newest revision is not served to {_named(held['nodes'])} that it breaks"
        if revision := held.get("revision"):
            begin = f"an earlier one is served to {_named(held['nodes'])} that revision {revision} breaks"
        elif not delivery["is_served"]:
            begin = (
                f"revision {tested} is served to none, and minions have {delivery['served']}: it breaks "
                f"{_named(held['nodes'])}"
            )
        told.append(f"{begin}: {held['problem']}")
    return told


def _named(nodes: list[str]) -> str:
    """The number of nodes with the first names."""
    more = [f"{len(nodes) - _SHOWN} more"] if len(nodes) > _SHOWN else []
    return f"{_count(nodes)} ({', '.join([*nodes[:_SHOWN], *more])})"


def _count(nodes: list[str]) -> str:
    return f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}"


def _guard(opts: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The copies of our modules that Salt prefers to those of the package, and the problems of copies."""
    folders = [*(opts.get("module_dirs") or []), opts.get("extension_modules") or os.devnull]
    found, wrong = [], []
    for source, copy in [pair for folder in folders for pair in guard.copies(Path(folder))]:
        try:
            if copy.read_bytes() == source.read_bytes():
                found.append(str(copy))
            else:
                wrong.append(
                    f"Salt uses '{copy}' in place of the module of the package, and it differs from that: "
                    f"remove it, or run: python -m saltext.reclass.guard '{copy.parent.parent}'"
                )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            wrong.append(f"{_who()} cannot read '{copy}' ({_rights(copy)})")
    return found, wrong


def _text(error: BaseException) -> str:
    """The text of an error. An error whose text says nothing is also logged."""
    return str(error) if isinstance(error, (ReclassError, RefusedError)) else describe(error)


def _folder(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [f"'{path}' is not there, or {_who()} cannot reach it"]
    if not os.access(path, os.R_OK | os.X_OK):
        return [f"{_who()} cannot read the folder '{path}' ({_rights(path)})"]
    return []


def _files(roots: list[str]) -> tuple[list[str], list[str]]:
    """The folders and YAML files that cannot be read, and the files of other users, except hidden ones."""
    failed: list[str] = []
    foreign: list[str] = []
    user = os.geteuid()

    def closed(error: OSError) -> None:
        failed.append(str(error.filename))

    for root in roots:
        for folder, names, files in os.walk(root, onerror=closed):
            names[:] = [name for name in names if not name.startswith(".")]
            for name in files:
                path = os.path.join(folder, name)
                if name.startswith(".") or not name.endswith((".yml", ".yaml")) or not os.path.exists(path):
                    continue
                if not os.access(path, os.R_OK):
                    failed.append(path)
                if user not in (0, os.stat(path).st_uid):
                    foreign.append(path)
    return [f"{_who()} cannot read '{path}' ({_rights(path)})" for path in failed], foreign


def _is_in_folders(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("storage_type", "yaml_fs")) == "yaml_fs"


def _caches(settings: Mapping[str, Any]) -> list[str]:
    """The folders of cached repositories and of their locks."""
    trees: list[Mapping[str, Any]] = []
    if _revision.is_of_commits(settings):
        # The commits of the work tree are fetched, too.
        trees.append({"storage_type": "yaml_git"})
    for name in ("nodes_uri", "classes_uri"):
        tree = settings.get(name)
        if isinstance(tree, Mapping):
            trees.append(tree)
            overrides = [entry for entry in tree.get("env_overrides") or [] if isinstance(entry, Mapping)]
            options = [more for entry in overrides for more in entry.values()]
            trees += [{**tree, **more} for more in options if isinstance(more, Mapping)]
    base = os.path.expanduser(str(settings.get("inventory_base_uri") or "."))
    found = []
    for tree in trees:
        if tree.get("storage_type", settings.get("storage_type")) == "yaml_git":
            for option, default in (("cache_dir", "cache"), ("lock_dir", "lock")):
                path = str(tree.get(option) or f"~/.reclass/git/{default}")
                found.append(os.path.abspath(os.path.join(base, os.path.expanduser(path))))
    return list(dict.fromkeys(found))


def _record(settings: Mapping[str, Any]) -> list[str]:
    """The folder of the record of etcd, if etcd is asked."""
    if not settings.get("etcd_endpoints"):
        return []
    base = os.path.expanduser(str(settings.get("inventory_base_uri") or "."))
    path = os.path.expanduser(str(settings.get("etcd_cache_dir") or "~/.reclass/etcd"))
    return [os.path.abspath(os.path.join(base, path))]


def _cache(path: str) -> list[str]:
    """The problems of a folder of repositories, locks or records. The folder need not exist yet."""
    there = Path(path)
    while not os.path.lexists(there) and there != there.parent:
        if there.parent.exists() and not os.access(there.parent, os.X_OK):
            return [f"{_who()} cannot reach '{path}': '{there.parent}' is closed ({_rights(there.parent)})"]
        there = there.parent
    help_ = f"run as root: chown -R {_user(os.geteuid())} '{path}'"
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        if str(there) != path:
            return [f"{_who()} cannot make '{path}': no right to write '{there}' ({_rights(there)})"]
        return [f"{_who()} cannot use '{path}' ({_rights(there)}); {help_}"]
    if str(there) != path:
        return []
    for entry in sorted(there.iterdir()):
        needed = os.R_OK | os.W_OK | (os.X_OK if entry.is_dir() else 0)
        if not os.access(entry, needed):
            return [f"{_who()} cannot use '{entry}' ({_rights(entry)}); {help_}"]
    return []


def _rights(path: str | Path) -> str:
    try:
        found = os.stat(path)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return f"mode {stat.S_IMODE(found.st_mode):04o} of user '{_user(found.st_uid)}'"


def _who() -> str:
    return f"user '{_user(os.geteuid())}'"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _inotify() -> str:
    folder = Path("/proc/sys/fs/inotify")
    limits = []
    for name in ("max_user_instances", "max_user_watches"):
        try:
            limits.append(f"fs.inotify.{name} = {(folder / name).read_text().strip()}")
        except OSError:
            continue
    return ", ".join(limits) or "its limits cannot be read"


@contextmanager
def _warnings(messages: list[str]) -> Iterator[None]:
    """Collects the warnings that the engine logs, such as that of an unknown setting."""
    logger = logging.getLogger("saltext.reclass")
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: record.name == logger.name)
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
