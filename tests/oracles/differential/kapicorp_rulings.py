"""What the rulings of docs/semantics.md correct in kapicorp-reclass: structure, merging, references.

A ruling in force replaces the part of reclass that it corrects, and nothing else: whoever differs
from reclass, but not from reclass with a ruling, differs by that ruling. What is not replaced is
reclass' own code. While no ruling is in force, nothing is.
"""

import contextlib
import copy
import functools
import io
import itertools
import json
import os
import typing

from pyyaml_oracle import faithful
from reclass import core, errors
from reclass.datatypes.classes import Classes
from reclass.datatypes.entity import Entity
from reclass.datatypes.parameters import Parameters
from reclass.storage import yamldata
from reclass.utils.dictpath import DictPath
from reclass.utils.parameterdict import ParameterDict
from reclass.values.compitem import CompItem
from reclass.values.invitem import InvItem
from reclass.values.refitem import RefItem
from reclass.values.scaitem import ScaItem
from reclass.values.value import Value
from reclass.values.valuelist import ValueList

# The rulings that are in force.
RULED: set[str] = set()
# The storage of the inventory, for what a ruling asks of it.
STORAGE: list[typing.Any] = [None]


def ruling(owner, name, *numbers):
    """Replaces a method while one of these rulings is in force."""
    original = getattr(owner, name)

    def replace(replacement):
        @functools.wraps(original)
        def method(*arguments, **keywords):
            if RULED.isdisjoint(numbers):
                return original(*arguments, **keywords)
            return replacement(original, *arguments, **keywords)

        setattr(owner, name, method)
        return replacement

    return replace


def child(container, part):
    """R10: an index is an index at every place of a path, and a bad one is missing."""
    if isinstance(container, (list, tuple)):
        try:
            return container[int(part)]
        except (ValueError, IndexError) as error:
            raise KeyError(part) from error
    return container[part]


@ruling(DictPath, "get_value", "R10")
def get_value(_original, self, base):
    return functools.reduce(child, self.path, base)


@ruling(DictPath, "_get_innermost_container", "R10")
def innermost_container(_original, self, base):
    return functools.reduce(child, self.path[:-1], base)


@ruling(DictPath, "set_value", "R10")
def set_value(original, self, base, value):
    container = self._get_innermost_container(base)
    if isinstance(container, list):
        container[int(self._get_key())] = value
    else:
        original(self, base, value)


@ruling(DictPath, "__eq__", "R10")
def equal(original, self, other):
    if isinstance(other, DictPath):
        return [str(part) for part in self._parts] == [str(part) for part in other._parts]
    return original(self, other)


@ruling(DictPath, "is_ancestor_of", "R10")
def is_ancestor_of(_original, self, other):
    mine, others = [str(part) for part in self._parts], [str(part) for part in other._parts]
    return len(mine) < len(others) and others[: len(mine)] == mine


@ruling(DictPath, "_split_string", "R8")
def split_string(original, self, string):
    return [part.replace("\\" + self._delim, self._delim) for part in original(self, string)]


def values_of(value):
    return value._values if isinstance(value, ValueList) else [value]


def embedded(item):
    """The references whose text is asked for, not their value."""
    if isinstance(item, (CompItem, InvItem)) and item.has_references:
        return list(item.get_references())
    if isinstance(item, RefItem):
        return item.get_references()[:-1] if item.allRefs else list(item.get_references())
    return []


def mapping_comes_in(value):
    return isinstance(value, ValueList) and any(isinstance(entry._item, RefItem) for entry in value._values)


class Prepared:
    """A value that lists its references only when what they need is there."""

    def __init__(self, value, prepare):
        self._value, self._prepare = value, prepare

    def __getattr__(self, name):
        return getattr(self._value, name)

    def get_references(self):
        self._prepare()
        return self._value.get_references()


@ruling(Parameters, "_interpolate_references", "R14", "R16", "order", "closed")
def interpolate_references(original, self, path, value, inventory):
    """Whatever a value needs is there before it is rendered: a place that only appears when
    the container above it is rendered ("order"), all that is inside of a container that becomes
    text (R14), and what is inside of one that merges ("closed")."""

    def render(ref, inside):
        target = DictPath(self._settings.delimiter, ref)
        while (place := first_unrendered(self, target, inside)) is not None:
            if self._unrendered[place] is False:
                raise errors.InfiniteRecursionError(path, ref, value.uri)
            self._interpolate_inner(place, inventory)

    def prepare():
        if "R16" in RULED and isinstance(value, ValueList):
            # Whether a reference replaces a text is known as soon as its name is.
            for entry in value._values:
                if isinstance(entry._item, RefItem):
                    for ref in embedded(entry._item):
                        render(ref, False)
            value.assembleRefs(self._base)
        counting = living(value, self._base) if "R16" in RULED else values_of(value)
        texts = {ref for entry in counting for ref in embedded(entry._item)}
        closed = "closed" in RULED and mapping_comes_in(value)
        for ref in value.get_references():
            render(ref, closed or ("R14" in RULED and ref in texts))

    original(self, path, Prepared(value, prepare), inventory)


