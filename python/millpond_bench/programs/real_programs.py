# SPDX-License-Identifier: BSL-1.0
"""The workloads of `make bench-lab`: real programs, and input for them that is the same on every machine.

    words.txt ──▶ gawk, perl, python3        text whose words are as unevenly frequent as a language's
    load.sql  ──▶ sqlite3                    inserts, an index, joins, grouping
    page.ps   ──▶ ghostscript                dictionaries, strings, curves
    big.ii    ──▶ cc1plus                    a C++ file with twenty standard headers, preprocessed once

Each takes about one to three seconds on a machine of today. Inputs are written once into a folder and kept there.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from millpond.rounds.real_program import RealProgram, require_program
from millpond.system import native, output
from millpond.system.errors import Failure, Status, cannot_write

_VOCABULARY = 20_000
_WORDS = 1_800_000
_WORDS_A_LINE = 12
# The number of orders for examples/orders when advice is asked for.
EXAMPLE_ORDERS = 70_000

_AWK = """
{ for (i = 1; i <= NF; i++) { seen[$i]++; starts[substr($i, 1, 3)] = starts[substr($i, 1, 3)] + length($i) } }
END { for (w in seen) if (seen[w] > 99) frequent[w] = seen[w] " of " w; for (w in frequent) print frequent[w] | "sort" }
"""

PERL = """
use strict; use warnings;
my (%seen, %follows, $before);
while (my $line = <STDIN>) {
  for my $word (split ' ', $line) {
    $seen{$word}++;
    push @{$follows{$before}}, $word if defined $before && $seen{$word} < 40;
    $before = $word;
  }
}
my @order = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
print "$_ $seen{$_} @{[scalar @{$follows{$_} || []}]}\\n" for @order[0 .. 99];
"""

_PYTHON = """
import sys
seen, follows, before = {}, {}, ''
for line in sys.stdin:
    for word in line.split():
        seen[word] = seen.get(word, 0) + 1
        if seen[word] < 10: follows.setdefault(before, []).append((word, seen[word]))
        before = word
for word in sorted(seen, key=lambda w: (-seen[w], w))[:100]: print(word, seen[word], len(follows.get(word, [])))
"""

_SQL = """
pragma journal_mode = off;
create table item(id integer primary key, name text, shelf int, price real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 250000)
insert into item select i, 'item ' || (i * 7919 % 40009), i * 31 % 997, (i * 104729 % 100003) / 100.0 from c;
create index by_name on item(name);
create table sale as select (id * 7 % 250000) + 1 as item, id % 365 as day, id % 7 + 1 as amount from item;
select shelf, count(*), sum(price) from item group by shelf order by 3 desc limit 10;
select i.name, sum(s.amount * i.price) as paid from sale s join item i on i.id = s.item
  group by i.name order by 2 desc limit 10;
select a.name, count(*) from item a join item b on a.name = b.name and a.id < b.id
  group by a.name order by 2 desc, 1 limit 10;
select day, group_concat(name, ',')
  from (select s.day, i.name from sale s join item i on i.id = s.item where s.day < 3);
