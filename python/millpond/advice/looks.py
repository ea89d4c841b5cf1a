# SPDX-License-Identifier: BSL-1.0
"""The numbers of rounds at which a judgement is examined, and the error that each look may make.

    advise              looks after   11   16   21   31         0.235 of the error each: 0.94 of it in all
    --continue          looks after   62   124  248  …          the k-th: 0.06 / (k (k + 1)) of it, 0.06 in all

Repeating a test until it succeeds raises the rate of errors above the stated one. So the shares of all looks sum to the
allowed error (Bonferroni; alpha spending of Lan and DeMets 1983), and intervals and p-values hold at every look. If
time ends a first run between its looks, that is no further look; if it ends before the first, that is its only look. A
continuation doubles the rounds at each look, since a look at few more rounds would only widen the intervals. Its
verdict is that of its latest look, or stays the earlier one; further rounds are kept for the next look.
"""

from __future__ import annotations

from millpond.rounds.schedule import LOOKS, MOST_ROUNDS

# The share of the error that a first run may spend; the rest is for continuations. With this share the interval of 11
# rounds is still that from the second to the tenth (98.83 %); with less it would be from the first to the last.
FIRST_SHARE = 0.94
# The factor between the rounds of one look of a continuation and the next.
_GROWTH = 2
_NEXT_AT_MOST = 20
# No limit: a continuation ends by time, not by rounds.
_WITHOUT_END = 1_000_000


class Looks:
    """The looks of one run at a judgement. Not thread-safe.

    `spent`: the looks that the latest verdict of earlier runs counts for, in the unit of `compare`; None without one.
    `judged`: the rounds of that verdict. `made`: looks of earlier continuations. `there`: rounds from earlier runs.
    `decided`: by that verdict. `goes_on`: the user asked for more rounds than a first run makes.

    `numbers`: the numbers of rounds at which to look. `rounds`: the largest number of rounds.
    """

    def __init__(
        self, *, spent: float | None = None, judged: int = 0, made: int = 0, there: int = 0, decided: bool = False,
        goes_on: bool = False,
    ) -> None:  # fmt: skip
        self._spent = spent
        self._judged = self._latest = judged
        self.there = there
        self.made = made
        self.numbers: tuple[int, ...] = LOOKS
        self.rounds = MOST_ROUNDS
        if spent is None:
            return
        if decided or (there >= MOST_ROUNDS and not goes_on):
            self.numbers, self.rounds = (), there
            return
        numbers = _following(judged)
        if not goes_on:
            numbers = [*(n for n in numbers if n < MOST_ROUNDS), MOST_ROUNDS]
        due = [there] if numbers[0] <= there else []
        self.numbers = (*due, *(n for n in numbers if n > there))
        self.rounds = _WITHOUT_END if goes_on else MOST_ROUNDS

    @property
    def continues(self) -> bool:
        """True if this run continues from a verdict."""
        return self._spent is not None

    def judged(self, rounds: int) -> int:
        """Returns the number of rounds, from the first on, that the verdict rests on if this many were run."""
        if self._spent is None:
            return rounds
        return max((n for n in self.numbers if n <= rounds), default=self._judged)

    def look(self, rounds: int) -> float:
        """Makes a look at `rounds` rounds, a result of `judged`; returns the number of looks that it counts for in
        `compare`.
        """
        if self._spent is None:
            return (len(LOOKS) if rounds >= LOOKS[0] else 1) / FIRST_SHARE
        if rounds == self._judged:
            return self._spent
        if rounds != self._latest:
            self._latest = rounds
            self.made += 1
        return self.made * (self.made + 1) / (1.0 - FIRST_SHARE)


def _following(rounds: int) -> list[int]:
    """Returns the numbers of rounds of the next looks."""
    found: list[int] = []
    while len(found) < _NEXT_AT_MOST:
        rounds = max(LOOKS[0], _GROWTH * rounds)
        found.append(rounds)
    return found
