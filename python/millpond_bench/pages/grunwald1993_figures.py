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
from dataclasses import dataclass

from markupsafe import Markup

from millpond.advice import class_choice
from millpond.report.figures import flat_figures
from millpond.report.figures.log_plot import Curve, log_plot
from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.result_table import FIGURE, PublishedTable

COLOURS = 8
DASHES = ("", "d1", "d2")
_BARS_PIXELS, _LABELS_PIXELS = 200.0, 20.0
_A_BILLION = 10**9
_GRANULE, _LARGEST = 16, 2048  # of figure 9, in bytes


@dataclass(frozen=True)
class CaptionedFigure:
    """One figure with its caption; `legend`: (colour, dash, name) of each allocator."""

    caption: str
    svg: Markup
    legend: list[tuple[str, str, str]]


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

    def look(self, strategy: str) -> tuple[str, str]:
        """Colour and dash, the same in every figure of the experiment."""
        number = self.strategies.index(strategy)
        return f"k{number % COLOURS}", DASHES[number // COLOURS]

    def legend(self) -> list[tuple[str, str, str]]:
        return [(*self.look(strategy), self.name(strategy)) for strategy in self.strategies]


def shares(results: PublishedTable) -> list[CaptionedFigure]:
    """Figure 1."""
    of = _Medians(results)
    values = {
        (program, strategy): (share,)
        for program in of.programs for strategy in of.strategies
        if (share := of.at(program, strategy, "allocator_share")) is not None
    }  # fmt: skip
    caption = "Figure 1: share of the instructions in malloc and free, in percent, without penalties for misses"
    return [CaptionedFigure(caption, _bars(of, values, "%"), of.legend())] if values else []


def programs(results: PublishedTable) -> list[CaptionedFigure]:
    """Figures 1 and 9."""
    return [*shares(results), *size_maps()]


def size_maps() -> list[CaptionedFigure]:
    """Figure 9: the class of each request in BSD, QUICKFIT and `size_map`."""
    names = {
        "powers of two (BSD)": class_choice.powers_of_two,
        "four an octave (size_map)": class_choice.four_an_octave,
    }
    maps = {name: make(_GRANULE, _LARGEST) for name, make in names.items()}
    maps["multiples of a word (QUICKFIT, any size)"] = tuple(range(_GRANULE, _LARGEST + 1, _GRANULE))
    curves, legend = [], []
    for number, (name, classes) in enumerate(maps.items()):
        points = [(request, next(size for size in classes if size >= request)) for request in range(8, _LARGEST + 1, 8)]
        curves.append(Curve(name, number, 0, f"k{number}", "", points, has_dots=False))
        legend.append((f"k{number}", "", name))
    caption = "Figure 9: the bytes of the class that serves a request, by its bytes; an array of the sizes finds it"
    return [CaptionedFigure(caption, log_plot(curves, caption, shares=False), legend)]


def overlaid_times(results: PublishedTable) -> list[CaptionedFigure]:
    """Figures 4 and 5, and the same for the other caches."""
    of = _Medians(results)
    numbers = {16: "Figure 4: ", 64: "Figure 5: "}
    found = []
    for size in sorted({int(dict(at)["cache"]) for at, _ in results.cells_at}):
        values: dict[tuple[str, str], tuple[float, ...]] = {}
        for program in of.programs:
            base = of.at(program, of.experiment.data.baseline, "base_seconds", cache=size)
            for strategy in of.strategies:
                own = [of.at(program, strategy, metric, cache=size) for metric in (FIGURE, "base_seconds")]
                if base and own[0] is not None and own[1] is not None:
                    values[program, strategy] = (own[0] / base, own[1] / base)
        caption = (
            f"{numbers.get(size, '')}time by FIRSTFIT's without misses: strong without misses, pale with those of "
        )
        caption += f"{size} KB direct-mapped at 25 cycles each"
        found += [CaptionedFigure(caption, _bars(of, values, "×"), of.legend())] if values else []
    return found


def fault_curves(results: PublishedTable) -> list[CaptionedFigure]:
    """Figures 2 and 3, and the same for every program."""
    of = _Medians(results)
    numbers = {"GS": "Figure 2: ", "PTC": "Figure 3: "}
    sizes = sorted({int(dict(at)["memory"]) for at, _ in results.cells_at})
    found = []
    for program in of.programs:

        def value(strategy: str, size: int, program: str = program) -> float | None:
            return of.at(program, strategy, FIGURE, memory=size)

        curves = _curves(of, sizes, value, 1000.0)
        heaps = [
            (of.name(strategy), of.look(strategy)[0], heap)
            for strategy in of.strategies if (heap := of.at(program, strategy, "heap_bytes", memory=sizes[0]))
        ]  # fmt: skip
        slopes = [
            f"{of.name(strategy)} {slope:.2f}"
            for strategy in of.strategies
            if (slope := of.at(program, strategy, "fault_slope", memory=sizes[0])) is not None
        ]
        caption = f"{numbers.get(program, '')}page faults of {program} in a reference, by memory; dots on the axis: "
        caption += f"the memory that an allocator has requested. Slopes: {', '.join(slopes)}"
        if curves:
            found.append(CaptionedFigure(caption, log_plot(curves, caption, shares=True, marks=heaps), of.legend()))
    return found


def miss_curves(results: PublishedTable) -> list[CaptionedFigure]:
    """Figures 6 to 8, and the same for every program and line."""
    of = _Medians(results)
    numbers = {"GS-Small": "Figure 6: ", "GS-Medium": "Figure 7: ", "GS": "Figure 8: "}
    sizes = sorted({int(dict(at)["cache"]) for at, _ in results.cells_at})
    found = []
    for program in of.programs:
        for line in sorted({int(dict(at)["line"]) for at, _ in results.cells_at}):

            def value(strategy: str, size: int, program: str = program, line: int = line) -> float | None:
                return of.at(program, strategy, FIGURE, line=line, cache=size)

            curves = _curves(of, sizes, value, _A_BILLION / 100)
            first = numbers.get(program, "") if line == 32 else ""
            caption = f"{first}share of the references of {program} that miss, direct-mapped, lines of {line} bytes"
            if curves:
                found.append(CaptionedFigure(caption, log_plot(curves, caption, shares=True), of.legend()))
    return found


def _curves(of: _Medians, sizes: Sequence[int], value: Callable[[str, int], float | None], scale: float) -> list[Curve]:
    """A curve for each allocator over sizes in KiB; `scale` makes billionths of the values."""
    found = []
    for number, strategy in enumerate(of.strategies):
        points = [(1024 * size, round(scale * y)) for size in sizes if (y := value(strategy, size)) is not None]
        colour, dash = of.look(strategy)
        if points:
            found.append(Curve(of.name(strategy), number, 0, colour, dash, points, _A_BILLION, has_dots=False))
    return found


def _bars(of: _Medians, values: Mapping[tuple[str, str], Sequence[float]], unit: str) -> Markup:
    """A group for each program, a bar for each allocator; of several values, the later ones lie over the first."""
    top = flat_figures.nice_ceiling(max(max(each) for each in values.values()) or 1.0)
    group = 1.0 / max(1, len(of.programs))
    width = 0.9 * group / max(1, len(of.strategies))
    marks = []
    for step in range(1, 5):
        y = _y(top * step / 4, top)
        marks += [flat_figures.across_line(y), flat_figures.text(0, y - 3, f"{top * step / 4:.3g} {unit}")]
    for place, program in enumerate(of.programs):
        for number, strategy in enumerate(of.strategies):
            own = values.get((program, strategy), ())
            for layer, value in enumerate(own):
                kind = f"c{number % COLOURS}" + (" pale" if layer < len(own) - 1 else "")
                x = place * group + 0.05 * group + number * width
                words = f"{program}, {of.name(strategy)}: {' of '.join(f'{each:.3g}' for each in reversed(own))} {unit}"
                y = _y(value, top)
                marks.append(flat_figures.rectangle(kind, x, y, 0.92 * width, _BARS_PIXELS - y, words))
        marks.append(flat_figures.text((place + 0.5) * group, _BARS_PIXELS + 14, program, "middle"))
    marks.append(flat_figures.across_line(_BARS_PIXELS, "axis"))
    return flat_figures.figure(int(_BARS_PIXELS + _LABELS_PIXELS), flat_figures.joined(marks), "bars by program")


def _y(value: float, top: float) -> float:
    return _BARS_PIXELS - value / top * (_BARS_PIXELS - 16)
