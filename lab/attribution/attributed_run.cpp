// SPDX-License-Identifier: BSL-1.0
#include "lab/attribution/attributed_run.hpp"

#include <array>
#include <utility>

#include "lab/program/program.hpp"
#include "lab/simulate/description.hpp"
#include "lab/simulate/process_system.hpp"

namespace millpond::attribution {

const char* name_of(place where) {
    static constexpr std::array<const char*, places> names = {"heap",    "stack",     "global",
                                                              "unknown", "allocator", "system"};
    return names[static_cast<std::size_t>(where)];
}

cache_shape cache_shape::of(const std::string& description) {
    simulate::description parsed;
    const auto wrong = [&](const std::string& why) {
        return program::failure(program::usage, "\"" + description + "\": " + why);
    };
    if (const char* const why = simulate::parse(description.c_str(), parsed)) throw wrong(why);
    if (parsed.kind != simulate::simulator_kind::attributed && parsed.kind != simulate::simulator_kind::fifo &&
        parsed.kind != simulate::simulator_kind::random)
        throw wrong("misses are attributed in one cache: attributed, fifo or random");
    if (!parsed.is_split) throw wrong("misses are always told apart here: leave out split=no");
    cache_shape shape;
    shape.description = description;
    shape.sets = parsed.shapes[0].sets;
    shape.ways = parsed.shapes[0].ways;
    shape.line_bytes = static_cast<std::uint32_t>(parsed.line.of[0]);
    shape.rule = parsed.rule;
    shape.seed = parsed.seed.of[0];
    return shape;
}

void miss_counts::add(const miss_counts& other) {
    references += other.references;
    cold += other.cold;
    capacity += other.capacity;
    conflict += other.conflict;
    indirect += other.indirect;
    bytes.fetched += other.bytes.fetched;
    bytes.useful += other.bytes.useful;
}

attributed_run::attributed_run(std::uint32_t subjects, subject_function subject_of, cache_shape shape,
                               layout::region_map regions, std::uint64_t instructions,
                               const std::vector<std::uint32_t>& affine)
    : subjects_(subjects),
      subject_of_(std::move(subject_of)),
      shape_(std::move(shape)),
      regions_(std::move(regions)),
      footprints_(objects_),
      affinity_(affine),
      cache_(simulate::process_system, simulate::line_walk(shape_.line_bytes), shape_.sets, shape_.ways, shape_.rule,
             shape_.seed),
      lines_(shape_.line_bytes),
      map_(instructions),
      transitions_(subjects, 0),
      live_(subjects, 0) {}

// Returns true if it missed.
bool attributed_run::through_cache(const millpond_reference& r, place where) {
    const bool missed = cache_.take_one(
        r, [&](std::uint64_t line, const simulate::attributed_cache::line_outcome& o) { lines_.take(line, o, r); });
    map_.add(r.address, static_cast<unsigned>(where), missed);
    return missed;
}

void attributed_run::take_program(millpond_reference r, thread_state& thread) {
    const layout::object_map::found at = objects_.find(r.address);
    if (at.id == layout::object_map::none) {
        const layout::memory_kind kind = regions_.find(r.address);
        const place where = kind == layout::memory_kind::stack ? place::stack
                            : kind == layout::memory_kind::global || kind == layout::memory_kind::variables
                                ? place::global
                                : place::unknown;
        r.subject = subject_at(where);
        through_cache(r, where);
        return;
    }
    r.subject = objects_.object(at.id).subject;
    if (r.subject != thread.latest) {
        if (thread.latest != nothing) ++transitions_[thread.latest];
        thread.latest = r.subject;
    }
    footprints_.touch(at, r.address, r.bytes);
    affinity_.touch(thread.window, at.id, r.subject);
    through_cache(r, place::heap);
}

void attributed_run::take_references(const references::step& step, thread_state& thread) {
    allocator_work work;
    for (const millpond_reference& each : step.references) {
        if (each.origin == millpond_of_program) {
            take_program(each, thread);
        } else if (each.origin == millpond_of_allocator) {
            millpond_reference r = each;
            r.subject = subject_at(place::allocator);
            ++work.references;
            work.misses += through_cache(r, place::allocator);
        } else {
            ++system_references_;
        }
    }
    if (!step.in_allocator) return;
    work.instructions = step.instructions;
    work.own = {thread.instructions - step.instructions, thread.instructions};
    work.all = {totals_.instructions - step.instructions, totals_.instructions};
    if (work.instructions + work.references > 0) thread.calls.work(work, settling(thread));
}

void attributed_run::end_object(std::uint64_t address, thread_state& thread) {
    const std::uint32_t id = objects_.beginning_at(address);
    if (id == layout::object_map::none) return;
    thread.calls.free(objects_.object(id).subject);
    --live_[objects_.object(id).subject];
    footprints_.end(id);
}

void attributed_run::begin_object(const references::stream_event& event, thread_state& thread) {
    const std::uint64_t address = event.operands[0], bytes = event.operands[1];
    const std::uint32_t subject = subject_of_(event.operands[2]);
    // If an old object is still here, its free was in a missing part of the recording.
    for (std::uint32_t old; (old = objects_.overlapping(address, bytes)) != layout::object_map::none;) {
        --live_[objects_.object(old).subject];
        footprints_.end(old);
    }
    objects_.begin({address, bytes, subject});
    if (const std::uint32_t id = objects_.beginning_at(address); id != layout::object_map::none) {
        ++live_[subject];
        affinity_.begin(id, bytes);
    }
    thread.calls.allocate(subject, settling(thread));
}

void attributed_run::take_event(const references::stream_event& event, thread_state& thread) {
    switch (event.record) {
        case millpond_record_enter:
            return thread.calls.enter(settling(thread));
        case millpond_record_leave:
            return thread.calls.leave();
        case millpond_record_allocate:
            return begin_object(event, thread);
        case millpond_record_free:
            return end_object(event.operands[0], thread);
        case millpond_record_signal:
            return thread.calls.suspend(settling(thread));
        case millpond_record_resume:
            return thread.calls.resume(event.operands[0] != 0, settling(thread));
        case millpond_record_gap:
            totals_.not_captured += event.operands[0];
            return;
        default:
            return;
    }
}

void attributed_run::take(const references::step& step) {
    thread_state& thread = threads_[step.thread];
    map_.pass_to(totals_.instructions);
    totals_.instructions += step.instructions;
    thread.instructions += step.instructions;
    thread.last = totals_.instructions;
    if (step.in_allocator) totals_.allocator_instructions += step.instructions;
    totals_.references += step.references.size();
    take_references(step, thread);
    take_event(step.event, thread);
}

void attributed_run::finish() {
    for (auto& [number, thread] : threads_) {
        thread.calls.end(settling(thread));
        affinity_.finish(thread.window);
    }
    lines_.finish();
}

std::vector<allocator_work> attributed_run::work_by_thread(std::uint32_t subject) const {
    std::vector<allocator_work> found;
    for (const auto& [number, thread] : threads_) {
        if (thread.work_for.empty() || thread.work_for[subject].calls + thread.work_for[subject].instructions == 0)
            continue;
        allocator_work work = thread.work_for[subject];
        if (subject < subjects_ && live_[subject] > 0) {  // in use until the thread ends
            work.own.last = thread.instructions;
            work.all.last = thread.last;
        }
        found.push_back(work);
    }
    return found;
}

allocator_work attributed_run::work_for(std::uint32_t subject) const {
    allocator_work sum;
    for (const allocator_work& each : work_by_thread(subject)) sum.add(each);
    return sum;
}

miss_counts attributed_run::of_subject(std::uint32_t subject) const {
    miss_counts found;
    if (subject >= cache_.subjects()) return found;
    const simulate::attributed_cache::counts& own = cache_.of_subject(subject);
    for (unsigned origin = 0; origin < simulate::attributed_cache::origins; ++origin) {
        const auto of = [&](simulate::miss_kind kind) { return own.misses[origin][static_cast<unsigned>(kind)]; };
        found.references += own.references[origin];
        found.cold += of(simulate::miss_kind::cold);
        found.capacity += of(simulate::miss_kind::capacity);
        found.conflict += of(simulate::miss_kind::conflict);
    }
    found.indirect = own.indirect;
    found.bytes = lines_.of(subject);
    return found;
}

miss_counts attributed_run::of_place(place where) const {
    miss_counts sum;
    if (where == place::system) {
        sum.references = system_references_;
    } else if (where == place::heap) {
        for (std::uint32_t subject = 0; subject < subjects_; ++subject) sum.add(of_subject(subject));
    } else {
        sum = of_subject(subject_at(where));
    }
    return sum;
}

void take_all(references::reader& reader, attributed_run& to) {
    for (references::step step; reader.next(step);) to.take(step);
    to.finish();
}

}  // namespace millpond::attribution
