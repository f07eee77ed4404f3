"""Effort says how much is measured: all of it for the page, or a few samples to see that it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Numbers of rounds, and what a peer may take before only a sample is measured."""

    # Rounds of what takes milliseconds, and of what takes seconds.
    rounds: int
    few: int
    # Calls within a round of what takes microseconds.
    calls: int
    # Nodes of which the peers are asked.
    sample: int
    # Seconds that one run of a peer over all nodes may take before it is scaled from a sample.
    patience: float
    # Nodes, classes and clusters of the inventory L, and the smaller numbers of nodes on the way.
    large: tuple[int, int, int]
    smaller: tuple[int, ...]
    # The other inventories, and how many of the real ones.
    presets: tuple[str, ...]
    real: int
    # Whether instructions are counted, which needs the whole inventories.
    instructions: bool


FULL = Effort(
    rounds=11,
    few=3,
    calls=100,
    sample=12,
    patience=30,
    large=(2000, 1000, 8),
    smaller=(250, 500, 1000),
    presets=("S", "M", "XL"),
    real=3,
    instructions=True,
)
QUICK = Effort(
    rounds=3,
    few=2,
    calls=20,
    sample=4,
    patience=3,
    large=(100, 200, 2),
    smaller=(25, 50),
    presets=("S",),
    real=1,
    instructions=False,
)
