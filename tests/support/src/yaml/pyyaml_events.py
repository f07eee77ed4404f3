"""The events that PyYAML reads from YAML texts through libyaml, as JSON lines.

Reads {"text": base64 of the bytes} and answers {"events": [...], "error": ..., "refused": ...}.
An event is
  [name, start line, start column, end line, end column, anchor, tag, value, plain]
where the last two are those of a scalar. An error is null,
  ["syntax", context, line, column, problem, line, column]   what the scanner and the parser say
  ["unreadable", message]                                    bytes or characters that no text has
Where the events make no data, "refused" is [line, column, what is wrong].
Lines and columns count from zero.
"""

import base64
import io
import json
import sys

import yaml


def described(event):
    scalar = isinstance(event, yaml.ScalarEvent)
    tag = getattr(event, "tag", None)
    return [
        type(event).__name__.removesuffix("Event"),
        event.start_mark.line,
        event.start_mark.column,
        event.end_mark.line,
        event.end_mark.column,
        getattr(event, "anchor", None),
        None if tag == "!" else tag,
        event.value if scalar else None,
        event.implicit[0] if scalar else None,
    ]


def place(mark):
    return [mark.line, mark.column] if mark else [0, 0]


def answer(data):
    events = []
    try:
        # Read in text mode, as the programs do.
        with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") as stream:
            for event in yaml.parse(stream, Loader=yaml.CSafeLoader):
                if not isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent)):
                    events.append(described(event))
    except yaml.MarkedYAMLError as error:
        problem = [error.problem, *place(error.problem_mark)]
        return events, ["syntax", error.context or "", *place(error.context_mark), *problem]
    except (yaml.YAMLError, UnicodeError) as error:
        return events, ["unreadable", str(error)]
    return events, None


def refused(data):
    try:
        yaml.load(data.decode(), Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        return [*place(error.problem_mark or error.context_mark), error.problem or error.context]
    except Exception:  # noqa: BLE001 - what has no place is not compared by place
        return None
    return None


def main():
    sys.setrecursionlimit(20000)
    for line in sys.stdin:
        data = base64.b64decode(json.loads(line)["text"])
        events, error = answer(data)
        result = {"events": events, "error": error, "refused": None if error else refused(data)}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
