// SPDX-License-Identifier: BSL-1.0
// shop_wink: shop_arena, whose orders are dropped without their destructors.
//
//   text ──▶ order in an arena ──▶ price ──▶ the arena goes as a whole; no map and no list is walked
//
// The third change of docs/tutorial/local_allocator.md.
// Usage: shop_wink [ORDERS]
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

// Returns the text before the first `mark`, and removes both from `text`.
std::string_view take(std::string_view& text, char mark) {
    const std::string_view taken = text.substr(0, text.find(mark));
    text.remove_prefix(taken.size() < text.size() ? taken.size() + 1 : taken.size());
    return taken;
}

unsigned number(std::string_view digits) {
    unsigned value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

using arena = millpond::resource<millpond::in_mode<millpond::monotonic<>>>;

struct item {
    std::pmr::string name;
    unsigned pieces;
    unsigned cents;
};

// From "customer=…;town=…;|3*250 oak board, planed on both sides;1*990 …;"
class order {
  public:
    using allocator_type = std::pmr::polymorphic_allocator<>;  // tells wink_out to pass the arena

    [[gnu::noinline]] order(std::string_view text, const allocator_type& memory) : fields_(memory), items_(memory) {
        std::string_view fields = take(text, '|');
        while (!fields.empty()) {
            const std::string_view name = take(fields, '=');
            fields_.emplace(name, take(fields, ';'));
        }
        while (!text.empty()) {
            const unsigned pieces = number(take(text, '*'));
            const unsigned cents = number(take(text, ' '));
            items_.push_back({std::pmr::string(take(text, ';'), items_.get_allocator()), pieces, cents});
        }
    }

    std::uint64_t price() const {
        std::uint64_t price = fields_.contains("delivery") ? 990 : 0;
        for (const item& wanted : items_) price += std::uint64_t{wanted.pieces} * wanted.cents;
        return price;
    }

  private:
    std::pmr::map<std::pmr::string, std::pmr::string> fields_;
    std::pmr::list<item> items_;
};

struct part {
    unsigned order;
    unsigned minutes;
};

using pool = millpond::in_mode<millpond::multipool<>>;

class queue {
  public:
    [[gnu::noinline]] void add(part waiting) { parts_.push_back(waiting); }
    [[gnu::noinline]] std::uint64_t minutes() const {
        std::uint64_t sum = 0;
        for (const part& waiting : parts_) sum += waiting.minutes;
        return sum;
    }

  private:
    pool memory_;  // before the list, because it must outlive it
    std::list<part, millpond::allocator<part, pool>> parts_{&memory_};
};

}  // namespace shop

template <>
struct millpond::is_winkable<shop::order> : std::true_type {};  // its destructor only frees its own memory

namespace shop {

[[gnu::noinline]] std::uint64_t answer(std::string_view text) {
    arena memory;
    const millpond::wink_out<order, arena> asked(memory, text);
    return asked->price();
}

// Random numbers that are the same on every machine.
class dice {
  public:
    unsigned below(unsigned limit) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<unsigned>(((state_ >> 32) * limit) >> 32);
    }

  private:
    std::uint64_t state_ = 1;
};

// Fills the same text again, so that the orders themselves cost nearly nothing.
void write_order(std::string& text, dice& chance) {
    text = "customer=The Upper Mill on the Water;street=Watermill Lane, behind the bridge;";
    text += "town=Upper Grinding on the Water;delivery=after six o'clock in the evening;|";
    for (unsigned items = 4 + chance.below(12); items > 0; --items) {
        text += std::to_string(1 + chance.below(9)) + '*' + std::to_string(99 + chance.below(900));
        text += " oak board, planed on both sides, with a groove;";
    }
}

std::uint64_t trade(unsigned orders) {
    std::vector<queue> queues(64);
    dice chance;
    std::string text;
    std::uint64_t checksum = 0;
    for (unsigned order = 0; order < orders; ++order) {
        write_order(text, chance);
        checksum = checksum * 31 + answer(text);
        for (int part = 0; part < 8; ++part) queues[chance.below(64)].add({order, chance.below(20)});
        if (order % 64 == 0) checksum += queues[chance.below(64)].minutes();
    }
    return checksum;
}

}  // namespace shop

int main(int argc, char** argv) {
    const unsigned orders = argc > 1 ? shop::number(argv[1]) : 30'000;
    std::printf("checksum %016llx\n", static_cast<unsigned long long>(shop::trade(orders)));
}
