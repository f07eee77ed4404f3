"""Literal turns an answer into a Python function that builds an equal one from scratch.

A warm answer is judged against it. The body of the function is the answer as one expression: its
strings and numbers are constants of the code, made and hashed once, and each call makes only the
dicts and lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def builder(answer: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """A function that returns a new dict equal to ``answer``."""
    names: dict[str, Any] = {}
    exec(compile(f"def build():\n    return {answer!r}\n", "<literal>", "exec"), names)  # noqa: S102
    build: Callable[[], dict[str, Any]] = names["build"]
    if build() != answer:
        raise ValueError("the answer holds something that is not a literal")
    return build


def leaves(value: Any) -> int:
    """The number of values in ``value`` that are neither dict nor list."""
    if isinstance(value, dict):
        return sum(leaves(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(leaves(inner) for inner in value)
    return 1
