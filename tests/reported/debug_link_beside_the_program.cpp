// SPDX-License-Identifier: BSL-1.0
// Report: KDAB/hotspot 265, KDAB/hotspot 128
// Situation: a program is stripped, and its symbols lie in a file next to it that .gnu_debuglink names.
// Holds: the program's own class owns the allocations, as from the plain build.
// Build: $CXX -O1 -g -std=c++20 $SOURCE -o program && objcopy --only-keep-debug program program.debug
// Build: strip program && objcopy --add-gnu-debuglink=program.debug program
// Owner: shop::book
#include <cstdio>
#include <map>
#include <string>
namespace shop {
class book {
    std::map<int, std::string> orders;

  public:
    [[gnu::noinline]] void add(int i) { orders[i] = "a text of more than fifteen bytes " + std::to_string(i); }
    std::size_t size() const { return orders.size(); }
};
}  // namespace shop
int main() {
    shop::book one;
    for (int i = 0; i < 3000; ++i) one.add(i);
    std::printf("%zu\n", one.size());
}
