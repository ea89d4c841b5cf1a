# SPDX-License-Identifier: BSL-1.0
"""Combines all terms of a statement's rule: one figure with its interval, and the region that this lies in.

    mean       "generally", "in the mean": the geometric mean in every round (of correlations: the mean)
    every      "every", "always", "no", "any", "consistently": each term by itself. The statement is broken if one term
               clearly breaks the bound; it holds if each term does. "No difference" is this with a bound around 1.
    largest    "up to": the term with the largest median; it must reach the bound, and no other may pass it
    smallest   the same for the smallest
    share      "most", "almost always": the share of the terms from `at_least` to `at_most`; its interval is from those
               that clearly are to those that clearly are not. With both limits the statement is stronger if too few
               terms lie between them, and enough once the limit that is further from no effect is lifted
    spread     "consistent": the largest term / the smallest, by their medians

If one of many terms decides, it was found by looking at all: the p-value is multiplied by their number (Bonferroni).
The statement that at least u of n terms are inside has the p-value (n - u + 1) p(u), for the u-th smallest of their
p-values (a partial conjunction, Benjamini and Heller).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from millpond.statistics.order_statistics import Summary, summarise
from millpond_bench.claims.claim_terms import Term, terms_of
from millpond_bench.claims.claims import BROKEN, HOLDS, STRONGER, Claim
from millpond_bench.claims.verdicts import FEWEST_ROUNDS, RATE, Region, chance_of, region_of
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.result_table import PlaceTable

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Reading:
    """A rule's value by round, its interval, and the verdict of the region that contains it: empty across a border.

    `p`: the two-sided p-value of that; None for counts and below six rounds. `satisfied`: whether the figures keep the
    bound, apart from noise. `worst`: the term that decides, if one does.
    """

    values: Sequence[float]
    figure: Summary
    region: str
    p: float | None
    satisfied: bool
    places: tuple[Place, ...]
    worst: str = ""
    note: str = ""


def read(claim: Claim, figures: PlaceTable) -> Reading | None:
    """The reading of canonical names; None without figures. O(figures × pairs)."""
    terms = terms_of(claim, figures)
    if not terms:
        return None
    places = tuple(dict.fromkeys(place for term in terms for place in term.places))
    if claim.over == "every":
        return replace(_every(claim, terms, figures), places=places)
    if claim.over in ("largest", "smallest"):
        return replace(_outermost(claim, terms, figures), places=places)
    if claim.over == "spread":
        ends = [choose(terms, key=lambda term: term.median) for choose in (max, min)]
        values = _by_round(ends, lambda found: found[0] / found[1])
        found = _alone(claim, values, lucky=len(terms) * (len(terms) - 1)) if values else None
    elif claim.over == "share":
        found = _share(claim, terms)
    else:
        values = means(claim, terms)
        found = _alone(claim, values) if values else None
    return replace(found, places=places) if found else None


def means(claim: Claim, terms: Sequence[Term]) -> list[float]:
    """The mean over all terms in each round that all of them have."""
    return _by_round(terms, statistics.fmean if claim.kind in ("rank", "fails") else _geometric_mean)


def _by_round(terms: Sequence[Term], reduced: Callable[[Sequence[float]], float]) -> list[float]:
    common = set[int](terms[0].rounds).intersection(*(term.rounds for term in terms[1:])) if terms else set[int]()
    return [reduced([term.rounds[n] for term in terms]) for n in sorted(common)]


def _geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers; 0 counts as the smallest one."""
    return math.exp(statistics.fmean(math.log(max(v, 1e-300)) for v in values))


def _alone(claim: Claim, values: Sequence[float], *, lucky: int = 1) -> Reading:
    """Reads one series of rounds. `lucky`: the number of series from which it was chosen as the worst."""
    figure = summarise(values)
    region = region_of(claim, figure.low, figure.high)
    p = None
    if not claim.counted and len(values) >= FEWEST_ROUNDS:
        by_luck = max(1, lucky) if region and region.verdict in BROKEN else 1
        p = min(1.0, 2.0 * by_luck * chance_of(values, region)) if region else 1.0
    return Reading(values, figure, region.verdict if region else "", p, claim.accepts(figure.median), ())


def _every(claim: Claim, terms: Sequence[Term], figures: PlaceTable) -> Reading:
    """Reads each term by itself; the figure is that of the term furthest out, or nearest to the border."""
    found = [(_alone(claim, list(term.rounds.values()), lucky=len(terms)), term) for term in terms]
    broken = [(one, term) for one, term in found if one.region in BROKEN and (one.p is None or one.p <= RATE)]
    gravest = min((BROKEN.index(one.region) for one, _ in broken), default=-1)
    deciding = [pair for pair in broken if BROKEN.index(pair[0].region) == gravest] or found
    worst, term = max(deciding, key=lambda pair: _beyond(claim, pair[0].figure.median))
    held = sum(one.region == HOLDS for one, _ in found)
    region, p = worst.region, worst.p
    if not broken:
        region = HOLDS if held == len(found) else ""
        known = [one.p for one, _ in found if one.p is not None]
        p = None if claim.counted or not known else max(known) if region and len(known) == len(found) else 1.0
    note = f"{held} of {len(found)} hold" if len(found) > 1 else ""
    satisfied = all(one.satisfied for one, _ in found)
    return replace(worst, region=region, p=p, satisfied=satisfied, worst=term.name(figures), note=note)


