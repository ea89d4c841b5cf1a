# SPDX-License-Identifier: BSL-1.0
"""More workloads of real programs, for the table of advice on them (`millpond-bench run laboratory.real`).

    items.xml, items.xsl ──▶ xmllint, xsltproc   60 000 and 20 000 items with notes; a key, sorting and templates
    sales.json           ──▶ jq                  grouping and sorting of 60 000 records
    history/             ──▶ git                 a log with patches over 1 200 commits
    build.ninja, many.mk ──▶ ninja, make         a dry run of 30 000 compilations and of 1 000 targets
    work.js              ──▶ node                objects, maps, strings and JSON
    small.ii             ──▶ cc1plus             maps and vectors of six types, preprocessed once
    (a socket)           ──▶ redis               a server, redis-benchmark as its clients, a shutdown

Each takes half a second to two seconds of CPU. Inputs are the same on every machine and are written once.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import defpath
from pathlib import Path

from millpond.rounds.real_program import RealProgram, require_program
from millpond.system.errors import Failure, Status
from millpond_bench.programs import real_programs
from millpond_bench.programs.real_programs import write_once

PURPOSE = "bench-real"  # of scripts/setup
_COMMITS = 1200
_FILES = 40
_LINES = 120
_ITEMS = 60_000
_FEW_ITEMS = 20_000

_CPP = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <int N> struct item {
    int value = N;
    std::string name;
    bool operator<(const item& other) const { return value < other.value; }
    int sum(const std::map<int, item>& all) const { return all.empty() ? 0 : all.begin()->second.value + value; }
};
template <int N> int use(std::map<int, item<N>>& all, std::vector<item<N>>& some) {
    std::sort(some.begin(), some.end());
    for (const auto& one : some) all[one.value] = one;
    if constexpr (N > 0) {
        std::map<int, item<N - 1>> others;
        std::vector<item<N - 1>> rest(some.size());
        return some.front().sum(all) + use<N - 1>(others, rest);
    }
    return 0;
}
int main() {
    std::map<int, item<5>> all;
    std::vector<item<5>> some(9);
    return use<5>(all, some);
}
"""

_STYLE = """<?xml version="1.0"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="html"/>
<xsl:key name="on_shelf" match="item" use="@shelf"/>
<xsl:template match="/items"><html><body>
  <xsl:for-each select="item[generate-id() = generate-id(key('on_shelf', @shelf)[1])]">
    <xsl:sort select="@shelf" data-type="number"/>
    <h2><xsl:value-of select="concat('Shelf ', @shelf)"/></h2>
    <table><xsl:apply-templates select="key('on_shelf', @shelf)">
      <xsl:sort select="name"/>
    </xsl:apply-templates></table>
  </xsl:for-each>
</body></html></xsl:template>
<xsl:template match="item">
  <tr><td><xsl:value-of select="name"/></td><td><xsl:value-of select="format-number(price, '0.00')"/></td>
  <td><xsl:for-each select="note"><xsl:value-of select="concat(position(), ': ', normalize-space(.), '; ')"/>
  </xsl:for-each></td></tr>
</xsl:template>
</xsl:stylesheet>
"""

_FILTER = """
group_by(.shelf) | map({shelf: .[0].shelf, sum: (map(.price * .amount) | add), names: (map(.name) | unique | length)})
| sort_by(-.sum) | .[0:20]
"""

_SCRIPT = """
const items = [];
for (let i = 0; i < 120000; ++i)
  items.push({ id: i, name: `item ${i * 7919 % 40009}`, shelf: i * 31 % 997, tags: [`t${i % 13}`, `u${i % 17}`] });
const shelves = new Map();
for (let turn = 0; turn < 4; ++turn)
  for (const item of JSON.parse(JSON.stringify(items))) {
    const shelf = shelves.get(item.shelf) || { names: new Set(), words: [] };
    shelf.names.add(item.name);
    if (shelf.words.length < 50) shelf.words.push(item.tags.join(' ').toUpperCase().replace(/T(\\\\d)/g, 'x$1'));
    shelves.set(item.shelf, shelf);
  }
const sizes = [...shelves].map(([shelf, { names }]) => [shelf, names.size]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
console.log(sizes.slice(0, 10));
""".replace("\\\\", "\\")

