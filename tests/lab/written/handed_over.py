# SPDX-License-Identifier: BSL-1.0
"""Planted programs that allocate and free blocks in different files, and applies the changes of an advice to them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from compiling import characterised

from millpond.advice.advice_data import Advice, SourceChange
from millpond.advice.code_changes import with_code
from millpond.advice.code_pool import C_HEADER

# One function frees everything, as in lua; a pool is advised for the objects.
C_PROGRAM = {
    "memory.h": """\
#include <stddef.h>
void* xrealloc(void* block, size_t held, size_t bytes);
typedef struct object { struct object* next; size_t bytes; unsigned char text[8]; } object;
object* new_object(object* next, unsigned number);
unsigned free_objects(object* first);
unsigned char* new_text(size_t bytes);
""",
    "memory.c": """\
#include "memory.h"
#include <stdlib.h>
void* xrealloc(void* block, size_t held, size_t bytes) {
    (void)held;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, bytes);
}
""",
    "objects.c": """\
#include "memory.h"
#include <string.h>
object* new_object(object* next, unsigned number) {
    const size_t bytes = sizeof(object) + number % 40;
    object* const made = xrealloc(NULL, 0, bytes);
    made->next = next;
    made->bytes = bytes;
    memset(made->text, (int)(number & 127), bytes - offsetof(object, text));
    return made;
}
unsigned free_objects(object* first) {
    unsigned sum = 0;
    while (first != NULL) {
        object* const next = first->next;
        sum += first->text[0];
        xrealloc(first, first->bytes, 0);
        first = next;
    }
    return sum;
}
unsigned char* new_text(size_t bytes) {
    unsigned char* const made = xrealloc(NULL, 0, bytes);
    memset(made, 1, bytes);
    return made;
}
""",
    "main.c": """\
#include "memory.h"
#include <stdio.h>
int main(void) {
    unsigned sum = 0;
    for (int round = 0; round < 10; ++round) {
        object* all = NULL;
        for (unsigned i = 0; i < 3000; ++i) {
            all = new_object(all, i);
            unsigned char* text = new_text(300 + i % 7);
            text = xrealloc(text, 300 + i % 7, 600);
            sum += text[299];
            xrealloc(text, 600, 0);
        }
        sum += free_objects(all);
    }
    printf("%u\\n", sum);
    return 0;
}
""",
}

# Two places allocate; a third frees both through their base class, in another file.
CPP_PROGRAM = {
    "shapes.hpp": """\
#pragma once
#include <string>
struct shape {
    shape* next = nullptr;
    virtual ~shape() = default;
    virtual int area() const = 0;
};
struct note { int number; char text[60]; };
struct drawing {
    shape* first = nullptr;
    void add_square(int side);
    void add_box(int width, int height);
    int clear();
};
void erase(note* one);
""",
    "make.cpp": """\
#include "shapes.hpp"
namespace {
struct square : shape {
    explicit square(int s) : side(s) {}
    int area() const override { return side * side; }
    int side;
};
struct box : shape {
    box(int w, int h) : width(w), height(h) {}
    int area() const override { return width * height; }
    int width, height;
    std::string name = "a box";
};
}  // namespace
void drawing::add_square(int side) {
    shape* made = new square(side);
    made->next = first;
    first = made;
}
void drawing::add_box(int width, int height) {
    shape* made = new box{width, height};
    made->next = first;
    first = made;
}
""",
    "free.cpp": """\
#include "shapes.hpp"
int drawing::clear() {
    int sum = 0;
    while (first != nullptr) {
        shape* const old = first;
        first = old->next;
        sum += old->area();
        delete old;
    }
    return sum;
}
void erase(note* one) { delete one; }
""",
    "main.cpp": """\
#include "shapes.hpp"
#include <cstdio>
int main() {
    drawing all;
    int sum = 0;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 1000; ++i) {
            all.add_square(i % 10);
            all.add_box(i % 7, i % 5);
            if (i % 4 == 0) erase(new note{i, "text"});
        }
        sum += all.clear();
    }
    std::printf("%d\\n", sum);
    return 0;
}
""",
}


def planted(files: Mapping[str, str], folder: Path) -> Path:
    """Writes the files of a program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def build(compiler: str, folder: Path, *options: str) -> Path:
    """Compiles all sources of a folder together; a warning fails the test."""
    sources = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".cpp"))
    command = [compiler, *options, *map(str, sources), "-o", str(folder / "program")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:4000]}"
    return folder / "program"


def output(program: Path) -> str:
    """Returns the output of a program, which must succeed without error messages."""
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), (program, done.returncode, done.stderr[:2000])
    return done.stdout


def advice_for(program: Path, *owners: str, strategy: str = "multipool", apart: bool = False) -> Advice:
    """Returns an advice whose plan gives these subsystems of a recorded run one pool, or one pool each."""
    found = characterised(program)
    groups = [[name] for name in owners] if apart else [list(owners)]
    rows = [{"best": "multipool", **found[name]} for name in owners]
    return Advice.from_json({
        "program": {"argv": ["./program"]}, "verdict": "Give it a pool.", "choice": {"kind": "plan"},
        "effects": {}, "sums": {}, "rounds": 11, "trace": {}, "notes": [], "subsystems": rows,
        "plan": {"program": {"path": "./program", "build_id": "ab"},
                 "routes": [{"subsystems": group, "pool": group[0], "strategy": strategy} for group in groups]},
    })  # fmt: skip


def changes_of(advice: Advice) -> list[SourceChange]:
    """Returns all changes of the advised rows, each once."""
    found: list[SourceChange] = []
    for row in with_code(advice).subsystems:
        found += [change for change in (row.code.changes if row.code else ()) if change not in found]
    return found


def apply(changes: list[SourceChange], header: str) -> None:
    """Applies every change that has a line, and includes the header in each changed file."""
    for file in {change.file for change in changes if change.before}:
        lines = Path(file).read_text().split("\n")
        for change in changes:
            if change.file != file or not change.before:
                continue
            assert lines[change.line - 1].strip() == change.before
            lines[change.line - 1] = lines[change.line - 1].replace(change.before, change.after)
        Path(file).write_text(f'#include "{header}"\n' + "\n".join(lines))


def allocate_from(source: Path, *pools: str) -> None:
    """Changes the allocating calls of objects.c in order: each takes its block from one of these pools."""
    objects = source / "objects.c"
    text = objects.read_text()
    for pool in pools:
        text = text.replace("made = xrealloc(NULL, 0, bytes);", f"made = {pool}_allocate(bytes);", 1)
    objects.write_text(f'#include "{C_HEADER}"\n{text}')