def _outermost(claim: Claim, terms: Sequence[Term], figures: PlaceTable) -> Reading:
    """The term with the largest (smallest) median, as the lower (upper) end of an interval that all others bound."""
    largest = claim.over == "largest"
    series = [list(term.rounds.values()) for term in terms]
    chosen = (max if largest else min)(terms, key=lambda term: term.median)
    own, all_of_them = list(chosen.rounds.values()), [summarise(values) for values in series]
    found = summarise(own)
    low = found.low if largest else min(one.low for one in all_of_them)
    high = max(one.high for one in all_of_them) if largest else found.high
    figure = msgspec.structs.replace(found, low=low, high=high)
    region, p = region_of(claim, low, high), None
    if not claim.counted and min(map(len, series)) >= FEWEST_ROUNDS:
        p = min(1.0, 2.0 * _chance_of_outermost(own, series, region, largest)) if region else 1.0
    return Reading(own, figure, region.verdict if region else "", p, claim.accepts(figure.median), (),
                   worst=chosen.name(figures))  # fmt: skip


def _chance_of_outermost(
    own: Sequence[float], series: Sequence[Sequence[float]], region: Region, largest: bool
) -> float:
    """The p-value that the chosen series, the luckiest of so many, reaches one end of the region and that none passes
    the other.
    """
    above = Region(region.verdict, region.low, math.inf)
    below = Region(region.verdict, -math.inf, region.high)
    reached, kept = (above, below) if largest else (below, above)
    return max(len(series) * chance_of(own, reached), *(chance_of(values, kept) for values in series))


def _share(claim: Claim, terms: Sequence[Term]) -> Reading:
    """The share of terms between two limits; stronger if the terms that lack to it lie beyond the far limit."""
    low = -math.inf if claim.at_least is None else float(claim.at_least)
    high = math.inf if claim.at_most is None else float(claim.at_most)
    found = _share_between(claim, terms, low, high)
    none = 0.0 if claim.kind in ("rank", "fails") else 1.0
    if not (math.isfinite(low) and math.isfinite(high)) or low <= none <= high or found.region not in BROKEN:
        return found
    lifted = _share_between(claim, terms, *((low, math.inf) if none < low else (-math.inf, high)))
    if found.figure.median >= claim.low or lifted.region != HOLDS:
        return found
    p = None if found.p is None or lifted.p is None else max(found.p, lifted.p)
    note = f"{lifted.figure.median:.3g} with those beyond {high if none < low else low:g}"
    return replace(found, region=STRONGER, p=p, note=note)


def _share_between(claim: Claim, terms: Sequence[Term], low: float, high: float) -> Reading:
    """The share of terms between two limits, by their medians."""
    inside, outside = Region(HOLDS, low, high), [Region("", -math.inf, low), Region("", high, math.inf)]
    series = [list(term.rounds.values()) for term in terms]
    found = [summarise(values) for values in series]
    are = sum(low <= one.low and one.high <= high for one in found)
    are_not = sum(one.high < low or high < one.low for one in found)
    rounds, n = min(map(len, series)), len(terms)
    share = statistics.fmean(low <= one.median <= high for one in found)
    figure = msgspec.structs.replace(
        min(found, key=lambda one: one.n), median=share, low=are / n, high=1.0 - are_not / n
    )
    region, p = region_of(claim, figure.low, figure.high), None
    if not claim.counted and rounds >= FEWEST_ROUNDS:
        p = 1.0
        if region:
            most, fewest = _needed(region, n)
            within = [chance_of(values, inside) for values in series]
            beyond = [min(chance_of(values, one) for one in outside if one.low < one.high) for values in series]
            p = min(1.0, 2.0 * max(_of_at_least(most, within), _of_at_least(fewest, beyond)))
    return Reading([share], figure, region.verdict if region else "", p, claim.accepts(share), ())


def _needed(region: Region, n: int) -> tuple[int, int]:
    """The number of n terms that must be inside, and that must be outside, for their share to lie in a region."""
    low, high = max(0.0, region.low) * n, min(1.0, region.high) * n
    if region.verdict == HOLDS:
        return math.ceil(low - _ROUNDING), n - math.floor(high + _ROUNDING)
    inside = math.floor(low + _ROUNDING) + 1 if region.low >= 0.0 else 0
    return inside, n - math.ceil(high - _ROUNDING) + 1 if region.high <= 1.0 else 0


def _of_at_least(number: int, chances: Sequence[float]) -> float:
    """The p-value that fewer than that many of them are true."""
    return (len(chances) - number + 1) * sorted(chances)[number - 1] if number > 0 else 0.0


def _beyond(claim: Claim, value: float) -> float:
    """The distance of a value from the bound, below zero inside; on a logarithmic scale if all is positive."""
    ends = [end for end in (claim.low, claim.high) if math.isfinite(end)]
    scale = math.log if min(value, *ends) > 0.0 else float
    below = scale(claim.low) - scale(value) if math.isfinite(claim.low) else -math.inf
    above = scale(value) - scale(claim.high) if math.isfinite(claim.high) else -math.inf
    return max(below, above)