_MAKEFILE = """
names := $(foreach a,0 1 2 3 4 5 6 7 8 9,$(foreach b,0 1 2 3 4 5 6 7 8 9,$(foreach c,0 1 2 3 4 5 6 7 8 9,$a$b$c)))
parts := $(addprefix part_,$(names))
objects := $(patsubst %,out/%.o,$(parts))
define rule
out/$(1).o: flags_$(1) := -O2 -DNAME=$(1) $(addprefix -Iinclude/,$(wordlist 1,100,$(names)))
out/$(1).o: $(addprefix header_,$(wordlist 1,600,$(names)))
	compile $$(flags_$(1)) -o $$@ $$(filter %7 %9,$$^) $$(sort $$(notdir $$^))
endef
all: $(objects)
	link -o $@ $(sort $(objects))
$(foreach p,$(parts),$(eval $(call rule,$p)))
header_%: ; generate $@
"""

_REDIS = """
socket=$1/redis.sock
redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no --logfile /dev/null &
server=$!
until redis-cli -s "$socket" ping > /dev/null 2>&1; do
    kill -0 "$server" || exit 1
    sleep 0.05
done
redis-benchmark -s "$socket" -q -P 16 -c 20 -r 50000 -n 60000 -t set,get,lpush,lpop,sadd,hset,zadd > /dev/null
redis-cli -s "$socket" shutdown nosave
wait "$server"
"""


def _words(rng: random.Random, count: int) -> str:
    return " ".join(f"word{rng.randrange(5000)}" for _ in range(count))


def _xml(items: int) -> str:
    rng = random.Random(items)
    lines = (
        f'<item id="{i}" shelf="{i * 31 % 97}"><name>item {rng.randrange(40009)}</name>'
        f"<price>{rng.randrange(100000) / 100}</price>"
        + "".join(f'<note by="{rng.randrange(50)}">{_words(rng, 6)}</note>' for _ in range(i % 6))
        + "</item>\n"
        for i in range(items)
    )
    return f'<?xml version="1.0"?>\n<items>\n{"".join(lines)}</items>\n'


def _sales() -> str:
    rng = random.Random(3)
    records = (
        {"name": f"item {rng.randrange(9000)}", "shelf": rng.randrange(997), "price": rng.randrange(100000) / 100,
         "amount": rng.randrange(1, 9), "tags": [f"tag {rng.randrange(30)}" for _ in range(rng.randrange(4))]}
        for _ in range(60_000)
    )  # fmt: skip
    return json.dumps(list(records))


def _history() -> Iterator[str]:
    """A history for `git fast-import`: each commit changes some lines of four files."""
    rng = random.Random(4)
    files = [[_words(rng, 8) for _ in range(_LINES)] for _ in range(_FILES)]
    for number in range(_COMMITS):
        message = _words(rng, 12)
        yield f"commit refs/heads/main\ncommitter A <a@example.org> {1_600_000_000 + 600 * number} +0000\n"
        yield f"data {len(message)}\n{message}\n"
        for chosen in range(_FILES) if number == 0 else rng.sample(range(_FILES), 4):
            for _ in range(5):
                files[chosen][rng.randrange(_LINES)] = _words(rng, 8)
            text = "\n".join(files[chosen]) + "\n"
            yield f"M 100644 inline folder{chosen % 5}/file{chosen}.txt\ndata {len(text)}\n{text}\n"


def _repository(folder: Path, git: str, environment: dict[str, str]) -> Path:
    place, part = folder / "history.git", folder / "history.git.part"
    if place.is_dir():
        return place
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    for arguments, text in ((["init", "-q", "--bare", str(part)], ""),
                            (["-C", str(part), "fast-import", "--quiet"], "".join(_history()))):  # fmt: skip
        done = subprocess.run(
            [git, *arguments], input=text, text=True, capture_output=True, check=False, env=environment
        )
        if done.returncode != 0:
            raise Failure(Status.ENVIRONMENT, f"git cannot make {place}: {done.stderr.strip()}")
    return part.rename(place)


