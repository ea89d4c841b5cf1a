// SPDX-License-Identifier: BSL-1.0
// any_bytes: text of any bytes (paths, arguments, symbols) as UTF-8 that leads back to the same bytes.
//
//   bytes   l a t i n E9          ──kept──▶  l a t i n U+10FFE9   ──bytes_of──▶  l a t i n E9
//
// A byte b that is no part of UTF-8 becomes the character U+10FF00 + b, which no one uses: it is the last of the
// private ones. What is UTF-8 stays as it is, so `kept` of kept text is that text. A text that has such characters
// itself (U+10FF80 … U+10FFFF) is not led back to: they are taken for single bytes. Python does the same
// (python/millpond/system/any_bytes.py). Linear. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace millpond::program {

std::string kept(std::string_view bytes);
std::string bytes_of(std::string_view text);

// Every string of a value and every name in it.
template <class Json, class Change>
void change_strings(Json& value, const Change& change) {
    if (value.is_string()) {
        value = change(value.template get_ref<const std::string&>());
    } else if (value.is_array()) {
        for (Json& one : value) change_strings(one, change);
    } else if (value.is_object()) {
        Json changed = Json::object();
        for (auto& [name, one] : value.items()) {
            change_strings(one, change);
            changed[change(name)] = std::move(one);
        }
        value = std::move(changed);
    }
}

// JSON as a file holds it: every string kept, whatever bytes it has. `indent` -1: on one line.
template <class Json>
std::string json_text(const Json& value, int indent = 2) {
    try {
        return value.dump(indent);
    } catch (const typename Json::type_error&) {  // bytes that are not UTF-8, which is rare
    }
    Json copy = value;
    change_strings(copy, [](const std::string& text) { return kept(text); });
    return copy.dump(indent);
}

}  // namespace millpond::program
