// SPDX-License-Identifier: BSL-1.0
// orders: a shop that takes orders for some days, goes through its records every evening, and audits itself.
//
//   one order ──▶ order_book        list          ─┐
//             ├─▶ price_history     forward_list   ├ each gets one node an order, so their nodes alternate in memory;
//             ├─▶ customer_index    unordered_map ─┘ every evening each is read by itself, from first node to last
//             └─▶ invoice_printer   strings that live for a moment, now and then
//   some days ──▶ audit_trail       written by worker threads, kept until the process is gone
//
// Usage: orders [--orders N] [--seed S]. Prints the shop's revenue and a checksum that depends only on N and S.
//
// The members that fill a structure are kept out of line ([[gnu::noinline]]), so that a profiler sees in the call stack
// whose memory it is. Inlined into their callers, they would all be one function.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <forward_list>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

namespace shop {

using cents = std::int64_t;

// A small random generator of our own: it gives the same orders on every machine and with every standard library.
class dice {
  public:
    explicit dice(std::uint64_t seed) : state_(seed * 2 + 1) {}

    std::uint32_t below(std::uint32_t limit) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(((state_ >> 32) * limit) >> 32);
    }

  private:
    std::uint64_t state_;
};

struct order {
    std::uint32_t number;
    std::uint32_t customer;
    std::uint32_t item;
    std::uint32_t quantity;
    cents price;
    std::uint64_t placed_at;
};

// All orders, in the order of their arrival.
class order_book {
  public:
    [[gnu::noinline]] void add(const order& placed) { orders_.push_back(placed); }

    cents revenue() const {
        cents total = 0;
        for (const order& placed : orders_) total += placed.price * placed.quantity;
        return total;
    }

  private:
    std::list<order> orders_;
};

// The prices of each item over time, as for a chart.
class price_history {
  public:
    [[gnu::noinline]] void add(const order& placed) {
        last_ = quotes_.insert_after(last_, quote{placed.placed_at, placed.item, placed.price, lowest_, highest_});
        if (placed.price < lowest_) lowest_ = placed.price;
        if (placed.price > highest_) highest_ = placed.price;
    }

    // Returns the widest gap between one quote and the next.
    cents widest_step() const {
        cents widest = 0;
        cents before = 0;
        for (const quote& quoted : quotes_) {
            const cents step = quoted.price > before ? quoted.price - before : before - quoted.price;
            if (step > widest) widest = step;
            before = quoted.price;
        }
        return widest;
    }

  private:
    struct quote {
        std::uint64_t at;
        std::uint32_t item;
        cents price;
        cents lowest_before;
        cents highest_before;
    };

    std::forward_list<quote> quotes_;
    std::forward_list<quote>::iterator last_ = quotes_.before_begin();
    cents lowest_ = INT64_MAX;
    cents highest_ = 0;
};

// The customer of each order, and the shop's revenue when it was placed.
class customer_index {
  public:
    [[gnu::noinline]] void add(const order& placed) {
        visits_.emplace(placed.number,
                        visit{placed.customer, placed.item, placed.price * placed.quantity, taken_, placed.placed_at});
        taken_ += placed.price * placed.quantity;
    }

    // Returns the sum paid by the first customers. The order of a hash table does not matter.
    cents paid_by_first(std::uint32_t customers) const {
        cents paid = 0;
        for (const auto& [number, seen] : visits_) paid += seen.customer < customers ? seen.paid : 0;
        return paid;
    }

  private:
    struct visit {
        std::uint32_t customer;
        std::uint32_t item;
        cents paid;
        cents taken_before;
        std::uint64_t at;
    };

    std::unordered_map<std::uint32_t, visit> visits_;
    cents taken_ = 0;
};

// Writes an invoice, counts its letters and throws it away.
class invoice_printer {
  public:
    [[gnu::noinline]] void print(const order& placed) {
        std::string heading = "Invoice for order number " + std::to_string(placed.number);
        std::string line = std::to_string(placed.quantity) + " pieces of item " + std::to_string(placed.item);
        line += " at " + std::to_string(placed.price) + " cents each, payable within thirty days";
        heading += ", customer " + std::to_string(placed.customer);
        for (const char letter : heading + "\n" + line) letters_ = letters_ * 31 + static_cast<unsigned char>(letter);
    }

    std::uint32_t letters() const { return letters_; }

