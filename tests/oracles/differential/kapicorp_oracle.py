"""What kapicorp-reclass answers about inventories, as JSON lines.

Reads {"directory", "settings", "rulings": [...]} and answers {"nodes": {name: result}}, or
{"storage": result} where the inventory cannot be listed. A result is one of
  {"value": nodeinfo without its time stamp, "warned": whether there was a warning}
  {"error": class name, "rc": exit code, "message"}       an exception of reclass
  {"uncaught": class name, "where": function, "message"}  an ordinary Python exception
  {"timeout": true}

Every node has a Core of its own and parsed values of its own: reclass keeps state in them, and
one node's parameters leak into the next. Directory entries are sorted.

Without rulings this is reclass as it is, only faster. `kapicorp_rulings.py` and `kapicorp_queries.py`
have the code that a ruling replaces.
"""

import contextlib
import copy
import functools
import gc
import io
import json
import os
import pathlib
import signal
import sys
import traceback
import typing

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support/src/yaml"))

import kapicorp_queries  # noqa: F401 - replaces what rulings correct
import pyparsing
import yaml
from kapicorp_rulings import RULED, STORAGE, NameParser
from pyyaml_oracle import faithful
from reclass import core, errors
from reclass import settings as reclass_settings
from reclass.storage import yaml_fs, yamldata
from reclass.storage.yaml_fs import directory
from reclass.values import parser_funcs
from reclass.values.parser import Parser
from reclass.values.value import Value
from reclass.values.valuelist import ValueList

SECONDS = 10


class Timeout(BaseException):
    """A node took too long."""


# ---- reclass as it is, faster and in a fixed order -------------------------------------------

_walk = os.walk


def sorted_walk(*arguments, **keywords):
    for folder, folders, files in _walk(*arguments, **keywords):
        folders.sort()
        files.sort()
        yield folder, folders, files


class SortedOs:
    """The module os, whose walk is sorted."""

    walk = staticmethod(sorted_walk)

    def __getattr__(self, name):
        return getattr(os, name)


directory.os = SortedOs()

# A file is read once for all nodes; what it says is data that nothing changes.
from_file = functools.lru_cache(None)(yamldata.YamlData.from_file)
yamldata.YamlData.from_file = from_file

# Nobody reads the tracebacks that exceptions keep.
errors.traceback.format_exc = lambda: ""


# The error of a query that merges with something asks for its text, which is not there.
ValueList.contents = property(str)


class Remembered:
    """A grammar that reads each text once."""

    def __init__(self, grammar):
        self.read = functools.lru_cache(200)(functools.partial(self.first, grammar))

    @staticmethod
    def first(grammar, text):
        try:
            return parser_funcs.listify(grammar.parseString(text)), None
        except pyparsing.ParseException as error:
            return None, error

    def parseString(self, text):
        tokens, error = self.read(text)
        if error is not None:
            raise error
        return Tokens(tokens)


class Tokens(list):
    """What a grammar found."""

    def asList(self):
        return copy.deepcopy(list(self))


# Grammars are built once for each set of sentinels. reclass mixes them up when settings change.
expression_parser = Remembered(parser_funcs.get_expression_parser())
parser_funcs.get_expression_parser = lambda: expression_parser
parsers: dict[typing.Any, Parser] = {}


def use_parser(settings):
    key = (
        str(settings.reference_sentinels),
        str(settings.export_sentinels),
        settings.escape_character,
        "R13" in RULED,
    )
    parser = parsers.get(key)
    if parser is None:
        parser = parsers[key] = Parser()
        grammars = (parser_funcs.get_ref_parser(settings), parser_funcs.get_simple_ref_parser(settings))
        if "R13" in RULED:
            for grammar in grammars:
                grammar.parse_with_tabs()
        parser._ref_parser, parser._simple_parser = map(Remembered, grammars)
    parser._old_settings = settings
    Value._parser = parser
    core.Core._parser = NameParser(parser)


_get_inventory = core.Core._get_inventory


def quiet_inventory(*arguments):
    """What is noticed in other nodes for a query is not said of the node that asks."""
    with contextlib.redirect_stderr(io.StringIO()):
        return _get_inventory(*arguments)


core.Core._get_inventory = quiet_inventory


# ---- answers ---------------------------------------------------------------------------------


class Uncached:
    """A storage that gives everybody a node or class of their own (M10)."""

    def __init__(self, storage):
        self.storage = storage

    def get_node(self, name, settings):
        return self.storage.get_node(name, settings)

    def get_class(self, name, environment, settings):
        return self.storage.get_class(name, environment, settings)

    def enumerate_nodes(self):
        return sorted(self.storage.enumerate_nodes())


def failure(error):
    if isinstance(error, errors.ReclassException):
        try:
            message = error.message
        except Exception as inner:  # noqa: BLE001 - what reclass does is the answer
            message = repr(inner)
        return {"error": type(error).__name__, "rc": error.rc, "message": message}
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    where = [code.co_name for code in codes if f"{os.sep}reclass{os.sep}" in code.co_filename]
    where = "" if isinstance(error, RecursionError) or not where else where[-1]
    kind = "YAMLError" if isinstance(error, yaml.YAMLError) else type(error).__name__
    return {"uncaught": kind, "where": where, "message": str(error)[:200]}


def answer(name, storage, settings, mappings):
    warnings = io.StringIO()
    try:
        with contextlib.redirect_stderr(warnings):
            info = core.Core(Uncached(storage), mappings, settings).nodeinfo(name)
        del info["__reclass__"]["timestamp"]
        try:
            value = faithful(info)
        except (TypeError, RecursionError) as error:
            return {"uncaught": "leak", "where": "", "message": str(error)}
        return {"value": value, "warned": "[WARNING]" in warnings.getvalue()}
    except Exception as error:  # noqa: BLE001 - what reclass does is the answer
        return failure(error)


def expire(_number, _frame):
    raise Timeout


def answers(job):
    RULED.clear()
    RULED.update(job["rulings"])
    root = job["directory"]
    options = job["settings"]
    settings = reclass_settings.Settings(options)
    use_parser(settings)
    from_file.cache_clear()
    try:
        storage = STORAGE[0] = yaml_fs.ExternalNodeStorage(
            os.path.join(root, "nodes"), os.path.join(root, "classes"), settings.compose_node_name
        )
    except Exception as error:  # noqa: BLE001 - what reclass does is the answer
        return {"storage": failure(error)}
    results = {}
    for name in sorted(storage.enumerate_nodes()):
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            results[name] = answer(name, storage, settings, options.get("class_mappings"))
        except Timeout:
            results[name] = {"timeout": True}
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {"nodes": results}


def main():
    gc.set_threshold(50000)
    signal.signal(signal.SIGVTALRM, expire)
    for line in sys.stdin:
        print(json.dumps(answers(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
