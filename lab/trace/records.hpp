// SPDX-License-Identifier: BSL-1.0
// records: the small payloads of a trace (process, modules, contexts, end) as structures, and back.
//
// Readers take what they know and skip the rest (docs/trace_format.md, "Versions"). Every take_… throws trace_error
// where the payload contradicts itself; what was read until then stays. O(bytes).
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

// `modules` by id − 1; a gap is filled with nameless modules.
void take_modules(std::span<const std::uint8_t> payload, std::uint32_t count, std::vector<module_record>& modules);

// `contexts` by id. `ids_max`: the most that this trace can hold, which bounds what a damaged id can make us allocate.
void take_contexts(std::span<const std::uint8_t> payload, const mpt_block_header& header, std::uint64_t ids_max,
                   std::vector<context_node>& contexts);

// Nodes whose way to the outside is broken (a parent that was lost, a circle) are cut there: afterwards every walk
// along parents ends. Returns how many were cut.
std::size_t mend_contexts(std::vector<context_node>& contexts);

void put_process(const process_record& process, field_writer& to);
void put_module(const module_record& module, field_writer& to);
void put_context(std::uint32_t id, const context_node& node, field_writer& to);
void put_end(const end_record& end, std::uint64_t contexts, field_writer& to);

}  // namespace millpond::trace
