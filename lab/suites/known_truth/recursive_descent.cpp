// SPDX-License-Identifier: BSL-1.0
// recursive_descent: parses expressions into trees by functions that call one another, evaluates and drops them.
// By hand: an arena for each expression, winked out.
#include <string>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

struct node {
    char kind;  // a digit's value under 'n', else the operator
    std::uint64_t value;
    node* left;
    node* right;
};

template <class Memory>
class parser {
  public:
    parser(Memory& memory, const std::string& text) : nodes_(memory.template of<node>(0)), at_(text.c_str()) {}

    [[gnu::noinline]] node* sum() {
        node* left = product();
        while (*at_ == '+') {
            ++at_;
            left = make('+', 0, left, product());
        }
        return left;
    }
    [[gnu::noinline]] void drop(node* tree) {
        if (tree == nullptr) return;
        drop(tree->left);
        drop(tree->right);
        nodes_.deallocate(tree, 1);
    }

  private:
    [[gnu::noinline]] node* product() {
        node* left = factor();
        while (*at_ == '*') {
            ++at_;
            left = make('*', 0, left, factor());
        }
        return left;
    }
    [[gnu::noinline]] node* factor() {
        if (*at_ == '(') {
            ++at_;
            node* const inner = sum();
            ++at_;
            return make('(', 0, inner, nullptr);
        }
        return make('n', static_cast<std::uint64_t>(*at_++ - '0'), nullptr, nullptr);
    }
    [[nodiscard]] node* make(char kind, std::uint64_t value, node* left, node* right) {
        return ::new (nodes_.allocate(1)) node{kind, value, left, right};
    }

    typename Memory::template allocator<node> nodes_;
    const char* at_;
};

std::uint64_t value_of(const node* tree) {
    switch (tree->kind) {
        case '+':
            return value_of(tree->left) + value_of(tree->right);
        case '*':
            return value_of(tree->left) * value_of(tree->right);
        case '(':
            return value_of(tree->left);
        default:
            return tree->value;
    }
}

void write_expression(std::string& text, random_numbers& draw, unsigned depth) {
    for (std::uint64_t terms = 1 + draw.below(3); terms > 0; --terms) {
        if (depth > 0 && draw.below(3) != 0) {
            text += '(';
            write_expression(text, draw, depth - 1);
            text += ')';
        } else {
            text += static_cast<char>('0' + draw.below(10));
        }
        if (terms > 1) text += draw.below(2) != 0 ? '+' : '*';
    }
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    random_numbers draw(9);
    std::string text;
    for (int terms = 0; terms < 40; ++terms) {
        if (terms > 0) text += '+';
        write_expression(text, draw, 10);
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        parser<Memory> parsing(memory, text);
        node* const tree = parsing.sum();
        sum = sum * 31 + value_of(tree);
        if (!Memory::ends_at_once) parsing.drop(tree);
        memory.end(0);
    }
    return sum;
}

}  // namespace

const known_program recursive_descent{
    "recursive_descent", "an arena for each expression, winked out", run<heap>, run<arenas_winked_out<1>>, 1000,
    run<arenas<1>>};

}  // namespace millpond::suites
