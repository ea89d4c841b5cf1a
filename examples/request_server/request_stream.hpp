// SPDX-License-Identifier: BSL-1.0
// The requests that both forms of request_server answer. They are generated here, so no network is needed.
//
//   POST /shop/customers/4711/orders HTTP/1.1          a line
//   Accept-Language: en-GB,en;q=0.7                    headers
//                                                      an empty line
//   order.items.17.description=brass hinge, 40 mm      parameters, whose names are paths
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "../common/command_line.hpp"

namespace request_server {

class request_stream {
  public:
    explicit request_stream(std::uint64_t seed) : chance_(seed) {}

    // Returns: the next request; valid until the next call.
    const std::string& next() {
        static constexpr const char* goods[] = {"brass hinge, 40 mm, with screws", "oak board, planed on both sides",
                                                "whetstone, grit 1000 and 6000", "linseed oil varnish, half a litre"};
        text_.clear();
        add("POST /shop/customers/", chance_.below(10'000), "/orders HTTP/1.1\n");
        text_ += "Host: shop.example\nAccept-Language: en-GB,en;q=0.7\nContent-Type: text/x-parameters\n";
        add("User-Agent: mill/", chance_.below(20), ".0 (a browser of the customer)\n\n");
        const std::uint32_t items = 4 + chance_.below(12);
        for (std::uint32_t item = 0; item < items; ++item) {
            add("order.items.", item, ".description=");
            text_ += goods[chance_.below(4)];
            add("\norder.items.", item, ".quantity=");
            add("", 1 + chance_.below(9), "\norder.items.");
            add("", item, ".price_in_cents=");
            add("", 99 + chance_.below(20'000), "\n");
        }
        add("order.delivery.address.street=Watermill Lane ", chance_.below(200), "\n");
        text_ += "order.delivery.address.town=Upper Grinding on the Water\norder.delivery.at=after six o'clock\n";
        return text_;
    }

  private:
    // Appends to one text that is used again: the benchmark measures the server, not the making of its requests.
    void add(const char* before, std::uint32_t number, const char* behind) {
        char digits[12];
        text_ += before;
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        text_ += behind;
    }

    examples::dice chance_;
    std::string text_;
};

}  // namespace request_server
