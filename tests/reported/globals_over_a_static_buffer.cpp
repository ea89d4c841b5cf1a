// SPDX-License-Identifier: BSL-1.0
// Report: bloomberg/blazingmq 1301, bloomberg/blazingmq 1325
// Situation: globals allocate from one static buffer (bdlma::BufferedSequentialAllocator there) that is made at its
//   first use, by several threads at once, and that is full after a part; they are destroyed at exit.
// Holds: no two threads get the same bytes, what the buffer does not hold comes from the source, and the exit is quiet.
// Library: yes
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <thread>
#include <vector>
using shared_buffer = millpond::resource<millpond::synchronized<millpond::monotonic<>>>;
static shared_buffer& buffer() {
    alignas(std::max_align_t) static std::array<std::byte, 4096> memory;
    static shared_buffer& all = *new shared_buffer(millpond::initial_buffer{memory.data(), memory.size()});
    return all;
}
using texts = std::pmr::map<int, std::pmr::string>;
static texts& global(int thread) {
    static std::array<texts, 4> all{texts(&buffer()), texts(&buffer()), texts(&buffer()), texts(&buffer())};
    return all[static_cast<std::size_t>(thread)];
}
static std::string text_of(int thread, int i) {
    return "a text of more than fifteen bytes, of thread " + std::to_string(thread) + ", " + std::to_string(i);
}
int main() {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([thread] {
            for (int i = 0; i < 500; ++i) global(thread).emplace(i, text_of(thread, i));
        });
    for (std::thread& one : threads) one.join();
    bool well = true;
    for (int thread = 0; thread < 4; ++thread)
        for (int i = 0; i < 500; ++i) well = well && std::string(global(thread).at(i)) == text_of(thread, i);
    std::puts(well ? "ok" : "wrong");
    return !well;
}
