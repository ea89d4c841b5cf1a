// SPDX-License-Identifier: BSL-1.0
// parser: reads a document of nested lists and named values into a tree, computes a sum, and drops the tree.
//
//   {"lot":[17,{"weight":3}], … ──▶ value ─▶ first ─▶ next …  ──▶ a sum ──▶ delete, value by value
//
// The change in parser_changed: the values and their names lie in an arena that is reset after each document.
// Usage: parser [--repeats N] [--seed N]
#include <cstdint>
#include <string>
#include <string_view>

#include "document.hpp"

namespace parser {

using text = std::string;

struct value {
    text name;
    std::uint64_t number = 0;
    value* first = nullptr;  // first of the values inside it
    value* next = nullptr;   // its neighbour in the value around it

    explicit value(std::string_view called) : name(called) {}
};

class document_tree {
  public:
    [[gnu::noinline]] explicit document_tree(std::string_view source) : rest_(source) { root_ = read_value({}); }
    document_tree(const document_tree&) = delete;
    document_tree& operator=(const document_tree&) = delete;
    ~document_tree() { drop(root_); }

    // Returns: the sum of all numbers, each multiplied by its depth and the length of its name.
    std::uint64_t sum() const { return sum_of(*root_, 1); }

  private:
    [[gnu::noinline]] value* make(std::string_view name) { return new value(name); }

    [[gnu::noinline]] void drop(value* from) {
        while (from != nullptr) {
            value* const next = from->next;
            drop(from->first);
            delete from;
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

    std::string_view rest_;
    value* root_;
};

[[gnu::noinline]] std::uint64_t read(std::string_view source) {
    const document_tree tree(source);
    return tree.sum();
}

}  // namespace parser

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 1'500};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    parser::document_writer documents(chosen.seed);
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < chosen.repeats; ++i) {
        checksum = checksum * 1099511628211u + parser::read(documents.next());
    }
    examples::print_checksum(checksum);
    return 0;
}
