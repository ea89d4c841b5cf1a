// SPDX-License-Identifier: BSL-1.0
// json_text and parse_json: the only source that uses nlohmann's library, except for the strict reader of lab/plan.
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/program/any_bytes.hpp"
#include "lab/program/json.hpp"
#include "lab/program/nlohmann_json.hpp"

namespace millpond::program {
namespace {

using nlohmann::ordered_json;

std::string same(std::string_view text) { return std::string(text); }

// A string or a number as nlohmann writes it; strings of any bytes are kept (any_bytes.hpp).
std::string scalar_text(const json& value) {
    switch (value.type()) {
        case json::kind::null:
            return "null";
        case json::kind::boolean:
            return value.get<bool>() ? "true" : "false";
        case json::kind::integer:
            return std::to_string(value.get<std::int64_t>());
        case json::kind::unsigned_integer:
            return std::to_string(value.get<std::uint64_t>());
        case json::kind::real:
            return ordered_json(value.get<double>()).dump();
        default:
            break;
    }
    try {
        return ordered_json(value.text()).dump();
    } catch (const ordered_json::type_error&) {  // bytes that are not UTF-8, which is rare
        return ordered_json(kept(value.text())).dump();
    }
}

// Writes without a second copy of the value, because that of a large trace has millions of members.
class writer {
  public:
    explicit writer(int indent) : indent_(indent) {}

    void write(const json& value) {
        if (value.is_array()) {
            between("[", "]", value.size(), [&](std::size_t i) { write(value[i]); });
        } else if (value.is_object()) {
            between("{", "}", value.size(), [&](std::size_t i) {
                const json_member& each = value.items()[i];
                text += scalar_text(each.name) + (indent_ < 0 ? ":" : ": ");
                write(each.value);
            });
        } else {
            text += scalar_text(value);
        }
    }

    std::string text;

  private:
    template <class Write>
    void between(const char* open, const char* close, std::size_t count, const Write& write_element) {
        text += open;
        ++depth_;
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) text += ',';
            new_line();
            write_element(i);
        }
        --depth_;
        if (count > 0) new_line();
        text += close;
    }

    void new_line() {
        if (indent_ >= 0)
            text.append("\n").append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
    }

    int indent_, depth_ = 0;
};

}  // namespace

json from_nlohmann(const ordered_json& value, string_change change) {
    switch (value.type()) {
        case ordered_json::value_t::boolean:
            return value.get<bool>();
        case ordered_json::value_t::number_integer:
            return value.get<std::int64_t>();
        case ordered_json::value_t::number_unsigned:
            return value.get<std::uint64_t>();
        case ordered_json::value_t::number_float:
            return value.get<double>();
        case ordered_json::value_t::string:
            return change(value.get_ref<const std::string&>());
        case ordered_json::value_t::array: {
            json elements = json::array();
            for (const ordered_json& one : value) elements.push_back(from_nlohmann(one, change));
            return elements;
        }
        case ordered_json::value_t::object: {
            json members = json::object();
            for (const auto& [name, one] : value.items())
                members.items().push_back({change(name), from_nlohmann(one, change)});
            return members;
        }
        default:
            return nullptr;
    }
}

std::string json_text(const json& value, int indent) {
    writer of(indent);
    of.write(value);
    return std::move(of.text);
}

json parse_json(const std::string& text) {
    try {
        return from_nlohmann(ordered_json::parse(text), same);
    } catch (const ordered_json::exception& error) {
        throw json_kind_error(error.what());
    }
}

}  // namespace millpond::program
