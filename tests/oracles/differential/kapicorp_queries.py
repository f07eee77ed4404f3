"""What the rulings of docs/semantics.md correct in kapicorp-reclass: exports and queries."""

import contextlib
import copy
import functools
import types
import typing

import yaml
from kapicorp_rulings import RULED, living, ruling, values_of
from reclass import core, errors
from reclass.datatypes.exports import Exports
from reclass.datatypes.parameters import Parameters
from reclass.utils.dictpath import DictPath
from reclass.values.compitem import CompItem
from reclass.values.invitem import InvItem
from reclass.values.value import Value
from reclass.values.valuelist import ValueList


@ruling(InvItem, "_parse_expression", "Q4")
def parse_expression(original, self, expression):
    original(self, expression)
    self.ignore_failed_render = self.ignore_failed_render or self._settings.inventory_ignore_failed_render


def single(queries):
    """The queries one by one, those that merge with others too: the options of each are its own.
    What is replaced is not asked (R16)."""

    def entries(value):
        # No reference brings a query, so the values that references bring need not be known.
        return living(value, {}) if "R16" in RULED else values_of(value)

    return queries and [
        (path, entry) for path, value in queries for entry in entries(value) if entry.has_inv_query
    ]


@ruling(core.Core, "_get_inventory", "Q4")
def inventory_of_readable(original, self, all_envs, environment, queries):
    """Q4: whatever keeps a node from being read, `inventory_ignore_failed_node` leaves it out."""
    queries = single(queries)
    if not self._settings.inventory_ignore_failed_node:
        return original(self, all_envs, environment, queries)
    readable = []
    for name in self._storage.enumerate_nodes():
        with contextlib.suppress(errors.ReclassException, yaml.YAMLError, RecursionError):
            self._storage.get_node(name, self._settings)
            self._node_entity(name)
            readable.append(name)
    storage = self._storage
    self._storage = copy.copy(storage)
    self._storage.enumerate_nodes = lambda: readable
    try:
        return original(self, all_envs, environment, queries)
    finally:
        self._storage = storage


class Forgiving:
    """Parameters or exports in which whatever fails counts as a reference that is missing, and
    is as if it had not begun."""

    def __init__(self, parameters):
        self._parameters = parameters

    def __getattr__(self, name):
        found = getattr(self._parameters, name)
        return functools.partial(self._call, found) if callable(found) else found

    def _call(self, method, *arguments):
        try:
            return method(*arguments)
        except errors.InterpolationError as error:
            if isinstance(method.__self__, Parameters) and not isinstance(method.__self__, Exports):
                self._parameters._unrendered.update(dict.fromkeys(self._parameters._unrendered, True))
            raise errors.ResolveError("") from error


# Marks a part of an export that fails.
GONE = object()


def left(value):
    if isinstance(value, dict):
        return {key: left(item) for key, item in value.items() if item is not GONE}
    if isinstance(value, list):
        return [left(item) for item in value if item is not GONE]
    return value


def spoiled(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is GONE or any(map(spoiled, inside))


@ruling(DictPath, "delete", "Q4")
def delete(_original, self, base):
    """Q4: the parts of a list keep their places until all of them are known."""
    self.set_value(base, GONE)


@ruling(Exports, "as_dict", "Q4")
def exports_as_dict(original, self):
    return left(original(self))


@ruling(Exports, "_interpolate_single_path_from_external", "Q4")
def interpolate_single_path(original, self, mainpath, external, query):
    """Q4: whatever fails an export, behind references too, fails the queries that need it, and
    is left out of those that ignore errors."""
    ignored = query.ignore_failed_render
    ignored = ignored() if callable(ignored) else ignored
    external._settings = copy.copy(external._settings)
    external._settings.group_errors = False
    place = self._base
    for part in mainpath.path:
        place = place.get(part) if isinstance(place, dict) else place
    if not ignored and spoiled(place):
        raise errors.ResolveError(str(mainpath))
    if ignored:
        self, external = Forgiving(self), Forgiving(external)
    original(self, mainpath, external, types.SimpleNamespace(ignore_failed_render=lambda: ignored))


@ruling(Parameters, "_render_simple_container", "Q1")
def render_simple_container(original, self, container, *what):
    """Q1: a query counts at every place, even in a mapping that merges with another."""
    original(self, container, *what)
    key, value, path = what
    if isinstance(value, ValueList) and value.is_complex:
        for entry in value._values:
            if entry.is_container():
                found = queries_in(entry.contents)
                self._inv_queries.extend((path.new_subpath(key), query) for query in found)
        self.needs_all_envs |= any(query.needs_all_envs for _, query in self._inv_queries)


def embeds_query(item):
    return len(item.contents) > 1 and any(isinstance(part, InvItem) for part in item.contents)


def is_complex(item):
    """Q5: text around a query is checked when its value is needed, like all that has to be resolved."""
    return item.has_references or ("Q5" in RULED and embeds_query(item))


CompItem.is_complex = property(is_complex)


@ruling(CompItem, "render", "Q5")
def render_composite(original, self, context, inventory):
    """Q5: a query is the whole string."""
    if embeds_query(self):
        raise errors.ExpressionError(f"A query must stand alone: {self}", tbFlag=False)
    return original(self, context, inventory)


def queries_in(value):
    if isinstance(value, (Value, ValueList)):
        if value.has_inv_query:
            yield value
        for entry in values_of(value):
            if entry.is_container():
                yield from queries_in(entry.contents)
    elif isinstance(value, dict):
        for item in value.values():
            yield from queries_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from queries_in(item)


class Scoped(dict):
    """The exports of all nodes, and those of the environment alone."""

    own: typing.Any = None


@ruling(core.Core, "_get_inventory", "Q7")
def scoped_inventory(original, self, all_envs, environment, queries):
    """Q7: `+AllEnvs` counts for its own query."""
    queries = single(queries)
    if queries is None or not all_envs:
        return original(self, all_envs, environment, queries)
    inventory = Scoped(original(self, True, environment, [q for q in queries if q[1].needs_all_envs]))
    inventory.own = original(self, False, environment, [q for q in queries if not q[1].needs_all_envs])
    return inventory


@ruling(InvItem, "render", "Q7")
def render_scoped(original, self, context, inventory):
    if isinstance(inventory, Scoped) and not self.needs_all_envs:
        inventory = inventory.own
    return original(self, context, inventory)
