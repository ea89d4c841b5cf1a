// SPDX-License-Identifier: BSL-1.0
// allocator_calls: finds the subsystem for which the allocator works, on one thread.
//
//   enter │ allocator … │ leave │ allocate(context) ──▶ the object's subsystem: known only now, so the work waits
//   enter │ free(object) │ allocator … │ leave      ──▶ the freed object's
//   enter │ … │ leave │ anything else               ──▶ unknown: a call that changed nothing, or failed
//
// A realloc belongs to the subsystem of its result. A signal handler suspends the call. O(1) an event. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace millpond::attribution {

// The span from the first to the last of some moments, each a number of instructions. Empty at first.
struct instruction_span {
    std::uint64_t first = ~std::uint64_t{0}, last = 0;

    void add(const instruction_span& other) {
        first = std::min(first, other.first);
        last = std::max(last, other.last);
    }
    std::uint64_t length() const { return last > first ? last - first : 0; }
};

// The work of the allocator for one owner.
struct allocator_work {
    std::uint64_t calls = 0, instructions = 0, references = 0, misses = 0;
    instruction_span own;  // in instructions of its own thread; meaningless for the work of several threads
    instruction_span all;  // in instructions of all threads

    void add(const allocator_work& other) {
        calls += other.calls;
        instructions += other.instructions;
        references += other.references;
        misses += other.misses;
        own.add(other.own);
        all.add(other.all);
    }
};

class allocator_calls {
  public:
    static constexpr std::size_t suspended_max = 64;

    // Calls `settle(owner or nothing, work)` whenever the owner of some work becomes known.
    template <class Settle>
    void work(const allocator_work& done, const Settle& settle) {
        if (!is_open_) end(settle);
        call_.add(done);
        if (!is_open_) end(settle);  // the recording begins within a call
    }
    template <class Settle>
    void enter(const Settle& settle) {
        end(settle);
        is_open_ = true;
        call_.calls = 1;
    }
    void leave() { is_open_ = false; }
    // Names the owner; it holds until allocate() names another.
    void free(std::uint32_t owner) {
        if (!owner_) owner_ = owner;
    }
    template <class Settle>
    void allocate(std::uint32_t owner, const Settle& settle) {
        owner_ = owner;
        if (!is_open_) end(settle);
    }
    template <class Settle>
    void suspend(const Settle& settle) {
        if (suspended_.size() == suspended_max) {  // left long ago by a jump
            settle(suspended_.front().owner, suspended_.front().call);
            suspended_.erase(suspended_.begin());
        }
        suspended_.push_back({owner_, call_, is_open_});
        owner_.reset();
        call_ = {};
        is_open_ = false;
    }
    template <class Settle>
    void resume(bool in_allocator, const Settle& settle) {
        end(settle);
        while (!suspended_.empty()) {
            const suspended_call last = suspended_.back();
            suspended_.pop_back();
            owner_ = last.owner;
            call_ = last.call;
            is_open_ = last.is_open;
            if (is_open_ == in_allocator) return;
            end(settle);
        }
        is_open_ = in_allocator;
    }
    // Notes that the call, if there is one, has no more events.
    template <class Settle>
    void end(const Settle& settle) {
        if (call_.calls + call_.instructions + call_.references > 0) settle(owner_, call_);
        owner_.reset();
        call_ = {};
        is_open_ = false;
    }

  private:
    struct suspended_call {
        std::optional<std::uint32_t> owner;
        allocator_work call;
        bool is_open;
    };

    std::optional<std::uint32_t> owner_;
    allocator_work call_;
    bool is_open_ = false;
    std::vector<suspended_call> suspended_;
};

}  // namespace millpond::attribution
