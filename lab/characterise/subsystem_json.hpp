// SPDX-License-Identifier: BSL-1.0
// subsystem_json: the JSON of one subsystem of a characterisation: figures, DVLUC and legality (legality_record.cpp).
#pragma once

#include <cstdint>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

// "legality" of a scope and a subsystem. Only observed scopes are called legal; a truncated trace decides only what a
// witness proves.
namespace scope_legality {
constexpr const char* legal = "legal";
constexpr const char* legal_outermost = "legal for the outermost call";
constexpr const char* illegal = "illegal";
constexpr const char* alive_at_end = "alive at the end";
constexpr const char* not_disproved = "not disproved";
constexpr const char* not_decided = "not decided";
}  // namespace scope_legality

json subsystem_json(const characterisation& all, std::uint32_t subsystem);

// Returns "legality": enclosing functions from the innermost outward, then the thread. At most scopes_max functions,
// each enclosing at least nine tenths of the subsystem's allocations; if there are more, those where illegal turns into
// legal are kept.
json legality_json(const characterisation& all, std::uint32_t subsystem);
// Returns the functions that legality_json judges.
std::vector<std::uint32_t> legality_functions(const characterisation& all, std::uint32_t subsystem);

}  // namespace millpond::characterise
