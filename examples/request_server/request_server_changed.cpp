// SPDX-License-Identifier: BSL-1.0
// request_server_changed: request_server, with an arena for the data of a request.
//
//   request ──▶ headers, parameters in the arena ──▶ answer ──▶ destructors run, and free nothing ──▶ arena.reset()
//
// --wink-out: the destructors do not run either.
// Usage: request_server_changed [--repeats N] [--seed N] [--threads N] [--wink-out]
#include <charconv>
#include <cstdint>
#include <list>
#include <map>
#include <millpond/millpond.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "request_stream.hpp"

namespace request_server {

using arena = millpond::in_mode<millpond::monotonic<>>;
template <class T>
using in_arena = millpond::allocator<T, arena>;
using text = std::basic_string<char, std::char_traits<char>, in_arena<char>>;

// A parameter and those below it: `order.items.17.quantity=3` is three levels deep.
struct parameter {
    using allocator_type = in_arena<char>;  // so that a list gives its own to each parameter

    text name;
    text value;
    std::list<parameter, in_arena<parameter>> below;

    parameter(std::string_view called, allocator_type memory) : name(called, memory), value(memory), below(memory) {}

    parameter& child(std::string_view called) {
        for (parameter& known : below) {
            if (known.name == called) return known;
        }
        return below.emplace_back(called);
    }
};

class request {
  public:
    using allocator_type = in_arena<char>;

    [[gnu::noinline]] request(std::string_view message, allocator_type memory)
        : path_(memory), headers_(memory), parameters_("", memory) {
        std::string_view line = take_line(message);
        path_ = line.substr(line.find(' ') + 1);
        for (line = take_line(message); !line.empty(); line = take_line(message)) {
            const std::size_t colon = line.find(": ");
            headers_.emplace(line.substr(0, colon), line.substr(colon + 2));
        }
        while (!message.empty()) add_parameter(take_line(message));
    }

    std::uint64_t total_in_cents() const {
        std::uint64_t total = 0;
        for (const parameter& order : parameters_.below) {
            for (const parameter& part : order.below) {
                if (part.name != "items") continue;
                for (const parameter& item : part.below) total += price_of(item);
            }
        }
        return total;
    }
    std::size_t header_letters() const {
        std::size_t letters = path_.size();
        for (const auto& [name, value] : headers_) letters += name.size() * value.size();
        return letters;
    }

  private:
    static std::string_view take_line(std::string_view& message) {
        const std::size_t end = message.find('\n');
        const std::string_view line = message.substr(0, end);
        message.remove_prefix(end + 1);
        return line;
    }

    void add_parameter(std::string_view line) {
        const std::size_t equals = line.find('=');
        std::string_view path = line.substr(0, equals);
        parameter* place = &parameters_;
        while (!path.empty()) {
            const std::size_t dot = path.find('.');
            place = &place->child(path.substr(0, dot));
            path = dot == path.npos ? std::string_view{} : path.substr(dot + 1);
        }
        place->value = line.substr(equals + 1);
    }

    static std::uint64_t price_of(const parameter& item) {
        std::uint64_t price = 1;
        for (const parameter& field : item.below) {
            std::uint64_t number = 1;
            std::from_chars(field.value.data(), field.value.data() + field.value.size(), number);
            price *= number;
        }
        return price;
    }

    text path_;
    std::map<text, text, std::less<>, in_arena<std::pair<const text, text>>> headers_;
    parameter parameters_;
};

std::uint64_t answer(const request& asked) { return asked.total_in_cents() * 31 + asked.header_letters(); }

}  // namespace request_server

template <>
struct millpond::is_winkable<request_server::request> : std::true_type {};

namespace request_server {

[[gnu::noinline]] std::uint64_t answer(std::string_view message, arena& memory) {
    std::uint64_t result = 0;
    {
        const request asked(message, &memory);
        result = answer(asked);
    }
    memory.reset();
    return result;
}

[[gnu::noinline]] std::uint64_t answer_and_wink_out(std::string_view message, arena& memory) {
    const millpond::wink_out<request, arena> asked(memory, message);
    return answer(*asked);
}

std::uint64_t serve(std::uint32_t requests, std::uint64_t seed, bool winks_out) {
    request_stream incoming(seed);
    arena memory;
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < requests; ++i) {
        const std::string& message = incoming.next();
        const std::uint64_t found = winks_out ? answer_and_wink_out(message, memory) : answer(message, memory);
        checksum = checksum * 1099511628211u + found;
    }
    return checksum;
}

}  // namespace request_server

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 60'000};
    if (!examples::read_options(argc, argv, chosen, examples::extras::both)) return 2;
    std::vector<std::uint64_t> sums(chosen.threads);
    std::vector<std::thread> others;
    for (std::uint32_t i = 1; i < chosen.threads; ++i) {
        others.emplace_back(
            [&, i] { sums[i] = request_server::serve(chosen.repeats, chosen.seed + i, chosen.wink_out); });
    }
    sums[0] = request_server::serve(chosen.repeats, chosen.seed, chosen.wink_out);
    for (std::thread& other : others) other.join();
    std::uint64_t checksum = 0;
    for (const std::uint64_t sum : sums) checksum += sum;
    examples::print_checksum(checksum);
    return 0;
}