def indexed(parameters, path):
    """A path whose indexes count from the start of their lists."""
    parts, container = [], parameters._base
    for part in path.path:
        found = part
        if isinstance(container, list):
            with contextlib.suppress(ValueError, IndexError):
                found = range(len(container))[int(part)]
        parts.append(found)
        try:
            container = container[found]
        except (KeyError, IndexError, TypeError):
            container = None
    return DictPath(parameters._settings.delimiter, parts)


def first_unrendered(parameters, target, inside):
    """The next place that a reference has to wait for: the outermost on the way to its target,
    then, if asked for, any inside of it."""
    unrendered = parameters._unrendered
    if "R10" in RULED:
        target = indexed(parameters, target)
    way = itertools.accumulate([part] for part in target.path)
    places = (DictPath(parameters._settings.delimiter, parts) for parts in way)
    found = (place for place in places if place in unrendered)
    if inside:
        found = itertools.chain(found, filter(target.is_ancestor_of, unrendered))
    return next(found, None)


def resolved(value, context):
    """A value without anything left to resolve, for comparing."""
    if isinstance(value, (Value, ValueList)):
        value.assembleRefs(context)
        return resolved(value.render(context, None), context)
    if isinstance(value, dict):
        return {key: resolved(item, context) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, context) for item in value]
    return value


def same(one, other, context):
    one, other = (json.dumps(faithful(resolved(each, context)), sort_keys=True) for each in (one, other))
    return one == other


@ruling(ValueList, "render", "M5")
def render_constant(original, self, context, inventory):
    """M5: setting the same value again is not a change, and is left out."""
    end = next((n for n, entry in enumerate(self._values, 1) if entry.constant), None)
    if end is None or not self._settings.strict_constant_parameters:
        return original(self, context, inventory)
    shortened = copy.copy(self)
    shortened._values = self._values[:end]
    output = original(shortened, context, inventory)

    def repeats(entry):
        try:
            return same(output, entry.render(context, inventory), context)
        except errors.ResolveError:
            return False

    changes = list(itertools.dropwhile(repeats, self._values[end:]))
    if changes:
        shortened._values += changes
        output = original(shortened, context, inventory)
    return output


def is_scalar(item, base, seen=()):
    """Whether a value comes to a scalar, behind references too. What is not known yet is none."""
    if not isinstance(item, RefItem):
        return isinstance(item, (CompItem, ScaItem))
    try:
        reference = item._flatten_contents(base)
        found = DictPath(item._settings.delimiter, reference).get_value(base)
    except (KeyError, TypeError, errors.ResolveError):
        return False
    if reference in seen:
        return False
    if isinstance(found, (Value, ValueList)):
        return is_scalar(values_of(found)[-1]._item, base, (*seen, reference))
    return not isinstance(found, (dict, list))


def living(value, base):
    """R16: the values that count, without those that a `~` replaces, and without a text that a scalar
    replaces, which may be the value of a reference."""
    values = values_of(value)
    constant = next((n for n, entry in enumerate(values) if entry.constant), len(values))
    replacing = [n for n, entry in enumerate(values) if entry.overwrite and n <= constant]
    begin = replacing[-1] if replacing else 0

    def replaced(n):
        text, later = values[n], values[n + 1 : n + 2]
        return (
            n < constant
            and isinstance(text._item, CompItem)
            and any(is_scalar(entry._item, base) for entry in later)
        )

    return [entry for n, entry in enumerate(values) if n >= begin and not replaced(n)]


@ruling(ValueList, "assembleRefs", "R16")
def assemble_living(original, self, context=None):
    context = {} if context is None else context
    living_values = copy.copy(self)
    living_values._values = living(self, context)
    original(living_values, context)
    self._refs, self.allRefs = living_values._refs, living_values.allRefs


REPLACED: list[typing.Any] = []


@ruling(ValueList, "render", "R16")
def render_living(original, self, context, inventory):
    living_values = copy.copy(self)
    living_values._values = living(self, context)
    if len(living_values._values) == len(self._values):
        return original(self, context, inventory)
    REPLACED.append((self, context, inventory))
    return original(living_values, context, inventory)


@ruling(Parameters, "interpolate", "R16")
def interpolate_replaced(original, self, inventory=None):
    """What was replaced is looked at when all else is known, for R6."""
    REPLACED.clear()
    with contextlib.suppress(errors.ResolveErrorList):
        original(self, inventory)
    pending, REPLACED[:] = list(REPLACED), []
    for values, context, _ in pending:
        for entry in values._values:
            entry.assembleRefs(context)
            if not entry.allRefs:
                raise errors.BadReferencesError(entry.get_references(), "", entry.uri)
        RULED.discard("R16")
        try:
            values.render(context, inventory)
        except errors.ResolveError as error:
            self.resolve_errors.add(error)
        finally:
            RULED.add("R16")
    if self.resolve_errors.have_errors():
        raise self.resolve_errors


