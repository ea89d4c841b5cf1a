// SPDX-License-Identifier: BSL-1.0
// reader: opens a trace and streams its blocks; no damage stops it (docs/reference/trace_format.md).
//
//   file ──scan or index──▶ block list ──▶ process, modules, contexts (small, kept)
//                                     └──▶ events of each block, streamed, in total order by time
//
// Use it for every analysis. Memory: the index, the contexts and one decoded block a thread; never the events.
// Damage is never fatal: it is collected in damages() with its offset, and reading goes on with the next whole block.
// Not thread-safe. Throws trace_error only if nothing can be read at all (no file, not a trace, a later version).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/trace/format.h"

namespace millpond::trace {

struct trace_error : program::failure {
    explicit trace_error(const std::string& message) : failure(program::input, message) {}
};

enum class operation : std::uint8_t { free, allocate, realloc_free, realloc_allocate, note };

// One heap event. `bytes`, `context`, `alignment_log2`, `zeroed`: allocations only; a note keeps its subject in
// `bytes`, its value in `address`.
struct event {
    std::uint64_t time_ticks;  // of this event, or the last time known in its stream
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t context;         // node id; 0: unknown
    std::uint32_t thread;          // stream number
    std::uint32_t duration_ticks;  // 0: not timed
    operation op;
    std::uint8_t alignment_log2;
    bool zeroed;
};

struct damage {
    std::uint64_t offset;
    std::string what;
};

struct module_record {
    std::uint32_t id;
    std::uint64_t bias, first, last;
    std::string path, build_id;  // build_id in hex
    std::uint64_t load_tick, unload_tick;
};

struct context_node {
    std::uint32_t parent;  // 0: none
    std::uint32_t module;  // 0: no module (offset 0: generated code, 1: cut)
    std::uint64_t offset;
};

struct process_record {
    std::uint64_t pid = 0, parent_pid = 0, image = 0, first_tick = 0;
    std::uint64_t sample_bytes = 0;  // of a sampled trace: bytes for each one chosen; 0: every event is here
    std::uint64_t cut_tick = 0;      // of a ring: older events are those of blocks that were alive then; 0: no ring
    std::uint64_t recording = 0;     // the same in all traces of one recording; 0: unknown
    std::string executable{}, build_id{}, malloc_provider{};
    std::vector<std::string> arguments{};
    std::uint64_t start_ticks = 0, start_ns = 0;  // clock pair
    // from the end block, if there is one
    bool ended = false, clean = false;
    int exit_status = -1, signal = 0;
    std::uint64_t end_ticks = 0, end_ns = 0;
    std::uint64_t events_lost = 0, stopped_early = 0, aliasing_sampled = 0, aliasing_differed = 0,
                  aliasing_differed_deep = 0, allocations_failed = 0;
    std::string stop_reason{};  // a clause: why it stopped early, if more than an errno is known
};

// The facts about a stream from the block list.
struct stream_record {
    std::uint32_t thread;
    std::uint64_t events, first_tick, last_block_tick, cpu_ns;

    [[nodiscard]] bool is_of_program() const { return thread != mpt_stream_outside; }
};

struct block_record {
    std::uint64_t offset;
    mpt_block_header header;
};

// A sampled trace holds some of the events only, so every analysis that needs all of them refuses it, unasked.
enum class sampled_traces : std::uint8_t { refused, accepted };

class reader {
  public:
    // Reads the index (or scans), the process, the modules and all contexts. Throws trace_error, also for a sampled
    // trace unless that is accepted.
    explicit reader(const std::string& path, sampled_traces sampled = sampled_traces::refused);
    ~reader();
    reader(reader&&) noexcept;
    reader& operator=(reader&&) noexcept;

    const process_record& process() const;
    const std::vector<module_record>& modules() const;  // position id − 1
    const std::vector<context_node>& contexts() const;  // position = node id; [0] is the outside
    const std::vector<stream_record>& streams() const;
    const std::vector<block_record>& blocks() const;
    std::uint64_t event_count() const;           // from the headers of the blocks
    const std::vector<damage>& damages() const;  // grows while events are read
    double ticks_per_ns() const;                 // 1.0 if two clock pairs are not known

    // Passes every event to the sink: all streams merged by time, in batches, each stream's own order kept. One pass,
    // O(log threads) an event (no merge in a single-threaded trace, or a stretch with only one stream). The sink takes
    // (const event* batch, std::size_t count). The consumer mends hand-offs (live_objects).
    void for_each_batch(const std::function<void(const event*, std::size_t)>& sink);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace millpond::trace
