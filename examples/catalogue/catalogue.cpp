// SPDX-License-Identifier: BSL-1.0
// catalogue: records that consist of an object, its key and a child object, which are always read together.
//
//   record ─▶ key      "a name that does not fit into the string itself"
//          └▶ price    what it costs
//
// Between two records the importer keeps notes on the heap, so records lie apart. A pool for each type would put all
// records, all keys and all prices together, and so separate the parts of every record.
// The change in catalogue_changed: one arena for the records and all that they own, in the order in which they are
// made.
// Usage: catalogue [--repeats N] [--seed N]
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>
#include <vector>

#include "../common/command_line.hpp"

namespace catalogue {

using text = std::string;

struct price {
    std::uint64_t cents;
    std::uint64_t taxed_by;
};

struct record {
    record* next;
    text key;
    std::unique_ptr<price> costs;
};

class import_log {
  public:
    [[gnu::noinline]] void note(std::uint32_t number, std::size_t letters) {
        lines_.push_front(std::string(letters, static_cast<char>('a' + number % 26)));
        noted_ += letters;
    }
    std::size_t noted() const { return noted_; }

  private:
    std::forward_list<std::string> lines_;
    std::size_t noted_ = 0;
};

class records {
  public:
    records() = default;
    records(const records&) = delete;
    records& operator=(const records&) = delete;
    ~records() {
        while (first_ != nullptr) drop_first();
    }

    [[gnu::noinline]] void add(std::size_t letters, price costs) {
        record* const made = new record{nullptr, text(letters, 'k'), std::make_unique<price>(costs)};
        made->key[letters / 2] = static_cast<char>('a' + costs.cents % 26);
        (last_ == nullptr ? first_ : last_->next) = made;
        last_ = made;
    }

    // Returns: the cost of all records that a customer could be looking for.
    [[gnu::noinline]] std::uint64_t cost_of(char letter) const {
        std::uint64_t cents = 0;
        for (const record* one = first_; one != nullptr; one = one->next) {
            if (one->key[one->key.size() / 2] <= letter) cents += one->costs->cents + one->costs->taxed_by;
        }
        return cents;
    }

  private:
    void drop_first() {
        record* const next = first_->next;
        delete first_;
        first_ = next;
    }

    record* first_ = nullptr;
    record* last_ = nullptr;
};

[[gnu::noinline]] std::uint64_t look_up(std::uint32_t searches, std::uint64_t seed) {
    examples::dice chance(seed);
    records goods;
    import_log log;
    for (std::uint32_t number = 0; number < 60'000; ++number) {
        goods.add(20 + chance.below(20), {chance.below(100'000), chance.below(20)});
        log.note(number, 40 + chance.below(100));
    }
    std::uint64_t checksum = log.noted();
    for (std::uint32_t i = 0; i < searches; ++i) {
        checksum = checksum * 1099511628211u + goods.cost_of(static_cast<char>('s' + chance.below(8)));
    }
    return checksum;
}

}  // namespace catalogue

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 400};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    examples::print_checksum(catalogue::look_up(chosen.repeats, chosen.seed));
    return 0;
}
