// SPDX-License-Identifier: BSL-1.0
// library_growing: words in one growing array, to which string_views refer while it grows.
//
// All words lie in one array whose final size is unknown; each string_view into it is handed out as soon as its word is
// written. In a std::vector the next word could move them all.
#include <cstdio>
#include <map>
#include <millpond/container.hpp>
#include <string>
#include <string_view>

namespace {

// Keeps one copy of every word.
class dictionary {
  public:
    std::string_view word(std::string_view text) {
        if (const auto known = words_.find(text); known != words_.end()) return known->first;
        const char* const begin = letters_.end();
        letters_.append_range(text);
        const std::string_view kept(begin, text.size());
        words_.emplace(kept, words_.size());
        return kept;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return letters_.size(); }

  private:
    millpond::dyn_array<char> letters_{std::size_t{1} << 30};  // addresses for 1 GiB, memory only for what is stored
    std::map<std::string_view, std::size_t> words_;
};

}  // namespace

int main() {
    dictionary all;
    const std::string_view first = all.word("mill");
    for (int i = 0; i < 100'000; ++i) all.word("word " + std::to_string(i));
    const bool stayed = all.word("mill").data() == first.data() && first == "mill";
    std::printf("%zu bytes of words, and the first one has %s\n", all.bytes(), stayed ? "not moved" : "moved");
    return stayed ? 0 : 1;
}
