"""Runs the fuzz targets in turns, and counts what they did.

Each target has turns of some minutes, several targets at a time, until each has had its share. A
target with a finding stops there; the others go on. What was done is written into `target/fuzz`: the
log of each turn, and `totals.json` (executions, seconds, coverage), which goes on where it was.

    python3 fuzz                    one hour of each target
    python3 fuzz --minutes 5 yaml   five minutes of one
    python3 fuzz --minimize         few inputs that cover as much as all that were found, into fuzz/seeds

Seeds are lines of text, one for each input, written as libFuzzer writes the words of its dictionaries:
in quotes, `\\xNN` for a byte. What is found becomes one more line.
"""

import argparse
import ast
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "fuzz"
TARGETS = ["yaml", "grammar", "inventory", "edit", "git_url", "settings"]
TRIPLE = "x86_64-unknown-linux-gnu"
LOCK = threading.Lock()


def build() -> pathlib.Path:
    # Unsafe code is forbidden in the engine, so there is nothing for the address sanitizer to find.
    command = ["cargo", "+nightly", "fuzz", "build", "--sanitizer", "none", "--target", TRIPLE]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "fuzz" / "target" / TRIPLE / "release"


def seeds(target: str) -> pathlib.Path:
    return ROOT / "fuzz" / "seeds" / f"{target}.txt"


def unpack(target: str) -> pathlib.Path:
    """A folder with a file for each seed."""
    folder = OUT / "seeds" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, line in enumerate(seeds(target).read_text().splitlines()):
        (folder / f"{number:05}").write_bytes(ast.literal_eval(f"b{line}"))
    return folder


def written(byte: int) -> str:
    if chr(byte) in '"\\':
        return f"\\{byte:c}"
    return chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}"


def pack(target: str, folder: pathlib.Path) -> None:
    """Writes the seeds of a folder, the smallest first."""
    texts = sorted((path.read_bytes() for path in folder.iterdir()), key=lambda text: (len(text), text))
    seeds(target).write_text("".join(f'"{"".join(map(written, text))}"\n' for text in texts))
    print(f"{target}: {len(texts)} seeds, {sum(map(len, texts))} bytes")


def options(target: str) -> list[str]:
    dictionary = ROOT / "fuzz" / "dictionaries" / f"{target}.dict"
    return [f"-dict={dictionary}", "-rss_limit_mb=2048", "-timeout=20", "-max_len=8192"]


def numbers(log: str) -> dict[str, int]:
    """Executions, coverage and features as the last line of a log has them."""
    lines = re.findall(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+)", log, re.M)
    done = re.search(r"^Done (\d+) runs", log, re.M)
    runs, cov, features = map(int, lines[-1]) if lines else (0, 0, 0)
    return {"executions": int(done[1]) if done else runs, "coverage": cov, "features": features}


def turn(programs: pathlib.Path, target: str, seconds: int, totals: dict[str, dict[str, int]]) -> bool:
    """One turn; whether it had no finding."""
    corpus, artifacts, logs = OUT / "corpus" / target, OUT / "findings" / target, OUT / "logs"
    for folder in (corpus, artifacts, logs):
        folder.mkdir(parents=True, exist_ok=True)
    number = totals[target]["turns"]
    log = logs / f"{target}-{number:03}.log"
    command = ["nice", "-n", "19", str(programs / target), str(corpus), str(unpack(target)), *options(target)]
    command += [f"-max_total_time={seconds}", f"-artifact_prefix={artifacts}/", "-print_final_stats=1"]
    begin = time.monotonic()
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    took = round(time.monotonic() - begin)
    with LOCK:
        found, total = numbers(log.read_text(errors="replace")), totals[target]
        total["turns"] += 1
        total["seconds"] += took
        total["executions"] += found["executions"]
        total["coverage"] = max(total["coverage"], found["coverage"])
        total["features"] = max(total["features"], found["features"])
        total["findings"] += code != 0
        (OUT / "totals.json").write_text(json.dumps(totals, indent=1) + "\n")
        print(
            f"{time.strftime('%H:%M:%S')} {target}: {took} s, exit {code}, {found}, sum {total}", flush=True
        )
    return code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--minutes", type=float, default=60, help="for each target")
    parser.add_argument("--turn", type=float, default=10, help="minutes of a turn")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at a time")
    parser.add_argument("--minimize", action="store_true")
    asked = parser.parse_args()
    programs = build()
    targets = asked.targets or TARGETS
    if asked.minimize:
        for target in targets:
            minimize(programs, target)
        return 0
    none = {"turns": 0, "seconds": 0, "executions": 0, "coverage": 0, "features": 0, "findings": 0}
    totals = {target: dict(none) for target in TARGETS}
    OUT.mkdir(parents=True, exist_ok=True)
    if (OUT / "totals.json").exists():
        totals |= json.loads((OUT / "totals.json").read_text())
    turns = max(1, round(asked.minutes / asked.turn))
    seconds = round(60 * asked.minutes / turns)
    broken = set()

    def one(target: str) -> None:
        if target not in broken and not turn(programs, target, seconds, totals):
            broken.add(target)

    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(one, targets * turns))
    for target in sorted(broken):
        print(f"{target}: see {(OUT / 'findings' / target).relative_to(ROOT)}")
    return 1 if broken else 0


def minimize(programs: pathlib.Path, target: str) -> None:
    """Keeps few of all inputs that cover together what all of them cover."""
    few = OUT / "minimized" / target
    shutil.rmtree(few, ignore_errors=True)
    few.mkdir(parents=True)
    command = [
        str(programs / target),
        "-set_cover_merge=1",
        str(few),
        str(unpack(target)),
        str(OUT / "corpus" / target),
    ]
    subprocess.run([*command, *options(target)], check=True, stderr=subprocess.DEVNULL)
    pack(target, few)


if __name__ == "__main__":
    sys.exit(main())
