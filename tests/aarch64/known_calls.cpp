// SPDX-License-Identifier: BSL-1.0
// known_calls: heap calls of functions whose counts a test knows. Usage: known_calls N THREADS
//
//   main ─▶ orders::book::add ─▶ operator new(48)           N objects in each thread, all alive at once
//        └▶ prices::table::fill ─▶ std::vector<double>      N vectors of 100 numbers in each thread, one after another
//
// Frames are kept (noinline), so that contexts hold these names.
#include <cstdlib>
#include <thread>
#include <vector>

namespace orders {

struct order {
    order* next;
    long words[5];
};

class book {
  public:
    [[gnu::noinline]] void add(long number) { first_ = new order{first_, {number}}; }
    [[gnu::noinline]] void clear() {
        while (first_ != nullptr) {
            order* const last = first_;
            first_ = last->next;
            delete last;
        }
    }

  private:
    order* first_ = nullptr;
};

}  // namespace orders

namespace prices {

class table {
  public:
    [[gnu::noinline]] double fill(long number) {
        const std::vector<double> values(100, static_cast<double>(number));
        return sum_ += values[static_cast<std::size_t>(number) % 100];
    }

  private:
    double sum_ = 0;
};

}  // namespace prices

namespace {

void work(long count) {
    orders::book book;
    prices::table table;
    for (long i = 0; i < count; ++i) {
        book.add(i);
        table.fill(i);
    }
    book.clear();
}

}  // namespace

int main(int argc, char** argv) {
    const long count = argc > 1 ? std::atol(argv[1]) : 1000, threads = argc > 2 ? std::atol(argv[2]) : 1;
    std::vector<std::thread> team;
    for (long i = 0; i < threads; ++i) team.emplace_back(work, count);
    for (std::thread& each : team) each.join();
}
