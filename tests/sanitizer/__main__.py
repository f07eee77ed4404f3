"""Runs the engine's tests with threads under the thread sanitizer: `python3 tests/sanitizer`.

The compiler's own library has to be built with it: where it is not, a lock in there is not seen, and what
it guards is taken for a race. That needs the nightly compiler and the library's source. First it is shown
that this setup finds a race (`src/main.rs`) and takes no lock for one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TRIPLE = f"{os.uname().machine}-unknown-linux-gnu"
ENVIRONMENT = {**os.environ, "RUSTFLAGS": "-Zsanitizer=thread", "RECLASS_SEEDS": "40"}
# What the sanitizer ends a program with that had a race.
FOUND = 66


def lacking() -> str | None:
    """What this machine lacks, as a command that brings it."""
    asked = ["rustc", "+nightly", "--print", "sysroot"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "Rust: see https://rustup.rs"
    if done.returncode:
        return "the nightly compiler with its source: rustup toolchain install nightly --component rust-src"
    if not (Path(done.stdout.strip()) / "lib/rustlib/src/rust/library").is_dir():
        return (
            "the source of the nightly compiler's library: rustup component add rust-src --toolchain nightly"
        )
    return None


def cargo(verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["cargo", "+nightly", verb, "--locked", "-Zbuild-std", "--target", TRIPLE]
    command += ["--target-dir", str(ROOT / "target/tsan"), *arguments]
    kept = subprocess.PIPE if verb == "run" else None
    return subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stderr=kept, text=True, check=False)


def main() -> str | None:
    lacks = lacking()
    if lacks:
        return f"make tsan needs {lacks}"
    control = str(HERE / "Cargo.toml")
    raced = cargo("run", "--manifest-path", control, "--", "race")
    if raced.returncode != FOUND or "data race" not in raced.stderr or "sanitizer::race" not in raced.stderr:
        return f"a race was not found, so that nothing can be said:\n{raced.stderr}"
    locked = cargo("run", "--manifest-path", control, "--", "locks")
    if locked.returncode:
        return f"locks are taken for races, so that nothing can be said:\n{locked.stderr}"
    print("A race is found, and no lock is taken for one.", flush=True)
    tested = cargo("test", "--test", "engine", "--", "threads::", "together::", "--nocapture")
    return "the tests failed" if tested.returncode else None


if __name__ == "__main__":
    sys.exit(main())