def with_typed_keys(merged, written):
    """A merged mapping with the keys as they are written."""
    typed = {str(key): key for key in written}

    def inner(key, value):
        below = written.get(typed.get(key))
        is_plain = isinstance(value, dict) and isinstance(below, dict)
        return with_typed_keys(value, below) if is_plain else value

    return {typed.get(key, key): inner(key, value) for key, value in merged.items()}


@ruling(Parameters, "_merge_dict", "M9", "M6")
def merge_dict(original, self, cur, new):
    """M9: prefixes below a key that a prefix makes a value of its own, whose keys keep their types (M7).
    M6: an empty key, and one that is a prefix alone."""
    prefixes = self._settings.dict_key_prefixes

    def plain(entry):
        key = str(entry[0])
        return key == "" or (key in prefixes and "M6" in RULED)

    def unprefixed_inside(key, value):
        prefixed = str(key)[0] in prefixes or any(f"{prefix}{key}" in new for prefix in prefixes)
        if "M9" not in RULED or not isinstance(value, dict) or not prefixed:
            return value
        inner = with_typed_keys(self._merge_recurse(None, value), value)
        return Value(inner, self._settings, self._uri, parse_string=self._parse_strings)

    for alone, run in itertools.groupby(new.items(), plain):
        if alone:
            cur.update((str(key), self._merge_recurse(cur.get(str(key)), value)) for key, value in run)
        else:
            ready = {key: unprefixed_inside(key, value) for key, value in run}
            original(self, cur, ParameterDict(ready, uri=new.uri))
    return original(self, cur, ParameterDict(uri=new.uri))


class NameParser:
    """What reads the class names that contain references."""

    def __init__(self, parser):
        self._parser = parser

    def parse(self, text, settings):
        if RULED.isdisjoint(("S4", "S7")):
            return self._parser.parse(text, settings)
        return ResolvedName(Value(text, settings, ""), settings)


class ResolvedName:
    """S4: a class name sees values that are references themselves."""

    def __init__(self, name, settings):
        self._name, self._settings = name, settings

    def render(self, context, _inventory):
        known = Parameters(None, self._settings, "")
        known._base = context
        known.initialise_interpolation()
        place = DictPath(self._settings.delimiter, ["class"])
        # What is missing now may come later: R6 is about the end.
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                known._interpolate_references(place, self._name, None)
            except errors.BadReferencesError as error:
                raise errors.ResolveError(str(self._name)) from error
            if known.resolve_errors.have_errors():
                raise errors.ResolveError(str(self._name))
            return resolved(self._name, known._base)


@ruling(yamldata.YamlData, "get_entity", "S5")
def get_entity(original, self, name, pathname, settings):
    """S5: in an init.yml a relative name that does not exist is what the documents say."""
    known = STORAGE[0]._classes
    names = self._data.get("classes") or []
    fixed = []
    for written in names:
        found = written
        if isinstance(written, str) and written.startswith("."):
            tried = self.set_absolute_names(name, [written])
            if os.path.basename(pathname) == "init" and "/" in pathname:
                tried += self.set_absolute_names(name + ".init", [written])
            tried += [each[: -len(".init")] for each in tried if each.endswith(".init")]
            found = next((each for each in tried if each in known), tried[0])
        fixed.append(found)
    if names != fixed:
        self._data = {**self._data, "classes": fixed}
    return original(self, name, pathname, settings)


@ruling(core.Core, "_get_class_mappings_entity", "S19")
def class_mappings(original, self, entity):
    """S19: a node at the top is tried as `./n` and as `n`."""
    if not self._settings.class_mappings_match_path or not entity.pathname.startswith("./"):
        return original(self, entity)
    mappings, classes = self._class_mappings, Classes()
    for mapping in mappings or []:
        for pathname in (entity.pathname, entity.pathname[2:]):
            tried = copy.copy(entity)
            tried._pathname = pathname
            self._class_mappings = [mapping]
            found = original(self, tried).classes.as_list()
            classes.merge_unique(found)
            if found:
                break
    self._class_mappings = mappings
    return Entity(self._settings, classes=classes, name="class mappings")


@ruling(core.Core, "_get_automatic_parameters", "S12")
def automatic_parameters(original, self, nodename, environment):
    """S12: the short name is the first label, and only folders make parts."""
    if not self._settings.automatic_parameters:
        return original(self, nodename, environment)
    parts, short = [nodename], nodename.split(".")[0]
    if self._settings.compose_node_name:
        folders = os.path.dirname(STORAGE[0]._nodes[nodename]).split(os.sep)
        stem = os.path.splitext(os.path.basename(STORAGE[0]._nodes[nodename]))[0]
        parts = [stem] if folders[0] == "" or folders[0].startswith("_") else [*folders, stem]
        short = parts[-1]
    automatic = original(self, nodename, environment)
    corrected = {"short": short, "path": os.path.join(*parts), "parts": parts}
    automatic._base["_reclass_"]["name"].update(automatic._wrap_dict(corrected))
    return automatic