def _ninja() -> str:
    """300 folders of 100 sources; the build writes sources and headers, so that none has to exist."""
    parts = ["rule compile\n  command = compile -MD -c $in -o $out $flags\n", "rule write\n  command = write $out\n",
             "rule link\n  command = link -o $out $in\n"]  # fmt: skip
    for g in range(300):
        sources, objects = ([f"{place}/{g}/{i}" for i in range(100)] for place in ("source", "out"))
        headers = [f"include/{g}/{i}.h" for i in range(7)]
        parts.append(f"build {' '.join(sources + headers)}: write\nbuild out/{g}/stamp: link\n")
        parts += [
            f"build {made}: compile {source} | {headers[i % 7]} || out/{g}/stamp\n"
            f"  flags = -O2 -Iinclude/{g} -DNAME={g}_{i}\n"
            for i, (made, source) in enumerate(zip(objects, sources, strict=True))
        ]
        parts.append(f"build out/{g}/program: link {' '.join(objects)}\n")
    return "".join(parts)


def python3(folder: Path) -> RealProgram:
    """The system's interpreter in its default mode: small objects come from its own pools."""
    workload = real_programs.python3(folder, search=defpath)
    return replace(workload, environment={"PYTHONHASHSEED": "0"})


def _require(name: str) -> str:
    return require_program(name, PURPOSE)


def cc1plus(folder: Path) -> RealProgram:
    """The compiler proper, on a short file of its own: the file of the other rows takes it five seconds."""
    return real_programs.cc1plus(folder, "small", lambda: _CPP)


def xmllint(folder: Path, items: int = _ITEMS) -> RealProgram:
    """Numbers of items other than the usual one have a file of their own."""
    name = "items.xml" if items == _ITEMS else f"items_{items}.xml"
    file = write_once(folder / name, lambda: _xml(items))
    query = "count(//item[note/@by = '7']) + sum(//item[@shelf = '5']/price)"
    return RealProgram("xmllint", (_require("xmllint"), "--xpath", query, str(file)))


def xsltproc(folder: Path, items: int = _FEW_ITEMS) -> RealProgram:
    """Numbers of items other than the usual one have a file of their own."""
    style = write_once(folder / "items.xsl", lambda: _STYLE)
    file = write_once(folder / ("few_items.xml" if items == _FEW_ITEMS else f"items_{items}.xml"), lambda: _xml(items))
    return RealProgram("xsltproc", (_require("xsltproc"), "-o", "/dev/null", str(style), str(file)))


def jq(folder: Path) -> RealProgram:
    return RealProgram("jq", (_require("jq"), _FILTER, str(write_once(folder / "sales.json", _sales))))


def git(folder: Path) -> RealProgram:
    own = _require("git")
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    place = _repository(folder, own, environment)
    return RealProgram(
        "git", (own, "--no-pager", "--git-dir", str(place), "log", "-p", "--stat", "main"), None, environment
    )


def ninja(folder: Path) -> RealProgram:
    manifest = write_once(folder / "build.ninja", _ninja)
    return RealProgram("ninja", (_require("ninja"), "-n", "-f", str(manifest)))


def make(folder: Path) -> RealProgram:
    makefile = write_once(folder / "many.mk", lambda: _MAKEFILE)
    return RealProgram("make", (_require("make"), "-n", "-r", "-f", str(makefile), "all"))


def node(folder: Path) -> RealProgram:
    return RealProgram("node", (_require("node"), str(write_once(folder / "work.js", lambda: _SCRIPT))))


def redis(folder: Path) -> RealProgram:
    for name in ("redis-server", "redis-benchmark", "redis-cli"):
        _require(name)
    return RealProgram("redis", (_require("sh"), "-c", _REDIS, "redis", str(folder)))


# In the order of the table.
PROGRAMS: dict[str, Callable[[Path], RealProgram]] = {
    "gawk": real_programs.gawk, "perl": real_programs.perl, "python3": python3, "sqlite3": real_programs.sqlite3,
    "gs": real_programs.ghostscript, "cc1plus": cc1plus, "xmllint": xmllint, "xsltproc": xsltproc,
    "jq": jq, "git": git, "ninja": ninja, "redis": redis, "node": node, "make": make,
}  # fmt: skip