  private:
    std::uint32_t letters_ = 0;
};

// The auditors' notes. Any thread may read them until the very end of the process, so they belong to no scope and are
// never destroyed.
class audit_trail {
  public:
    [[gnu::noinline]] static audit_trail& of_the_shop() {
        static audit_trail* const trail = new audit_trail;
        return *trail;
    }

    [[gnu::noinline]] void note(std::uint32_t number, std::uint32_t finding) {
        const std::lock_guard guard(mutex_);
        findings_.push_front(
            remark{number, finding, "order " + std::to_string(number) + " was looked at and is in order"});
    }

    // Returns a digest that does not depend on the order in which the threads took their notes.
    std::uint64_t digest() const {
        const std::lock_guard guard(mutex_);
        std::uint64_t sum = 0;
        for (const remark& seen : findings_) sum += seen.number * 2654435761u + seen.finding + seen.text.size();
        return sum;
    }

  private:
    struct remark {
        std::uint32_t number;
        std::uint32_t finding;
        std::string text;
    };

    mutable std::mutex mutex_;
    std::forward_list<remark> findings_;
};

struct earnings {
    cents revenue = 0;
    std::uint64_t checksum = 0;
};

// Two auditors look at a sample of the orders up to `number` at once; their notes stay.
[[gnu::noinline]] void audit(std::uint32_t first, std::uint32_t number) {
    constexpr std::uint32_t auditors = 2;
    constexpr std::uint32_t sample = 8;
    std::vector<std::thread> team;
    team.reserve(auditors);
    for (std::uint32_t auditor = 0; auditor < auditors; ++auditor) {
        team.emplace_back([=] {
            for (std::uint32_t seen = first + auditor * sample; seen < number; seen += auditors * sample) {
                audit_trail::of_the_shop().note(seen, seen % 97);
            }
        });
    }
    for (std::thread& auditor : team) auditor.join();
}

[[gnu::noinline]] earnings trade(std::uint32_t orders, std::uint64_t seed) {
    constexpr std::uint32_t days = 120;
    constexpr std::uint32_t days_between_audits = 30;
    constexpr std::uint32_t invoice_every = 64;

    order_book book;
    price_history history;
    customer_index customers;
    invoice_printer printer;
    earnings result;
    dice chance(seed);
    std::uint32_t number = 0;
    std::uint32_t audited = 0;
    for (std::uint32_t day = 1; day <= days; ++day) {
        const auto evening = static_cast<std::uint32_t>(std::uint64_t{orders} * day / days);
        for (; number < evening; ++number) {
            const order placed{number,
                               chance.below(5000),
                               chance.below(300),
                               1 + chance.below(9),
                               99 + cents{chance.below(20000)},
                               std::uint64_t{day} * 86400 + chance.below(86400)};
            book.add(placed);
            history.add(placed);
            customers.add(placed);
            if (number % invoice_every == 0) printer.print(placed);
        }
        result.revenue = book.revenue();
        for (const std::uint64_t seen :
             {static_cast<std::uint64_t>(result.revenue), static_cast<std::uint64_t>(history.widest_step()),
              static_cast<std::uint64_t>(customers.paid_by_first(500)), std::uint64_t{printer.letters()}}) {
            result.checksum = (result.checksum ^ seen) * 1099511628211u;
        }
        if (day % days_between_audits == 0) {
            audit(audited, number);
            audited = number;
        }
    }
    return result;
}

}  // namespace shop

namespace {

template <typename Number>
bool parse(const char* text, Number& number) {
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc{} && stop == end;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint32_t orders = 300'000;
    std::uint64_t seed = 1;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        const bool read = i + 1 < argc && ((option == "--orders" && parse(argv[i + 1], orders)) ||
                                           (option == "--seed" && parse(argv[i + 1], seed)));
        if (!read) {
            std::fprintf(stderr, "usage: orders [--orders N] [--seed S]\n");
            return 2;
        }
    }
    const shop::earnings earned = shop::trade(orders, seed);
    const std::uint64_t checksum = earned.checksum ^ shop::audit_trail::of_the_shop().digest();
    std::printf("%u orders, revenue %lld.%02lld, checksum %016llx\n", orders,
                static_cast<long long>(earned.revenue / 100), static_cast<long long>(earned.revenue % 100),
                static_cast<unsigned long long>(checksum));
    return 0;
}
