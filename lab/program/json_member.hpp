// SPDX-License-Identifier: BSL-1.0
// json_member: a name and a value; json_object makes an object of some.
//
//   const ordered_json all = json_object({{"name", name}, {"calls", calls}, {"pools", pools}});
//
// Use it where an object has several members: nlohmann's own list does the same, but the compiler makes some functions
// for each length of a name, which takes it seconds. Values are moved. Linear. Thread-safe: no state.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>

namespace millpond::program {

struct json_member {
    const char* name;
    mutable nlohmann::ordered_json value;  // a list of members is constant, and its values are moved from it
};

// In the order of the members.
nlohmann::ordered_json json_object(std::initializer_list<json_member> members);

}  // namespace millpond::program
