"""A process that is asked for a pillar again and again, each time with values that were never there before.

`python -m tests.python.plateau FOLDER QUESTIONS` prints the memory of the process, in kilobytes, after each
quarter of the questions.
"""

from __future__ import annotations

import sys
from pathlib import Path

from saltext.reclass import Inventory

# Enough for the strings that are kept for Python (131,072) to be full after a quarter of 40,000 questions.
VALUES = 20


def main() -> None:
    folder, questions = Path(sys.argv[1]), int(sys.argv[2])
    for name in ("nodes", "classes"):
        (folder / name).mkdir()
    (folder / "nodes/web1.yml").write_text("classes: [role]\nparameters: {joined: '${v0}/${v1}'}\n")
    inventory = Inventory(inventory_base_uri=str(folder), settle_time=0)
    for number in range(1, questions + 1):
        values = "".join(f"  v{key}: value-{number:08}-{key}\n" for key in range(VALUES))
        (folder / "new").write_text(f"parameters:\n{values}")
        (folder / "new").replace(folder / "classes/role.yml")
        pillar = inventory.pillar("web1")
        if pillar["joined"] != f"value-{number:08}-0/value-{number:08}-1":
            sys.exit(f"question {number}: {pillar['joined']}")
        if number % (questions // 4) == 0:
            status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            print(status["VmRSS"].split()[0], flush=True)


if __name__ == "__main__":
    main()
