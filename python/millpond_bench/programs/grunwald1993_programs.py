# SPDX-License-Identifier: BSL-1.0
"""Programs of today in the place of those of Grunwald, Zorn and Henderson 1993 (Tables 1 to 3), each with two inputs.

    GAWK       gawk                words of a text, formatted as a dictionary
    GS         gs, three inputs    pages of text, of curves, and both
               troff, three inputs sections of a manual: today's gs divides its memory itself, troff asks malloc
    MAKE       make                a dry run of a makefile with many rules
    ESPRESSO   berkeley-abc        a random PLA, collapsed and factored
    PTC        spin                a model of many processes, to C; frees nothing, as PTC does
               f2c                 a Fortran program, to C; frees what PTC would keep
    besides    perl                words of a text and those that follow them

The first input is measured; the second, smaller and from another seed, is for the choice of classes. Each takes up to
a second natively, some ten to thirty under callgrind. Inputs are the same on every machine and written once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from millpond.rounds.real_program import RealProgram, require_program
from millpond_bench.programs.real_programs import PERL, write_once

PURPOSE = "bench-study"  # of scripts/setup
_DICTIONARY = """
{ for (i = 1; i <= NF; ++i) ++count[$i] }
END {
    n = asorti(count, words)
    for (i = 1; i <= n; ++i) {
        entry = words[i] " (" count[words[i]] ")"
        if (length(line entry) > 72) { print line; line = "" }
        line = line == "" ? entry : line ", " entry
    }
    print line
}
"""
# No macros and fonts of the user's own.
_GROFF = {"GROFF_TMAC_PATH": "", "GROFF_FONT_PATH": "", "LC_ALL": "C"}
_LOGIC = "read_pla {}; strash; dc2; collapse; sop; fx; strash; dc2; print_stats"


@dataclass(frozen=True)
class StudyProgram:
    """A program with the measured input, and with the input for the choice of classes; `stands_for` a program of the
    paper, or none.
    """

    stands_for: str
    executable: str
    measured: Callable[[Path], RealProgram]
    trained: Callable[[Path], RealProgram]


def _require(name: str) -> str:
    return require_program(name, PURPOSE)


def _text(seed: int, lines: int) -> str:
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 12))) for _ in range(lines)]
    return "".join(" ".join(rng.choices(words, k=8)) + "\n" for _ in range(lines))


def gawk(seed: int, lines: int, folder: Path) -> RealProgram:
    text = write_once(folder / f"dictionary_{lines}.txt", lambda: _text(seed, lines))
    return RealProgram("gawk", (_require("gawk"), _DICTIONARY), text, {"LC_ALL": "C"})


def perl(seed: int, lines: int, folder: Path) -> RealProgram:
    """Words with those that follow them, in hashes of arrays."""
    text = write_once(folder / f"dictionary_{lines}.txt", lambda: _text(seed, lines))
    return RealProgram("perl", (_require("perl"), "-e", PERL), text, {"PERL_HASH_SEED": "0"})


def _pages(seed: int, pages: int, lines: int, curves: int) -> str:
    rng = random.Random(seed)
    parts = ["%!PS\n/Helvetica findfont 9 scalefont setfont\n/seen 2000 dict def\n"]
    for _ in range(pages):
        for line in range(lines):
            words = " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(9))
            parts.append(f"30 {800 - 11 * line} moveto ({words}) dup length string cvs show\n")
            parts.append(f"seen {rng.randrange(1999)} [ {rng.random():.3f} {line} ({words[:8]}) ] put\n")
        for _ in range(curves):
            points = " ".join(str(rng.randrange(600)) for _ in range(6))
            parts.append(f"{rng.random():.2f} setgray 300 400 moveto {points} curveto stroke\n")
        parts.append("showpage\n")
    return "".join(parts)


def ghostscript(kind: str, seed: int, pages: int, lines: int, curves: int, folder: Path) -> RealProgram:
    page = write_once(folder / f"pages_{kind}_{seed}.ps", lambda: _pages(seed, pages, lines, curves))
    options = ("-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-dNODISPLAY")
    return RealProgram(f"gs {kind}", (_require("gs"), *options, str(page)))


def _manual(seed: int, sections: int) -> str:
    """A manual in the macros of man pages: six paragraphs of five lines a section, with changes of font."""
    rng = random.Random(seed)

    def words(number: int) -> str:
        return " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 10))) for _ in range(number))

    parts = [".TH TOOL 1\n"]
    for _ in range(sections):
        parts.append(f".SH {words(2)}\n")
        for _ in range(6):
            parts.append(rng.choice((".PP\n", f".TP\n.B {words(1)}\n", ".IP \\(bu 3\n")))
            for _ in range(5):
                bold = f" \\fB{words(1)}\\fR {words(1)}" if rng.random() < 0.5 else ""
                parts.append(f"{words(6)}{bold}\n")
    return "".join(parts)


def troff(seed: int, sections: int, folder: Path) -> RealProgram:
    manual = write_once(folder / f"manual_{seed}_{sections}.man", lambda: _manual(seed, sections))
    # The name tells the inputs apart, as that of gs does.
    return RealProgram(f"troff {sections}", (_require("troff"), "-man", "-Tps", str(manual)), environment=_GROFF)


def _makefile(seed: int, targets: int) -> str:
    rng = random.Random(seed)
    names = [f"part_{i}" for i in range(targets)]
    rules = [f"all: {' '.join(names)}\n"]
    for number, name in enumerate(names):
        needed = " ".join(f"header_{rng.randrange(4 * targets)}" for _ in range(12))
        rules.append(f"{name}: flags := -O{number % 4} -DNAME={number}\n{name}: {needed}\n")
        rules.append("\tcompile $(flags) -o $@ $(sort $(filter %1 %3 %7,$^))\n")
    return "".join(rules) + "header_%: ; generate $@\n"


def make(seed: int, targets: int, folder: Path) -> RealProgram:
    rules = write_once(folder / f"rules_{targets}.mk", lambda: _makefile(seed, targets))
    return RealProgram("make", (_require("make"), "-n", "-f", str(rules)))


def _pla(seed: int, inputs: int, cubes: int) -> str:
    rng = random.Random(seed)
    lines = [f"{''.join(rng.choices('01---', k=inputs))} {''.join(rng.choices('0001', k=8))}\n" for _ in range(cubes)]
    return f".i {inputs}\n.o 8\n.p {cubes}\n{''.join(lines)}.e\n"


def logic(seed: int, inputs: int, cubes: int, folder: Path) -> RealProgram:
    table = write_once(folder / f"table_{cubes}.pla", lambda: _pla(seed, inputs, cubes))
    return RealProgram("abc", (_require("berkeley-abc"), "-q", _LOGIC.format(table)))


def _fortran(seed: int, units: int) -> str:
    rng = random.Random(seed)
    parts = []
    for unit in range(units):
        parts += [
            f"      SUBROUTINE WORK{unit}(A, N, B, RESULT)\n      INTEGER N, I\n",
            f"      REAL A(N), B(N), RESULT, TMP{unit}\n      RESULT = 0.0\n",
        ]
        for loop in range(rng.randint(8, 14)):
            parts += [
                f"      DO {100 + loop} I = 1, N\n        TMP{unit} = A(I) * {rng.randrange(99)}.5 + B(N - I + 1)\n",
                f"        IF (TMP{unit} .GT. {loop}.0) THEN\n          RESULT = RESULT + SQRT(ABS(TMP{unit}))\n",
                f"        ELSE\n          RESULT = RESULT - SIN(B(I)) ** 2\n        END IF\n{100 + loop:5d} CONTINUE\n",
            ]
        parts.append("      RETURN\n      END\n")
    return "".join(parts)


def translator(seed: int, units: int, folder: Path) -> RealProgram:
    source = write_once(folder / f"work_{units}.f", lambda: _fortran(seed, units))
    return RealProgram("f2c", (_require("f2c"),), source)


def _model(seed: int, processes: int) -> str:
    rng = random.Random(seed)
    parts = ["chan queue[4] = [8] of {int, int};\n"]
    for process in range(processes):
        parts.append(f"active proctype part{process}() {{\n    int x = {process}; int y;\n")
        for state in range(30):
            parts += [
                f"    do\n    :: x > {rng.randrange(99)} -> x = x - {state}; y = y + x * {rng.randrange(9)}\n",
                f"    :: else -> if :: queue[{rng.randrange(4)}]!{state},x -> skip\n",
                f"               :: y == {rng.randrange(99)} -> break\n               fi\n    od;\n",
            ]
        parts.append("}\n")
    return "".join(parts)


def model_translator(seed: int, processes: int, folder: Path) -> RealProgram:
    """Writes its C program into a folder of its own. `cat` replaces the preprocessor, which would be
    another process.
    """
    model = write_once(folder / f"model_{processes}" / "model.pml", lambda: _model(seed, processes))
    return RealProgram("spin", (_require("spin"), "-Pcat", "-a", model.name), folder=model.parent)


def _gs(kind: str, pages: int, lines: int, curves: int, trained_pages: int = 0) -> StudyProgram:
    fewer = trained_pages or (pages + 1) // 2
    return StudyProgram(
        "GS", "gs", partial(ghostscript, kind, 1, pages, lines, curves),
        partial(ghostscript, kind, 2, fewer, lines, curves),
    )  # fmt: skip


def _troff(sections: int, trained_sections: int = 0) -> StudyProgram:
    fewer = trained_sections or (sections + 1) // 2
    return StudyProgram("GS", "troff", partial(troff, 1, sections), partial(troff, 2, fewer))


PROGRAMS = {
    "gawk": StudyProgram("GAWK", "gawk", partial(gawk, 1, 66_000), partial(gawk, 2, 25_000)),
    "gs small": _gs("small", 2, 20, 50),
    "gs text": _gs("text", 20, 70, 0),
    "gs curves": _gs("curves", 8, 10, 800),
    "gs large": _gs("large", 40, 60, 400, 4),
    "troff small": _troff(26),
    "troff medium": _troff(130),
    "troff large": _troff(350, 40),
    "make": StudyProgram("MAKE", "make", partial(make, 1, 500), partial(make, 2, 200)),
    "abc": StudyProgram("ESPRESSO", "berkeley-abc", partial(logic, 1, 14, 260), partial(logic, 2, 12, 150)),
    "spin": StudyProgram("PTC", "spin", partial(model_translator, 1, 20), partial(model_translator, 2, 8)),
    "f2c": StudyProgram("PTC", "f2c", partial(translator, 1, 150), partial(translator, 2, 60)),
    "perl": StudyProgram("", "perl", partial(perl, 1, 5000), partial(perl, 2, 2500)),
}
