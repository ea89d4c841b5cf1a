// SPDX-License-Identifier: BSL-1.0
// request_server: parses each request into headers and a tree of parameters, answers it, and drops both.
//
//   request ──▶ headers      map of texts           ─┐
//           └─▶ parameters   order ─▶ items ─▶ 17 …  ┴─▶ answer ──▶ all of it is destroyed, node by node
//
// The change in request_server_changed: all data of a request lies in an arena that is reset after it.
// Usage: request_server [--repeats N] [--seed N] [--threads N]
#include <charconv>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "request_stream.hpp"

namespace request_server {

using text = std::string;

// A parameter and those below it: `order.items.17.quantity=3` is three levels deep.
struct parameter {
    text name;
    text value;
    std::list<parameter> below;

    explicit parameter(std::string_view called) : name(called) {}

    parameter& child(std::string_view called) {
        for (parameter& known : below) {
            if (known.name == called) return known;
        }
        return below.emplace_back(called);
    }
};

class request {
  public:
    [[gnu::noinline]] explicit request(std::string_view message) : parameters_("") {
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
    std::map<text, text> headers_;
    parameter parameters_;
};

[[gnu::noinline]] std::uint64_t answer(std::string_view message) {
    const request asked(message);
    return asked.total_in_cents() * 31 + asked.header_letters();
}

[[gnu::noinline]] std::uint64_t serve(std::uint32_t requests, std::uint64_t seed) {
    request_stream incoming(seed);
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < requests; ++i) checksum = checksum * 1099511628211u + answer(incoming.next());
    return checksum;
}

}  // namespace request_server

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 60'000};
    if (!examples::read_options(argc, argv, chosen, examples::extras::threads)) return 2;
    std::vector<std::uint64_t> sums(chosen.threads);
    std::vector<std::thread> others;
    for (std::uint32_t i = 1; i < chosen.threads; ++i) {
        others.emplace_back([&, i] { sums[i] = request_server::serve(chosen.repeats, chosen.seed + i); });
    }
    sums[0] = request_server::serve(chosen.repeats, chosen.seed);
    for (std::thread& other : others) other.join();
    std::uint64_t checksum = 0;
    for (const std::uint64_t sum : sums) checksum += sum;
    examples::print_checksum(checksum);
    return 0;
}
