"""Runs command lines of kapicorp-reclass: a JSON line each in, a JSON line with the outcome out.

Each runs in a child, so that it may end as it likes, and imports the programs itself: they read
the current directory and their own name when they are imported. The time is fixed, and folders
are listed by name.
"""

from __future__ import annotations

import json
import optparse  # noqa: F401
import os
import sys
import tempfile
import traceback

# As `optparse`, imported once for all children.
import pyparsing  # noqa: F401
import yaml  # noqa: F401

TIME = "Fri Nov 20 20:20:20 2026"
PROGRAMS = {
    "reclass": ("reclass.cli", "main"),
    "reclass-salt": ("reclass.adapters.salt", "cli"),
    "reclass-ansible": ("reclass.adapters.ansible", "cli"),
}


def sorted_walk(walk):
    """The folders of ``os.walk`` by name."""

    def walked(*args, **kwargs):
        for folder, folders, files in walk(*args, **kwargs):
            folders.sort()
            yield folder, folders, sorted(files)

    return walked


def child(job) -> int:
    """Runs a program to its exit code."""
    os.chdir(job["folder"])
    os.environ["HOME"] = job["home"]
    sys.argv = [job["called"], *job["arguments"]]
    os.walk = sorted_walk(os.walk)
    module, name = PROGRAMS[job["program"]]
    try:
        run = getattr(__import__(module, fromlist=[name]), name)
        from reclass.core import Core

        Core._get_timestamp = staticmethod(lambda: TIME)
        run()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:  # noqa: BLE001 (whatever it ends with is its answer)
        traceback.print_exc()
        return 1
    return 0


def run(job):
    """The outcome of a program in a child."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = child(job)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return {"code": code, "output": texts[0], "messages": texts[1]}


def main() -> None:
    for line in sys.stdin:
        answer = json.dumps(run(json.loads(line)))
        print(answer, flush=True)


if __name__ == "__main__":
    main()
