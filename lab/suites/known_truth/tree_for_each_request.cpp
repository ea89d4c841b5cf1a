// SPDX-License-Identifier: BSL-1.0
// tree_for_each_request: each request builds a map of texts, looks some up, and drops it.
// By hand: an arena for the request (monotonic, winked out). A trial without an arena can only show a faster malloc.
#include <map>
#include <string>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

template <class Memory>
class request {
  public:
    using text = std::basic_string<char, std::char_traits<char>, typename Memory::template allocator<char>>;

    explicit request(Memory& memory)
        : memory_(memory), fields_(memory.template of<std::pair<const std::uint64_t, text>>(0)) {}

    [[gnu::noinline]] void add(std::uint64_t key, std::size_t length) {
        fields_.emplace(key, text(length, static_cast<char>('a' + key % 26), memory_.template of<char>(0)));
    }
    [[nodiscard]] std::uint64_t found(std::uint64_t key) const {
        const auto place = fields_.lower_bound(key);
        return place == fields_.end() ? 0 : place->second.size() + static_cast<unsigned char>(place->second[0]);
    }

  private:
    Memory& memory_;
    std::map<std::uint64_t, text, std::less<>,
             typename Memory::template allocator<std::pair<const std::uint64_t, text>>>
        fields_;
};

template <class Memory>
[[gnu::noinline]] std::uint64_t answer_request(Memory& memory, random_numbers& draw) {
    held_in<request<Memory>, Memory> held(memory);
    for (int i = 0; i < 300; ++i) held.get().add(draw.below(1'000'000), 24 + draw.below(80));
    std::uint64_t sum = 0;
    for (int i = 0; i < 20; ++i) sum += held.get().found(draw.below(1'000'000));
    return sum;
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    random_numbers draw(2);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        sum = sum * 31 + answer_request(memory, draw);
        memory.end(0);
    }
    return sum;
}

}  // namespace

const known_program tree_for_each_request{
    "tree_for_each_request", "an arena for each request, winked out", run<heap>, run<arenas_winked_out<1>>, 5000,
    run<arenas<1>>};

}  // namespace millpond::suites
