// SPDX-License-Identifier: BSL-1.0
#include "lab/record/outside_marks.hpp"

#include <algorithm>
#include <utility>

#include "lab/program/program.hpp"
#include "lab/record/outside_stream.hpp"
#include "lab/record/phase_notes.hpp"
#include "lab/record/running.hpp"
#include "lab/record/system.hpp"

namespace millpond::record {
namespace {

// The last image of that process in that stretch which had begun by then; null: none.
const trace::slot_process* image_at(const trace::slot_reader& from, std::uint64_t pid, std::uint32_t turn,
                                    std::uint64_t tick) {
    const trace::slot_process* found = nullptr;
    for (const trace::slot_process& p : from.processes())
        if (p.facts.pid == pid && p.facts.turn == turn && p.facts.finished == 0 && p.facts.start_ticks <= tick)
            found = &p;
    return found;
}

// The first image of that process in that stretch; null: none.
const trace::slot_process* first_image(const trace::slot_reader& from, std::uint64_t pid, std::uint32_t turn) {
    const auto& all = from.processes();
    const auto found = std::find_if(all.begin(), all.end(), [&](const trace::slot_process& p) {
        return p.facts.pid == pid && p.facts.turn == turn && p.facts.finished == 0;
    });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

void outside_marks::mark(std::string name) {
    if (__atomic_load_n(&shared_.limit_reached, __ATOMIC_RELAXED) != 0)
        throw program::failure(program::environment, "--max-trace was reached, so nothing is recorded any more");
    const std::uint64_t now = ticks();
    const std::uint32_t turn = __atomic_load_n(&shared_.turn, __ATOMIC_RELAXED);
    const trace::slot_reader from(partial_);
    bool any = false;
    for (const running_process& running : find_running(partial_, from.device(), from.inode())) {
        if (!running.has_mapped) continue;
        any = true;
        const waiting_mark one{turn, now, name, running.own_pid};
        if (const trace::slot_process* const p = image_at(from, running.own_pid, turn, now); p && running.is(p->facts))
            write(from, *p, one);
        else
            waiting_.push_back(one);
    }
    if (!any)
        throw program::failure(program::environment,
                               "no process of the program has loaded the recorder (is it static?)");
}

void outside_marks::settle() {
    for (waiting_mark& one : std::exchange(waiting_, {})) {
        const trace::slot_reader from(partial_);  // it sees the marks that were written so far
        const trace::slot_process* const p = first_image(from, one.pid, one.turn);
        if (p == nullptr) continue;
        one.tick = std::max(one.tick, p->facts.start_ticks);
        write(from, *p, one);
    }
}

void outside_marks::write(const trace::slot_reader& from, const trace::slot_process& process, const waiting_mark& one) {
    outside_stream stream(partial_, shared_, from, process, one.tick);
    write_phase(one.name.data(), one.name.size(),
                [&](unsigned subject, std::uint64_t value) { stream.note(subject, value); });
    stream.flush();
}

}  // namespace millpond::record
