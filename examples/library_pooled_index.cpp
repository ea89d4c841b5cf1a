// SPDX-License-Identifier: BSL-1.0
// library_pooled_index: an index of documents in pooled containers. Old documents move to another index without being
// copied, and memory goes back as the index shrinks.
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <millpond/container.hpp>
#include <string>

namespace {

struct document {
    std::string title;
    int year = 0;
};
using documents = millpond::pooled_map<int, document>;

// Effects: moves documents before `year` from one index to the other. Their nodes stay where they are in memory.
void archive(documents& from, documents& to, int year) {
    for (auto at = from.begin(); at != from.end();) {
        const auto here = at++;
        if (here->second.year < year) to.insert(from.extract(here));
    }
}

}  // namespace

int main() {
    documents current, archived;
    for (int number = 0; number < 100'000; ++number)
        current.emplace(number, document{"document " + std::to_string(number), 1990 + number / 3000});
    const document* const old = &current.at(3);
    const std::size_t full = current.stats().held_bytes;

    archive(current, archived, 2020);
    assert(&archived.at(3) == old);
    assert(current.size() + archived.size() == 100'000);

    archived.clear();
    const std::size_t left = current.stats().held_bytes;
    std::printf("%zu documents in %zu KiB, then %zu in %zu KiB\n", std::size_t{100'000}, full / 1024, current.size(),
                left / 1024);
    assert(left <= full);
    return 0;
}
