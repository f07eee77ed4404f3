"""The benchmark suite: times, memory and growth beside the peers, written to ``docs/benchmarks.md``."""
