// SPDX-License-Identifier: BSL-1.0
// Leaks, temporaries and growing containers with known counts. The tests find the lines by the words behind `//:`.
//
//   habits TIMES     how often each of them happens

#include <cstdlib>
#include <string>
#include <vector>

#define APART [[gnu::noinline]]

namespace {

volatile char sink;

// No compiler leaves out an allocation whose address is kept.
void keep(const void* block) { asm volatile("" : : "r"(block) : "memory"); }

struct session {
    char bytes[100];
};

std::vector<session*>& sessions() {
    static auto* const all = [] {
        auto* const reserved = new std::vector<session*>;
        reserved->reserve(100'000);  //: kept from the start
        return reserved;
    }();
    return *all;
}

APART void open_session() {
    sessions().push_back(new session);  //: left in every quarter
    sessions().back()->bytes[0] = 'a';
}

APART void format_name(int number) {
    std::string text(60, 'a');  //: temporary of 61 bytes
    keep(text.data());
    sink = static_cast<char>(number);
}

APART void fill_vector() {
    std::vector<int> numbers;
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);  //: eleven blocks, ten steps
    sink = static_cast<char>(numbers[500]);
}

APART void fill_reserved() {
    std::vector<long> numbers;
    numbers.reserve(1000);
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
    sink = static_cast<char>(numbers[500]);
}

APART void fill_strings() {
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.emplace_back(50, 'n');  //: seven blocks, six steps
    sink = names[3][4];
}

APART void read_all() {
    char* text = nullptr;
    for (std::size_t size = 100; size <= 100'000; size *= 10) {
        text = static_cast<char*>(std::realloc(text, size));  //: three steps by realloc
        keep(text);
    }
    std::free(text);
}

// A queue of two blocks whose sizes rise and fall: no growth.
APART void pass_blocks() {
    static const std::size_t sizes[] = {40, 80, 64, 72, 24, 120, 100, 96};
    char* before = nullptr;
    for (const std::size_t size : sizes) {
        char* const next = static_cast<char*>(std::malloc(size));
        keep(next);
        std::free(before);
        before = next;
    }
    std::free(before);
}

}  // namespace

int main(int argc, char** argv) {
    const int times = argc > 1 ? std::atoi(argv[1]) : 100;
    for (int i = 0; i < times; ++i) {
        open_session();
        format_name(i);
        fill_vector();
        fill_reserved();
        fill_strings();
        read_all();
        pass_blocks();
    }
}
