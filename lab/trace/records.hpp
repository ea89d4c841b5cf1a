// SPDX-License-Identifier: BSL-1.0
// records: converts the small payloads of a trace (process, modules, contexts, end) to structures, and all but the
// process back.
//
// Readers use the entries that they know and skip the rest (docs/reference/trace_format.md, "Versions"). Every take_…
// throws trace_error if the payload contradicts itself; entries read before stay. O(bytes).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/trace/fields.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

void take_process(std::span<const std::uint8_t> payload, process_record& process);
void take_end(std::span<const std::uint8_t> payload, process_record& process);

// `modules` is indexed by id − 1; a gap is filled with nameless modules.
void take_modules(std::span<const std::uint8_t> payload, std::uint32_t count, std::vector<module_record>& modules);

// `contexts` is indexed by id. `ids_max`: the most that this trace can hold, which bounds the memory that a damaged id
// can claim.
void take_contexts(std::span<const std::uint8_t> payload, const mpt_block_header& header, std::uint64_t ids_max,
                   std::vector<context_node>& contexts);

// Cuts nodes whose way to the outside is broken (a lost parent, a circle), so that every walk along parents ends.
// Returns the number of cuts.
std::size_t mend_contexts(std::vector<context_node>& contexts);

void put_module(const module_record& module, field_writer& to);
void put_context(std::uint32_t id, const context_node& node, field_writer& to);
void put_end(const end_record& end, std::uint64_t contexts, field_writer& to);

}  // namespace millpond::trace
