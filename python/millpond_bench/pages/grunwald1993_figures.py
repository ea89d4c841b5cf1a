# SPDX-License-Identifier: BSL-1.0
"""The figures of Grunwald 1993 from our captures: bars of time and of allocation, curves of faults and of miss rates.

figure 1        share of the instructions in allocation     bars, a group for each program
figures 2, 3    page faults by memory                       curves; a mark on the axis where a heap ends
figures 4, 5    time without misses, overlaid on time with  bars
figures 6 to 8  miss rates by cache size                    curves
figure 9        the class of each request                   curves, computed without a measurement
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from millpond.advice import class_choice
from millpond.report.figures.specification import COLOURS, Axis, Curves, Figure, Mark, Series
from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.result_table import FIGURE, PublishedTable

_GRANULE, _LARGEST = 16, 2048  # of figure 9, in bytes


class _Medians:
    """The median of a metric at a place, None if not measured; programs and allocators in their order."""

    def __init__(self, results: PublishedTable) -> None:
        self._of = results.by_place()
        self.experiment = results.experiment
        places: list[Place] = list(dict.fromkeys(results.cells_at))
        self.programs = list(dict.fromkeys(str(dict(at)["program"]) for at, _ in places))
        known = {strategy for _, strategy in places}
        self.strategies = [one for one in self.experiment.data.strategies if one in known]

    def at(self, program: str, strategy: str, metric: str, **more: int) -> float | None:
        point = tuple((name, program if name == "program" else more[name]) for name in self.experiment.data.axes)
        values = list(self._of.by_round((point, strategy), metric).values())
        return summarise(values).median if values else None

    def name(self, strategy: str) -> str:
        return self.experiment.data.alias(strategy) or strategy

    def look(self, strategy: str) -> tuple[int, int]:
        """Colour and dash, the same in every figure of the experiment."""
        number = self.strategies.index(strategy)
        return number % COLOURS, number // COLOURS


def shares(results: PublishedTable) -> list[Figure]:
    """Figure 1."""
    of = _Medians(results)
    values = {
        (program, strategy): (share,)
        for program in of.programs for strategy in of.strategies
        if (share := of.at(program, strategy, "allocator_share")) is not None
    }  # fmt: skip
    title = "Figure 1: share of the instructions in malloc and free, without penalties for misses"
    y = Axis(name="of the instructions in allocation, %")
    return [_bars(of, values, title, y, ("",))] if values else []


def programs(results: PublishedTable) -> list[Figure]:
    """Figures 1 and 9."""
    return [*shares(results), *size_maps()]


def size_maps() -> list[Figure]:
    """Figure 9: the class of each request in BSD, QUICKFIT and `size_map`."""
    names = {
        "powers of two (BSD)": class_choice.powers_of_two,
        "four an octave (size_map)": class_choice.four_an_octave,
    }
    maps = {name: make(_GRANULE, _LARGEST) for name, make in names.items()}
    maps["multiples of a word (QUICKFIT, any size)"] = tuple(range(_GRANULE, _LARGEST + 1, _GRANULE))
    series = [
        Series(name=name, colour=number, points=[
            (request, next(size for size in classes if size >= request)) for request in range(8, _LARGEST + 1, 8)
        ])
        for number, (name, classes) in enumerate(maps.items())
    ]  # fmt: skip
    x, y = Axis(name="request", unit="size", log=True), Axis(name="class", unit="size", log=True)
    caption = "An array of the sizes finds it."
    title = "Figure 9: the bytes of the class that serves a request, by its bytes"
    return [Curves(title=title, caption=caption, x=x, y=y, series=series)]


def overlaid_times(results: PublishedTable) -> list[Figure]:
    """Figures 4 and 5, and the same for the other caches."""
    of = _Medians(results)
    numbers = {16: "Figure 4: ", 64: "Figure 5: "}
    found = list[Figure]()
    for size in sorted({int(dict(at)["cache"]) for at, _ in results.cells_at}):
        values: dict[tuple[str, str], tuple[float, ...]] = {}
        for program in of.programs:
            base = of.at(program, of.experiment.data.baseline, "base_seconds", cache=size)
            for strategy in of.strategies:
                own = [of.at(program, strategy, metric, cache=size) for metric in (FIGURE, "base_seconds")]
                if base and own[0] is not None and own[1] is not None:
                    values[program, strategy] = (own[0] / base, own[1] / base)
        title = f"{numbers.get(size, '')}time by FIRSTFIT's without misses, {size} KB direct-mapped"
        caption = "Strong without misses, pale with those at 25 cycles each."
        y = Axis(name="times FIRSTFIT's without misses")
        found += [_bars(of, values, title, y, ("with misses", "without misses"), caption)] if values else []
    return found


def fault_curves(results: PublishedTable) -> list[Figure]:
    """Figures 2 and 3, and the same for every program."""
    of = _Medians(results)
    numbers = {"GS": "Figure 2: ", "PTC": "Figure 3: "}
    sizes = sorted({int(dict(at)["memory"]) for at, _ in results.cells_at})
    found = list[Figure]()
    for program in of.programs:

        def value(strategy: str, size: int, program: str = program) -> float | None:
            return of.at(program, strategy, FIGURE, memory=size)

        heaps = [
            Mark(name=of.name(strategy), x=heap)
            for strategy in of.strategies if (heap := of.at(program, strategy, "heap_bytes", memory=sizes[0]))
        ]  # fmt: skip
        slopes = [
            f"{of.name(strategy)} {slope:.2f}"
            for strategy in of.strategies
            if (slope := of.at(program, strategy, "fault_slope", memory=sizes[0])) is not None
        ]
        title = f"{numbers.get(program, '')}page faults of {program} in a reference, by memory"
        caption = f"Lines down: the memory that an allocator has requested. Slopes: {', '.join(slopes)}."
        x, y = Axis(name="memory", unit="size", log=True), Axis(name="faults in a reference", unit="share", log=True)
        series = _curves(of, sizes, value, 1e-6)
        found += [Curves(title=title, caption=caption, x=x, y=y, series=series, marks=heaps)] if series else []
    return found


def miss_curves(results: PublishedTable) -> list[Figure]:
    """Figures 6 to 8, and the same for every program and line."""
    of = _Medians(results)
    numbers = {"GS-Small": "Figure 6: ", "GS-Medium": "Figure 7: ", "GS": "Figure 8: "}
    sizes = sorted({int(dict(at)["cache"]) for at, _ in results.cells_at})
    found = list[Figure]()
    for program in of.programs:
        for line in sorted({int(dict(at)["line"]) for at, _ in results.cells_at}):

            def value(strategy: str, size: int, program: str = program, line: int = line) -> float | None:
                return of.at(program, strategy, FIGURE, line=line, cache=size)

            first = numbers.get(program, "") if line == 32 else ""
            title = f"{first}share of the references of {program} that miss, direct-mapped, lines of {line} bytes"
            x, y = Axis(name="cache size", unit="size", log=True), Axis(name="misses", unit="share", log=True)
            series = _curves(of, sizes, value, 0.01)
            found += [Curves(title=title, x=x, y=y, series=series)] if series else []
    return found


def _curves(of: _Medians, sizes: Sequence[int], value: Callable[[str, int], float | None], unit: float) -> list[Series]:
    """A curve for each allocator over sizes in KiB, of shares: `unit` is that of the values."""
    found = []
    for strategy in of.strategies:
        points = [(1024 * size, unit * y) for size in sizes if (y := value(strategy, size)) is not None]
        colour, dash = of.look(strategy)
        if points:
            found.append(Series(name=of.name(strategy), colour=colour, dash=dash, points=points))
    return found


def _bars(
    of: _Medians, values: Mapping[tuple[str, str], Sequence[float]], title: str, y: Axis, kinds: Sequence[str],
    caption: str = "",
) -> Curves:  # fmt: skip
    """A group for each program, a bar for each allocator; of several values, the later ones lie over the first."""
    series = []
    for layer, kind in enumerate(kinds):
        for strategy in of.strategies:
            points = [(at, own[layer]) for at, one in enumerate(of.programs) if (own := values.get((one, strategy)))]
            name = of.name(strategy)
            if points:
                series.append(
                    Series(name=f"{name}, {kind}" if kind else name, group=name, kind=kind, look="bars", points=points,
                           colour=of.look(strategy)[0], dash=int(layer < len(kinds) - 1))
                )  # fmt: skip
    return Curves(title=title, caption=caption, x=Axis(name="program", names=of.programs), y=y, series=series)
