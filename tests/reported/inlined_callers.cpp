// SPDX-License-Identifier: BSL-1.0
// Report: libunwind/libunwind 287, bombela/backward-cpp 130
// Situation: allocations lie in functions that the compiler inlines, three deep.
// Holds: the class whose function was not inlined owns them, whatever was inlined into it.
// Build: $CXX -O2 -g -std=c++20 $SOURCE -o program
// Owner: shop::book
#include <cstdio>
#include <vector>
namespace shop {
struct book {
    std::vector<long*> pages;
    void write(long text) { pages.push_back(new long(text)); }
    void fill(long from) {
        for (long i = 0; i < 10; ++i) write(from + i);
    }
    [[gnu::noinline]] long print(long from) {
        fill(from);
        long sum = 0;
        for (long* page : pages) {
            sum += *page;
            delete page;
        }
        pages.clear();
        return sum;
    }
};
}  // namespace shop
int main() {
    shop::book one;
    long sum = 0;
    for (long i = 0; i < 200; ++i) sum += one.print(i);
    std::printf("%ld\n", sum);
}