update item set name = upper(name) || ' (' || shelf || ')' where id % 3 = 0;
delete from item where id % 5 = 0;
select count(*), max(length(name)) from item;
"""

_POSTSCRIPT = """%!PS
/Helvetica findfont 9 scalefont setfont
/table 40000 dict def
0 1 39999 { dup 20 string cvs dup length string copy exch table 3 1 roll exch cvn exch put } for
1 1 40 { /page exch def
  0 1 70 { /line exch def 30 line 11 mul 20 add moveto
    0 1 9 { line 10 mul add page 700 mul add 40000 mod
      20 string cvs cvn table exch get 20 string cvs show ( ) show } for } for
  0 1 200 { /i exch def i 200 div page 40 div 0.4 setrgbcolor
    300 400 moveto i 3 mul i 7 mul 500 i sub i 2 mul i 2 mul 700 i sub curveto stroke } for
  /parts [ 0 1 3000 { 20 string cvs } for ] def
showpage } for
"""

_CPP_HEADERS = (
    "algorithm", "array", "bitset", "chrono", "complex", "deque", "filesystem", "fstream", "functional", "future",
    "iomanip", "iostream", "list", "map", "memory", "random", "regex", "set", "sstream", "string", "thread", "tuple",
    "unordered_map", "variant", "vector",
)  # fmt: skip


def _words() -> str:
    rng = random.Random(20)
    letters = "eeeeetttaaaooiinnsshhrrddlluucmfwygpbvk"
    vocabulary = sorted({"".join(rng.choices(letters, k=rng.randint(2, 12))) for _ in range(_VOCABULARY)})
    rng.shuffle(vocabulary)
    drawn = rng.choices(vocabulary, weights=[1 / rank for rank in range(1, len(vocabulary) + 1)], k=_WORDS)
    lines = (" ".join(drawn[i : i + _WORDS_A_LINE]) for i in range(0, _WORDS, _WORDS_A_LINE))
    return "\n".join(lines) + "\n"


def _cpp() -> str:
    headers = "".join(f"#include <{name}>\n" for name in _CPP_HEADERS)
    uses = "".join(
        f"struct kind{i} {{\n"
        "    int value;\n"
        "    std::string name;\n"
        f"    bool operator<(const kind{i}& other) const {{ return value < other.value; }}\n"
        "};\n"
        f"int use{i}(std::map<kind{i}, std::vector<kind{i}>>& all, const std::string& text) {{\n"
        f"    std::vector<kind{i}> some(text.size(), kind{i}{{{i}, text}});\n"
        "    std::sort(some.begin(), some.end());\n"
        f"    all[some.at({i})] = some;\n"
        f'    return std::regex_match(text, std::regex("a{i}.*")) + static_cast<int>(all.size());\n'
        "}\n"
        for i in range(2)
    )
    return headers + uses


def _preprocessed(source: Path) -> str:
    made = subprocess.run(["g++", "-std=c++20", "-E", "-P", str(source)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"g++ cannot preprocess {source}: {made.stderr.strip()}")
    return made.stdout


def write_once(path: Path, make: Callable[[], str]) -> Path:
    """Creates the input at `path` unless it exists. Failure (4) if it cannot be written."""
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        output.write_text(path, make())
    return path


def heap_churn(threads: int, events: int, live: int = 200_000) -> RealProgram:
    """The recording workload of lab/suites."""
    options = ("--threads", str(threads), "--events", str(events), "--live", str(live))
    name = f"heap_churn, {threads} thread{'s' if threads > 1 else ''}" + ("" if live == 200_000 else f", {live} live")
    return RealProgram(name, (str(native.find("heap_churn")), *options))


def hot_loop(events: int) -> RealProgram:
    return RealProgram("hot_loop", (str(native.find("hot_loop")), "--events", str(events)))


def call_trees(shape: int, rounds: int) -> RealProgram:
    """Programs whose stacks seldom recur; the source explains the shapes."""
    return RealProgram(
        f"call_trees shape {shape}", (str(native.find("call_trees")), "--shape", str(shape), "--rounds", str(rounds))
    )


def gawk(folder: Path) -> RealProgram:
    words = write_once(folder / "words.txt", _words)
    return RealProgram("gawk", (require_program("gawk"), _AWK), words, {"LC_ALL": "C"})


def perl(folder: Path) -> RealProgram:
    words = write_once(folder / "words.txt", _words)
    return RealProgram("perl", (require_program("perl"), "-e", PERL), words, {"LC_ALL": "C", "PERL_HASH_SEED": "0"})


def python3(folder: Path, search: str | None = None) -> RealProgram:
    """The interpreter itself (`python3` may be a script), on the C library's malloc; `search` replaces PATH."""
    words = write_once(folder / "words.txt", _words)
    asked = subprocess.run(
        [require_program("python3", search=search), "-c", "import os, sys; print(os.path.realpath(sys.executable))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    return RealProgram("python3", (asked.stdout.strip(), "-s", "-S", "-c", _PYTHON), words, environment)


def sqlite3(folder: Path) -> RealProgram:
    return RealProgram(
        "sqlite3", (require_program("sqlite3"), ":memory:"), write_once(folder / "load.sql", lambda: _SQL)
    )


def ghostscript(folder: Path) -> RealProgram:
    page = write_once(folder / "page.ps", lambda: _POSTSCRIPT)
    options = ("-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=txtwrite", "-sOutputFile=/dev/null")
    return RealProgram("ghostscript", (require_program("gs"), *options, str(page)))


def cc1plus(folder: Path, name: str = "big", make: Callable[[], str] = _cpp) -> RealProgram:
    """The compiler proper, without the driver g++. `name` is the name of the source that `make` writes."""
    gpp = require_program("g++")
    asked = subprocess.run([gpp, "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    source = write_once(folder / f"{name}.cpp", make)
    whole = write_once(folder / f"{name}.ii", lambda: _preprocessed(source))
    options = ("-quiet", "-fpreprocessed", "-std=c++20", str(whole), "-o", "/dev/null")
    return RealProgram("cc1plus", (require_program(asked.stdout.strip()), *options))
