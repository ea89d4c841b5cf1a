# SPDX-License-Identifier: BSL-1.0
"""Real programs with input that is the same on every machine, each about a second or less."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from harness import Program

_AWK = """
{ for (i = 1; i <= NF; i++) { seen[tolower($i)]++; line[NR] = line[NR] "-" $i } }
END { for (w in seen) printf "%s %d\\n", w, seen[w] | "sort"; close("sort"); print length(line[NR]) > "last.txt" }
"""

_PERL = """
use strict; use warnings;
my (%seen, @kept);
while (my $line = <STDIN>) {
  for my $w (split ' ', $line) { $seen{$w}{length $w}++; push @kept, {word => $w, at => $.}; }
}
open my $out, '>', 'words.txt' or die; print $out "$_ @{[%{$seen{$_}}]}\\n" for sort keys %seen; close $out;
my $text = join ',', map { "$_->{word}:$_->{at}" } sort { $a->{word} cmp $b->{word} || $a->{at} <=> $b->{at} } @kept;
$text =~ s/(\\w+):(\\d+)/$2$1/g;
printf "%d %s\\n", length $text, unpack '%32C*', $text;
warn "a warning\\n"; exit 3;
"""

_PYTHON = """
import json, re, sys
words = sys.stdin.read().split()
table = {w: [len(w), words.count(w)] for w in sorted(set(words))[:300]}
open('table.json', 'w').write(json.dumps(table, indent=1))
class Node:
    def __init__(self, below): self.below = below
tree = None
for i in range(50000): tree = Node([tree, i]) if i % 100 else None
print(len(re.sub('[aeiou]', '', ' '.join(words))), sum(i * i for i in range(10000)))
sys.exit(5)
"""

_SQL = """
create table a(id integer primary key, word text, n int);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000)
insert into a select i, 'word' || (i * 7919 % 5003), i * 31 % 1009 from c;
create index by_word on a(word);
select count(*), sum(x.n * y.n) from a x join a y on x.word = y.word and x.id < y.id;
select word, group_concat(n) from (select * from a order by id) group by word order by word limit 20;
select * from nowhere;
"""

_POSTSCRIPT = b"""%!PS
/Helvetica findfont 12 scalefont setfont
0 1 40 { /i exch def 20 i 18 mul 20 add moveto (line ) show i 10 string cvs show
  i 40 div 0.5 0.2 setrgbcolor 300 i 18 mul 20 add i 3 mul 0 360 arc stroke } for
/d 2000 dict def 0 1 1999 { dup 20 string cvs cvn exch d 3 1 roll put } for
(entries ) print d length == showpage
"""

_CPP = b"""
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <class T> struct tree {
    std::map<std::string, std::vector<T>> all;
    void add(T t) { all[std::string(3, 'x')].push_back(t); }
};
int main() {
    tree<int> t;
    for (int i = 0; i < 9; ++i) t.add(i);
    std::sort(t.all.begin()->second.begin(), t.all.begin()->second.end());
    return 7;
}
"""

_GIT = b"""set -e
git init -q . && git config gc.auto 0 && git config pack.threads 2
for i in 1 2 3 4 5; do seq $i 400 > file$i; cp file$i same$i; git add .; git commit -q -m "commit $i"; done
git repack -q -a -d && git log --stat --format='%H %s' && git fsck --full 2>&1 && git diff HEAD~3 --numstat
git rev-parse no-such-thing
"""


def text(words: int, seed: int = 1) -> bytes:
    """Returns lines of made-up words, some frequent and most rare."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 11))) for _ in range(2000)]
    drawn = [vocabulary[int(2000 * rng.random() ** 3)] for _ in range(words)]
    return b"".join(" ".join(drawn[i : i + 11]).encode() + b"\n" for i in range(0, words, 11))


_GHOSTSCRIPT = ("gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r40")

_GIT_IDENTITY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@b.invalid"), ("DATE", "2020-01-01T00:00:00Z"))
    },
}

REAL_PROGRAMS = [
    Program("gawk", ("gawk", _AWK), stdin=text(60_000)),
    Program("ghostscript", (*_GHOSTSCRIPT, "-sOutputFile=page.ppm", "in.ps"), prepare={"in.ps": _POSTSCRIPT}),
    Program("perl", ("perl", "-e", _PERL), stdin=text(30_000)),
    # The interpreter itself: `python3` may be a script that looks for one.
    Program("python3", (str(Path(sys.executable).resolve()), "-s", "-S", "-c", _PYTHON), stdin=text(5_000),
            environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Program("sqlite3", ("sqlite3", "made.db"), stdin=_SQL.encode()),
    Program("g++", ("g++", "-std=c++17", "-O1", "-frandom-seed=1", "-Wl,--build-id=none", "-o", "made", "in.cpp"),
            prepare={"in.cpp": _CPP}),
    Program("git", ("sh", "-e", "in.sh"), prepare={"in.sh": _GIT}, environment=_GIT_IDENTITY, ignore=(".git/index",)),
    Program("threads", ("{programs}/threads", "hand_on", "5000")),
]  # fmt: skip
