"""The launcher: runs processes from outside and has the system account for them.

It is a process of its own because it is small. A child begins in the memory of its parent, and the
account of its peak (``ru_maxrss``) with it: what is below the parent's own peak cannot be seen.
"""

from __future__ import annotations

import os
import time

from benches.workers.serve import memory, serve


class Launcher:
    """Runs one process at a time."""

    def run(self, command: list[str]) -> tuple[int, float, float, int, int]:
        """The exit status of a process, its seconds of the wall and of the processor, its peak of
        memory in bytes, and what of that is ours if it is not more.

        What the process prints is thrown away.
        """
        nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        begin = time.perf_counter()
        child = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
        _, status, usage = os.wait4(child, 0)
        elapsed = time.perf_counter() - begin
        processor = usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss * 1024
        return os.waitstatus_to_exitcode(status), elapsed, processor, peak, memory()["peak"]


if __name__ == "__main__":
    serve(Launcher())
