// SPDX-License-Identifier: BSL-1.0
// parser_changed: parser, with an arena for the tree of a document.
//
//   {"lot":[17,{"weight":3}], … ──▶ values in the arena ──▶ a sum ──▶ destroyed, which frees nothing ──▶ arena.reset()
//
// --wink-out: the values are not destroyed either.
// Usage: parser_changed [--repeats N] [--seed N] [--wink-out]
#include <cstdint>
#include <memory>
#include <millpond/millpond.hpp>
#include <string>
#include <string_view>

#include "document.hpp"

namespace parser {

using arena = millpond::in_mode<millpond::monotonic<>>;
using text = std::basic_string<char, std::char_traits<char>, millpond::allocator<char, arena>>;

struct value {
    text name;
    std::uint64_t number = 0;
    value* first = nullptr;  // first of the values inside it
    value* next = nullptr;   // its neighbour in the value around it

    value(std::string_view called, arena& memory) : name(called, &memory) {}
};

class document_tree {
  public:
    [[gnu::noinline]] document_tree(std::string_view source, arena& memory) : values_(&memory), rest_(source) {
        root_ = read_value({});
    }
    document_tree(const document_tree&) = delete;
    document_tree& operator=(const document_tree&) = delete;
    ~document_tree() { drop(root_); }

    // The names and values vanish with the arena, without being visited again.
    void forget() { root_ = nullptr; }

    // Returns: the sum of all numbers, each multiplied by its depth and the length of its name.
    std::uint64_t sum() const { return sum_of(*root_, 1); }

  private:
    [[gnu::noinline]] value* make(std::string_view name) {
        return std::construct_at(values_.allocate(1), name, *values_.target());
    }

    [[gnu::noinline]] void drop(value* from) {
        while (from != nullptr) {
            value* const next = from->next;
            drop(from->first);
            std::destroy_at(from);
            values_.deallocate(from, 1);
            from = next;
        }
    }

    value* read_value(std::string_view name) {
        value* const read = make(name);
        if (rest_.front() == '[' || rest_.front() == '{') {
            value** last = &read->first;
            do {
                rest_.remove_prefix(1);  // the bracket, or a comma
                *last = read_value(read_name());
                last = &(*last)->next;
            } while (rest_.front() == ',');
            rest_.remove_prefix(1);
            return read;
        }
        while (rest_.front() >= '0' && rest_.front() <= '9') {
            read->number = read->number * 10 + static_cast<std::uint64_t>(rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return read;
    }

    std::string_view read_name() {
        if (rest_.front() != '"') return {};
        const std::size_t end = rest_.find('"', 1);
        const std::string_view name = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 2);  // a colon follows
        return name;
    }

    static std::uint64_t sum_of(const value& from, std::uint64_t depth) {
        std::uint64_t sum = from.number * depth * (1 + from.name.size());
        for (const value* inner = from.first; inner != nullptr; inner = inner->next) sum += sum_of(*inner, depth + 1);
        return sum;
    }

    millpond::allocator<value, arena> values_;
    std::string_view rest_;
    value* root_;
};

[[gnu::noinline]] std::uint64_t read(std::string_view source, arena& memory, bool winks_out) {
    std::uint64_t sum = 0;
    {
        document_tree tree(source, memory);
        sum = tree.sum();
        if (winks_out) tree.forget();
    }
    memory.reset();
    return sum;
}

}  // namespace parser

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 1'500};
    if (!examples::read_options(argc, argv, chosen, examples::extras::wink_out)) return 2;
    parser::document_writer documents(chosen.seed);
    parser::arena memory;
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < chosen.repeats; ++i) {
        checksum = checksum * 1099511628211u + parser::read(documents.next(), memory, chosen.wink_out);
    }
    examples::print_checksum(checksum);
    return 0;
}
