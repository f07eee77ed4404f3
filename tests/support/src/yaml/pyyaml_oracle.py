"""What PyYAML and Python make of YAML texts, as JSON lines.

Reads {"text": base64 of the bytes} and answers with one of
  {"error": class name, "line": number or null}    lines count from one
  {"value": faithful, "str", "repr", "json", "json_pretty", "yaml": [...]}
The printed forms are null where Python has no answer to compare with: sets have no order there.

Type-faithful: {"$int": hexadecimal} beyond 64 bits, {"$float": its 64 bits}, {"$date"},
{"$datetime"}, {"$binary"}, {"$set": in any order}, {"$tuple"}, and every mapping as {"$map": [[key, value]...]}
in its order.
"""

import base64
import datetime
import io
import json
import struct
import sys

import yaml


class Recursive(Exception):
    """A value that holds itself."""


def faithful(value, inside=()):
    if id(value) in inside:
        raise Recursive
    if isinstance(value, (list, tuple, set, dict)):
        inside = (*inside, id(value))
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else {"$int": hex(value)}
    if isinstance(value, float):
        return {"$float": "nan" if value != value else struct.pack(">d", value).hex()}
    if isinstance(value, datetime.datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"$date": value.isoformat()}
    if isinstance(value, bytes):
        return {"$binary": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [faithful(item, inside) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [faithful(item, inside) for item in value]}
    if isinstance(value, set):
        return {"$set": [faithful(item, inside) for item in value]}
    if isinstance(value, dict):
        return {"$map": [[faithful(key, inside), faithful(item, inside)] for key, item in value.items()]}
    raise TypeError(type(value))


def private(value, known):
    """A copy whose lists and mappings are all different objects; the rest keeps its identity."""
    if isinstance(value, list):
        return [private(item, known) for item in value]
    if isinstance(value, dict):
        return {key: private(item, known) for key, item in value.items()}
    if isinstance(value, tuple):
        if id(value) not in known:
            known[id(value)] = (value, tuple(private(item, known) for item in value))
        return known[id(value)][1]
    return value


def has_large_set(value):
    if isinstance(value, (list, tuple)):
        return any(has_large_set(item) for item in value)
    if isinstance(value, dict):
        return any(has_large_set(item) for item in value.values())
    return isinstance(value, set) and len(value) > 1


def for_json(value):
    """Ruling Y7: what json.dumps refuses."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple, set)):
        return [for_json(item) for item in value]
    if isinstance(value, dict):
        # Keys must stay distinct, even where their JSON is not.
        return Pairs((key_for_json(key), for_json(item)) for key, item in value.items())
    return value


class Pairs(dict):
    """A mapping that may hold a key twice."""

    def __init__(self, pairs):
        self.pairs = list(pairs)
        super().__init__({"": None} if self.pairs else {})

    def items(self):
        return self.pairs


def key_for_json(key):
    return for_json(key) if isinstance(key, (datetime.date, bytes)) else key


class PlainDumper(yaml.CSafeDumper):
    def ignore_aliases(self, data):
        return True


def answer(data):
    try:
        # Read in text mode, as the programs do.
        with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") as stream:
            value = yaml.load(stream, Loader=yaml.CSafeLoader)
        encoded = faithful(value)
    except RecursionError:
        return {"error": "RecursionError", "line": None}
    except Exception as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        message = str(getattr(error, "problem", None) or error)
        if message == "found unexpected end of stream" and "quoted scalar" in str(error.context):
            # We name the quote that is not closed, PyYAML names the end of the file.
            mark = error.context_mark
        return {"error": type(error).__name__, "line": mark and mark.line + 1, "message": message}
    result = {"value": encoded}
    if not has_large_set(value):
        value = private(value, {})
        try:
            result["str"] = str(value)
            result["repr"] = repr(value)
            plain = for_json(value)
            result["json"] = json.dumps(plain, separators=(",", ":"))
            result["json_pretty"] = json.dumps(plain, indent=2, separators=(",", ": "))
            result["yaml"] = [
                yaml.dump(value, Dumper=dumper, default_flow_style=not pretty)
                for pretty in (True, False)
                for dumper in (yaml.CSafeDumper, PlainDumper)
            ]
        except (ValueError, RecursionError):
            # Integers too long to print, values too deep to walk.
            return {"value": encoded}
    return result


def main():
    sys.setrecursionlimit(20000)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(answer(base64.b64decode(job["text"]))), flush=True)


if __name__ == "__main__":
    main()
