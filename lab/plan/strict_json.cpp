// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/strict_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "lab/program/any_bytes.hpp"
#include "lab/program/nlohmann_json.hpp"

namespace millpond::plan {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t quoted_bytes_max = 80;

// Returns "line 3, column 7" for the last of the `count` bytes read.
std::string place_of(const std::string& text, std::size_t count) {
    const std::size_t at = std::min(count == 0 ? 0 : count - 1, text.size());
    const auto begin = text.begin(), here = begin + static_cast<std::ptrdiff_t>(at);
    const auto line = 1 + std::count(begin, here, '\n');
    const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// The names in each open object, the innermost last; arrays have an entry without names.
class open_values {
  public:
    bool note(int depth, ordered_json::parse_event_t event, const ordered_json& parsed) {
        using kind = ordered_json::parse_event_t;
        if (event == kind::object_start || event == kind::array_start) {
            if (static_cast<std::size_t>(depth) >= json_depth_max)
                throw json_error("it nests deeper than " + std::to_string(json_depth_max) + " levels");
            names_.emplace_back();
        } else if (event == kind::object_end || event == kind::array_end) {
            names_.pop_back();
        } else if (event == kind::key) {
            const auto& name = parsed.get_ref<const std::string&>();
            if (!names_.back().insert(name).second)
                throw json_error("the name " + quoted(name) + " stands twice in one object");
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> names_;
};

}  // namespace

program::json parse_strict(const std::string& text) {
    // nlohmann's parser stops at a zero byte and ignores the rest.
    if (const std::size_t zero = text.find('\0'); zero != std::string::npos)
        throw json_error("not JSON at " + place_of(text, zero + 1));
    open_values open;
    try {
        const auto note = [&](int depth, ordered_json::parse_event_t event, ordered_json& parsed) {
            return open.note(depth, event, parsed);
        };
        return program::from_nlohmann(ordered_json::parse(text, note), program::bytes_of);
    } catch (const ordered_json::parse_error& error) {
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw json_error("it is empty");
        throw json_error("not JSON at " + place_of(text, error.byte));
    } catch (const ordered_json::exception& error) {
        throw json_error(short_reason(error));
    }
}

std::string short_reason(const std::exception& error) {
    std::string text = error.what();
    if (const std::size_t behind = text.find("] "); text.starts_with("[json.exception") && behind != std::string::npos)
        text.erase(0, behind + 2);
    std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
    if (text.size() > 3 * quoted_bytes_max) text = text.substr(0, 3 * quoted_bytes_max) + "…";
    return text;
}

std::string quoted(const std::string& text) {
    const bool cut = text.size() > quoted_bytes_max;
    const std::string shown = cut ? text.substr(0, quoted_bytes_max) : text;
    std::string result = program::json_text(shown, -1);
    if (cut) result.insert(result.size() - 1, "…");
    return result;
}

}  // namespace millpond::plan
