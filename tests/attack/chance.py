"""The random choices of one case, made of steps of which some can be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, TypeVar

import numpy as np

__all__ = ["Chance"]

T = TypeVar("T")


class Chance:
    """Random choices, and notes on what was chosen.

    Each step has random numbers of its own, so that a case stays the same in its other steps when
    one is left out. `shrinking` is for hypothesis, which reduces a case by its own means and wants
    to see every draw.
    """

    def __init__(
        self, source: Random, left_out: frozenset[int] = frozenset(), shrinking: bool = False
    ) -> None:
        self.source, self.left_out, self.shrinking = source, left_out, shrinking
        self.notes: list[str] = []
        self.n_steps = 0

    @classmethod
    def of(cls, name: str, left_out: frozenset[int] = frozenset()) -> Chance:
        """The choices of the case with this name."""
        return cls(Random(name), left_out)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def steps(self, number: int) -> Iterator[Chance]:
        """So many steps, without those that are left out."""
        for _ in range(number):
            yield from self.step()

    def step(self) -> Iterator[Chance]:
        """One step, or none if it is left out: `for one in chance.step(): ..`."""
        number, self.n_steps = self.n_steps, self.n_steps + 1
        if self.shrinking:
            yield self
            return
        made = Chance(Random(self.source.getrandbits(64)))
        if number not in self.left_out:
            made.notes = self.notes
            yield made

    def pick(self, options: Sequence[T]) -> T:
        return options[self.source.randrange(len(options))]

    def some(self, options: Sequence[T], most: int | None = None) -> list[T]:
        """Some of the options, each at most once, in any order."""
        count = self.whole(0, len(options) if most is None else min(most, len(options)))
        return self.source.sample(list(options), count)

    def whole(self, low: int, high: int) -> int:
        return self.source.randint(low, high)

    def likely(self, probability: float) -> bool:
        return self.source.random() < probability

    def real(self, low: float = 0.0, high: float = 1.0) -> float:
        return self.source.uniform(low, high)

    def numpy(self) -> np.random.Generator:
        return np.random.default_rng(self.source.getrandbits(64))

    def value(self, made: dict[str, Any]) -> Any:
        """One of some named values; its name is noted."""
        name = self.pick(list(made))
        self.note(name)
        return made[name]
