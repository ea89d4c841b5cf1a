// SPDX-License-Identifier: BSL-1.0
#include "make_golden.hpp"

#include <vector>

#include "../lab/trace/recording.hpp"
#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/column_splitter.hpp"
#include "lab/trace/records.hpp"

namespace millpond::test {

namespace {

using trace::event;
using trace::operation;

constexpr std::uint64_t heap = 0x55d0c0de0000, start_ticks = 5'000'000'000, start_ns = 2'000'000'000;
constexpr std::uint32_t contexts = 12;

void record_descriptions(recording& to) {
    to.put_process({.pid = 4711,
                    .parent_pid = 4700,
                    .image = 0,
                    .first_tick = start_ticks - 100,
                    .executable = "/usr/bin/three_threads",
                    .build_id = "c0ffee00",
                    .arguments = {"three_threads", "--deep \"quoted\"", ""},
                    .start_ticks = start_ticks,
                    .start_ns = start_ns});
    to.put_module({1, 0x400000, 0x400000, 0x408000, "/usr/bin/three_threads", "c0ffee00", start_ticks - 50, 0});
    to.put_module({2, 0x7f0000000000, 0x7f0000000000, 0x7f0000200000, "/lib/libplugin.so", "00ff", start_ticks + 9,
                   start_ticks + 4000});
    std::vector<trace::context_node> nodes;
    for (std::uint32_t id = 1; id <= contexts; ++id)
        nodes.push_back({id / 2, 1 + id % 2, 0x1000 + std::uint64_t{0x11} * id});
    nodes[contexts - 1] = {contexts / 2, 0, 1};  // a stack that was cut
    to.put_contexts(1, nodes);
}

// The k-th event of a thread in a block: thread 1 produces, thread 2 consumes, thread 3 reallocates.
event golden_event(std::uint32_t thread, std::uint64_t block, std::uint64_t k, std::uint64_t time) {
    event e{time, 0, 0, 0, thread, 0, operation::allocate, 0, false};
    const std::uint64_t object = block * 40 + k;
    if (thread == 1) {
        e.address = heap + 48 * object;
        e.bytes = k == 7 ? 3'000'000'000 : 24 + k % 5;
        e.context = static_cast<std::uint32_t>(1 + k % (contexts - 1));
        e.alignment_log2 = k % 9 == 4 ? 6 : 0;
        e.zeroed = k % 6 == 1;
    } else if (thread == 2) {
        e.op = operation::free;  // of the producer's objects
        e.address = heap + 48 * object;
    } else {
        const bool ends = k % 2 == 0;
        e.op = ends ? operation::realloc_free : operation::realloc_allocate;
        e.address = heap + 0x100000 + 8 * (k / 2 * 3 + (ends ? 0 : 3)) + 4096 * block;  // not all multiples of 16
        if (!ends) e.bytes = 100 + 300 * (k / 2);
        if (!ends) e.context = contexts;
    }
    e.duration_ticks = k % 16 == 3 ? 60 + 10 * thread : 0;
    return e;
}

void record_block(recording& to, std::uint64_t block) {
    std::uint64_t last[4] = {};
    for (std::uint64_t k = 0; k < 30; ++k) {
        for (std::uint32_t thread = 1; thread <= 3; ++thread) {
            const bool timed = k == 0 || k % 7 != 5;
            // The consumer is 500 ticks behind the producer.
            const std::uint64_t now =
                start_ticks + 5000 * block + 100 * k + std::uint64_t{3} * thread + (thread == 2 ? 500 : 0);
            if (timed) last[thread] = now;
            to.add(golden_event(thread, block, k, last[thread]), timed);
        }
    }
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
        const std::uint64_t subject = block == 0    ? mpt_note_returned
                                      : thread == 3 ? mpt_note_thread_end
                                                    : mpt_note_lost;
        to.add({last[thread], thread, subject, 0, thread, 0, operation::note, 0, false}, false);
        if (block == 0) to.close(thread);
    }
}

}  // namespace

void make_golden(const std::string& path) {
    const std::string scratch = path + ".raw";
    recording made(4096);
    record_descriptions(made);
    record_block(made, 0);
    record_block(made, 1);
    made.close_all();
    made.save(scratch);
    {
        trace::block_output output(path);
        trace::block_file raw(scratch);
        trace::damage_list none;
        trace::payload_buffer payload;
        trace::column_splitter splitter;
        std::string what;
        for (const trace::block_record& block : raw.scan(none)) {
            raw.read_payload(block, payload, what);
            mpt_block_header header = block.header;
            const bool salvaged = header.kind == mpt_events && header.sequence == 1;
            if (salvaged) {
                header.layout = mpt_columns;
                output.append(header, splitter.split(payload.bytes()).payload, mpt_zstd);
            } else {
                output.append(header, payload.bytes(), header.kind == mpt_contexts ? mpt_zstd : mpt_raw);
            }
        }
        trace::field_writer end;
        trace::end_record killed{.exit_status = -1, .signal = 9};
        killed.end_ticks = start_ticks + 20'000;
        killed.end_ns = start_ns + 10'000;
        killed.events_lost = 3;
        killed.allocations_failed = 1;
        trace::put_end(killed, contexts, end);
        output.append(trace::make_header(mpt_end, 1), end.bytes(), mpt_raw);
        output.commit();
    }
    std::filesystem::remove(scratch);
}

}  // namespace millpond::test
