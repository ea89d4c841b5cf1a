// SPDX-License-Identifier: BSL-1.0
#include "lab/record/stretches.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "lab/program/program.hpp"
#include "lab/trace/slot_reader.hpp"

namespace millpond::record {
namespace {

// The blocks of the stretches that have ended: their places and headers.
std::string state_of_ended(const trace::slot_reader& from) {
    std::string state;
    for (const trace::slot_process& p : from.processes())
        if (p.facts.finished == 0 && p.facts.turn != from.header().turn)
            for (const trace::slot_block& block : from.blocks(p)) {
                state.append(reinterpret_cast<const char*>(&block.offset), sizeof block.offset);
                state.append(reinterpret_cast<const char*>(&block.header), sizeof block.header);
            }
    return state;
}

}  // namespace

std::string why_no_trace(const mpt_slot_file& shared) {
    return shared.sample_bytes == 0 ? "the program did not allocate while it was recorded, so no trace was written"
                                    : "no block was chosen for the sample, so no trace was written";
}

std::string stretch_file(const std::string& file, std::uint64_t number) {
    const std::filesystem::path path(file);
    std::string name = path.stem().string();
    name += "-" + std::to_string(number) + path.extension().string();
    return path.has_parent_path() ? (path.parent_path() / name).string() : name;
}

void settle(const std::string& partial) {
    constexpr int tries = 100;
    std::string before = state_of_ended(trace::slot_reader(partial));
    for (int i = 0; i < tries; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::string now = state_of_ended(trace::slot_reader(partial));
        if (now == before) return;
        before = std::move(now);
    }
}

bool end_last_stretch(const std::string& partial) {
    const int descriptor = open(partial.c_str(), O_RDONLY | O_CLOEXEC);
    trace::slot_reader from(partial);
    const bool has_recorder = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    if (has_recorder)
        throw program::failure(program::environment,
                               partial + ": its recorder still runs; 'millpond trace control PID stop' writes a trace");
    const bool was_awake = from.put_to_sleep();
    if (was_awake) settle(partial);
    return was_awake;
}

}  // namespace millpond::record
