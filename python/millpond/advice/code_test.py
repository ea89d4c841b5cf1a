# SPDX-License-Identifier: BSL-1.0
"""Writes the test of a written header: it checks in checked mode that each container behaves as the standard one.

Runs the same random operations on a container of the header and on a standard one. Both must have the same contents,
and nothing may stay allocated. In checked mode the allocators report every misuse with the place of the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from millpond.advice.code_bytes import HEAD, found_by
from millpond.advice.code_header import ALIASES, BYTES, HEADER, MAKE, RESOURCE, is_by_address, one_line, wanted
from millpond.advice.code_homes import FUNCTION, INSTANCE, PHASE, THREAD, AdvisedAllocator

TEST = "millpond_advice_test.cpp"
_SEQUENCES = ("vector", "deque", "list")
_SETS = ("set", "multiset", "unordered_set", "unordered_multiset")
_MAPS = ("map", "multimap", "unordered_map", "unordered_multimap")
_LETTERS = {"string": "char", "wstring": "wchar_t"}
_STREAMS = ("stringstream", "ostringstream")


def test(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the test."""
    names = {n for home in homes for n in wanted(home)}
    standard = {"cstdio", "cstdlib", "random", "string", "thread", "utility", "algorithm", "iterator"}
    standard |= {ALIASES[n] for n in names if n in ALIASES} | (
        {"list", "memory_resource"} if RESOURCE in names else set()
    )
    lines = [
        f"// Compares the containers of {HEADER} with those of the standard library.",
        "//",
        f"// The header was written for {one_line(program)}. Compile with -DMILLPOND_CHECKED; the argument is a seed.",
        f'#include "{HEADER}"',
        "",
        *[f"#include <{name}>" for name in sorted(standard)],
        "",
        _SUPPORT,
        *[_on_both(code) for need, code in _PARTS if not need or need & names],
        "}  // namespace",
        "",
        "int main(int count, char** arguments) {",
        "    const unsigned seed = count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10))",
        "                                    : std::random_device()();",
        '    std::printf("seed %u\\n", seed);',
        "    dice random(seed);",
        *[f"    {line}" for home in homes for line in _home(home)],
        '    std::printf(failures == 0 ? "ok\\n" : "%d failures\\n", failures);',
        "    return failures == 0 ? 0 : 1;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _home(home: AdvisedAllocator) -> list[str]:
    """Returns the rounds of one allocator, in its scope."""
    body = [f"    {call}" for name in wanted(home) for call in _calls(home, name)]
    if home.kind == FUNCTION:
        body = [f"    {home.space}::scope scope;", *body, "    millpond::expect_empty(scope.arena());"]
    elif home.kind not in (PHASE, INSTANCE):
        body.append(f"    millpond::expect_empty({home.space}::pool());")
    lines = ["for (int round = 0; round < rounds; ++round) {", *body, "}"]
    if home.kind == THREAD:
        lines = ["std::thread([&] {", *[f"    {line}" for line in lines], "}).join();"]
    return lines


def _bytes(resize: str, free: str) -> str:
    """Returns the comparison of a way to resize blocks and a way to free them."""
    parameters = "[[maybe_unused]] std::size_t held, std::size_t n"
    return (
        f"compare_bytes([](void* b, {parameters}) {{ return {resize}; }}, "
        f"[](void* b, [[maybe_unused]] std::size_t n) {{ {free}; }}, random);"
    )


def _calls(home: AdvisedAllocator, name: str) -> list[str]:
    space = home.space
    if name in _SEQUENCES:
        return [f"compare_sequences<{space}::{name}<{t}>, std::{name}<{t}>>(random);" for t in ("int", "record")]
    if name in _SETS:
        return [f"compare_sets<{space}::{name}<int>, std::{name}<int>>(random);"]
    if name in _MAPS:
        return [f"compare_maps<{space}::{name}<int, record>, std::{name}<int, record>>(random);"]
    if name == "forward_list":
        return [f"compare_forward_lists<{space}::forward_list<record>, std::forward_list<record>>(random);"]
    if name in _LETTERS:
        return [f"compare_strings<{space}::{name}, std::{name}>(random);"]
    if name == "basic_string":
        return [f"compare_strings<{space}::basic_string<char>, std::string>(random);"]
    if name in ("stack", "queue", "priority_queue"):
        return [f"compare_adaptors<{space}::{name}<int>, std::{name}<int>>(random);"]
    if name in _STREAMS:
        return [f"compare_streams<{space}::{name}, std::{name}>(random);"]
    if name == "shared_ptr":
        return [f"expect(*std::shared_ptr<record>({space}::make_shared<record>(7)) == record(7));"]
    if name == "unique_ptr":
        return [f"expect(*{space}::make_unique<record>(7) == record(7));"]
    if name == MAKE:
        return [f"{{ record* made = {space}::make<record>(7); expect(*made == record(7)); {space}::destroy(made); }}"]
    if name == BYTES:
        resize, free = f"{space}::resize_bytes", f"{space}::deallocate_bytes"
        sized = _bytes(f"{resize}(b, held, n)", f"{free}(b, n)")
        by_address = _bytes(f"b == nullptr ? {space}::allocate_bytes(n) : {resize}(b, n)", f"{space}::free_bytes(b)")
        if not is_by_address(home):
            return [by_address if found_by(home) == HEAD else sized]
        owned = (
            f"{{ void* one = {space}::allocate_bytes(50); void* other = std::malloc(50); expect({space}::owns(one) && "
            f"!{space}::owns(other)); {space}::free_bytes(one); {space}::free_bytes(other); }}"
        )
        return [sized, by_address, owned]
    if name == RESOURCE:
        return [f"compare_resource({space}::resource(), random);"]
    return []


_SUPPORT = """\
namespace {

constexpr int rounds = 3;
constexpr int operations = 300;
int failures = 0;

// Draws the same numbers with every standard library.
class dice {
  public:
    explicit dice(unsigned seed) : engine_(seed) {}
    int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }

  private:
    std::mt19937 engine_;
};

void expect_at(bool holds, int line) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "line %d: the containers differ\\n", line);
}
#define expect(condition) expect_at((condition), __LINE__)

struct record {
    int number = 0;
    std::string text;

    record() = default;
    record(int n) : number(n), text(static_cast<std::size_t>(n % 50), 'x') {}
    friend bool operator==(const record& a, const record& b) { return a.number == b.number && a.text == b.text; }
    friend bool operator<(const record& a, const record& b) { return a.number < b.number; }
};

template <class A, class B>
[[maybe_unused]] void expect_same(const A& a, const B& b) {
    expect(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}
"""


def _compare(name: str, turn: str, after: str = "") -> str:
    """Returns a function that compares two containers: each step is a `turn`, and `after` comes at the end."""
    return f"""\
template <class A, class B>
void compare_{name}(dice& random) {{
    A ours;
    B theirs;
    for (int i = 0; i < operations; ++i) {{
{turn}    }}
{after}}}
"""


def _on_both(code: str) -> str:
    """Returns the code with each line about `both` written twice, once for ours and once for theirs."""
    return re.sub(r".*\bboth\b.*\n", lambda m: "".join(m[0].replace("both", one) for one in ("ours", "theirs")), code)


_KEYED = """\
        const int key = random.below(100);
        if (random.below(3) > 0) {
            both.add;
        } else {
            expect(ours.erase(key) == theirs.erase(key));
        }
        expect(ours.count(key) == theirs.count(key));
"""
_COPIED = """\
    A copy = ours, moved = std::move(ours), other;
    other = copy;
    swap(other, moved);
"""
_PARTS: tuple[tuple[set[str], str], ...] = (
    (set(_SEQUENCES), _compare("sequences", """\
        const int value = random.below(1000), at = random.below(static_cast<int>(ours.size()) + 1);
        if (random.below(3) > 0 || ours.empty()) {
            both.insert(std::next(both.begin(), at), value);
        } else if (at < static_cast<int>(ours.size())) {
            both.erase(std::next(both.begin(), at));
        }
        both.push_back(value);
""", _COPIED + """\
    copy.clear();
    copy = std::move(other);
    expect_same(copy, theirs);
    expect_same(moved, theirs);
""")),
    ({"forward_list"}, _compare("forward_lists", """\
        const int value = random.below(1000);
        if (random.below(3) > 0 || ours.empty()) {
            both.push_front(value);
        } else {
            both.pop_front();
        }
""", """\
    both.sort();
    const A copy = ours;
    expect_same(copy, theirs);
""")),
    (set(_SETS), _compare("sets", _KEYED.replace("add", "insert(key)"), _COPIED + """\
    expect(moved == other);
    expect(copy.size() == theirs.size());
    for (const int key : theirs) expect(copy.count(key) == theirs.count(key));
""")),
    (set(_MAPS), _compare("maps", _KEYED.replace("add", "emplace(key, record(key))"), _COPIED + """\
    expect(moved.size() == theirs.size() && other.size() == theirs.size());
    for (const auto& [key, value] : theirs) {
        expect(copy.count(key) == theirs.count(key));
        expect(copy.find(key)->second == value);
    }
""")),
    ({"string", "wstring", "basic_string"}, """\
template <class A, class B>
void compare_strings(dice& random) {
    using letter = typename A::value_type;
    A ours;
    B theirs;
    for (int i = 0; i < operations; ++i) {
        const auto count = static_cast<std::size_t>(random.below(20));
        const auto value = static_cast<letter>('a' + random.below(26));
        if (random.below(4) > 0) {
            both.append(count, value);
        } else if (ours.size() >= count) {
            both.erase(both.size() - count);
        }
    }
    const A copy = ours + ours;
    expect_same(copy, theirs + theirs);
}
"""),
    ({"stack", "queue", "priority_queue"}, """\
template <class A>
[[maybe_unused]] auto first_of(const A& adaptor) {
    if constexpr (requires { adaptor.top(); })
        return adaptor.top();
    else
        return adaptor.front();
}

""" + _compare("adaptors", """\
        const int value = random.below(1000);
        if (random.below(3) > 0 || ours.empty()) {
            both.push(value);
        } else {
            both.pop();
        }
        expect(ours.empty() == theirs.empty() && (ours.empty() || first_of(ours) == first_of(theirs)));
""")),
    (set(_STREAMS), _compare("streams", """\
        const int value = random.below(1000000);
        both << value << ' ' << "text";
""", """\
    const auto text = ours.str();
    expect_same(text, theirs.str());
""")),
    ({BYTES}, """\
template <class Resize, class Free>
void compare_bytes(Resize resize, Free free_block, dice& random) {
    unsigned char* block = nullptr;
    int held = 0;
    for (int i = 0; i < operations; ++i) {
        const int bytes = 1 + random.below(random.below(20) == 0 ? 50000 : 500);
        const auto had = static_cast<std::size_t>(held), wanted = static_cast<std::size_t>(bytes);
        block = static_cast<unsigned char*>(resize(block, had, wanted));
        expect(block != nullptr);
        if (block == nullptr) return;
        for (int k = 0; k < std::min(held, bytes); ++k) expect(block[k] == k % 251);
        for (int k = 0; k < bytes; ++k) block[k] = static_cast<unsigned char>(k % 251);
        held = bytes;
    }
    free_block(block, static_cast<std::size_t>(held));
}
"""),
    ({RESOURCE}, """\
void compare_resource(std::pmr::memory_resource* resource, dice& random) {
    std::pmr::list<int> ours(resource);
    std::list<int> theirs;
    for (int i = 0; i < operations; ++i) {
        const int value = random.below(1000);
        both.push_back(value);
        if (random.below(3) == 0) {
            both.pop_front();
        }
    }
    expect_same(ours, theirs);
}
"""),
)  # fmt: skip
