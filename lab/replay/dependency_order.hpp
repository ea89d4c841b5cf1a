// SPDX-License-Identifier: BSL-1.0
// dependency_order: plays a script on as many threads as the trace has, each in its own order.
//
//   script ─▶ dispatcher ─┬▶ queue of thread 1 ─▶ player 1 ─┐
//                         ├▶ queue of thread 2 ─▶ player 2 ─┼─▶ slots, each with the number of its next turn
//                         └▶ …                             ─┘
//             (total order, numbers the turns of each slot)
//
// A record's turn comes when all earlier records of its slot, in the total order, have been played: a free waits for
// its allocation, and the next object for the slot. Every wait is for an earlier record, and the earliest record not
// yet played waits for nothing, so there is no deadlock. The clock of a player runs while it plays; waiting time is
// subtracted. Queues are bounded: the dispatcher is at most a queue ahead of the slowest thread.
//
// Memory: the slots with their turns, and a queue of 100 kB for each thread that lives at once.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <span>

#include "lab/measure/clocks.hpp"
#include "lab/replay/page_array.hpp"
#include "lab/replay/play.hpp"
#include "lab/replay/player.hpp"
#include "lab/replay/record_queue.hpp"
#include "lab/replay/script_source.hpp"

namespace millpond::replay {

// A thread that is started and joined by hand, in memory that may have been zero. std::thread allocates its state from
// the malloc under test; this does not. Throws failure (status 4) if the system starts no more threads.
class system_thread {
  public:
    void start(void* (*run)(void*), void* argument) {
        const int error = ::pthread_create(&thread_, nullptr, run, argument);
        if (error != 0)
            throw program::failure(program::environment, std::string("cannot start a thread: ") + std::strerror(error));
    }
    void join() { ::pthread_join(thread_, nullptr); }

  private:
    pthread_t thread_;
};

template <class Heap, touch Touch>
class dependency_round {
  public:
    dependency_round(Heap& heap, script_source& script)
        : heap_(heap),
          script_(script),
          slots_(script.header().slots + std::size_t{1}),
          turns_(script.header().slots + std::size_t{1}),
          next_turn_(script.header().slots + std::size_t{1}),
          pending_(script.header().threads + std::size_t{1}),
          workers_(script.header().threads + std::size_t{1}) {}
    dependency_round(const dependency_round&) = delete;
    dependency_round& operator=(const dependency_round&) = delete;

    void play(play_result& result) {
        seconds_a_wait_ = seconds_of_looking_at_the_clock();
        const std::uint64_t faults = measure::page_faults();
        const double begin = measure::wall_seconds();
        try {
            dispatch_all();
        } catch (...) {
            // No thread may outlive the data that it uses.
            state_.store(play_state::out_of_memory);
            end_all();
            throw;
        }
        end_all();
        result.wall_seconds = measure::wall_seconds() - begin;
        result.page_faults = measure::page_faults() - faults;
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            result.cpu_seconds += workers_[i].cpu_seconds;
            result.records += workers_[i].records;
        }
        result.why = words_of(state_.load());
    }

  private:
    struct worker {
        dependency_round* round;
        record_queue* queue;
        system_thread thread;
        bool running;
        std::uint64_t records;
        double cpu_seconds, waited_seconds;
    };

    // Returns the unmeasured cost of a wait: the halves of its two clock readings that lie outside.
    static double seconds_of_looking_at_the_clock() noexcept {
        constexpr int looks = 256;
        double inside = 0;
        const double begin = measure::thread_cpu_seconds();
        for (int i = 0; i < looks; ++i) {
            const double look = measure::thread_cpu_seconds();
            inside += measure::thread_cpu_seconds() - look;
        }
        return (measure::thread_cpu_seconds() - begin - inside) / looks;
    }

    bool stopped() const noexcept { return state_.load(std::memory_order_relaxed) != play_state::going; }

    void dispatch_all() {
        for (auto records = script_.next(); !records.empty() && !stopped(); records = script_.next()) {
            for (const record& r : records) dispatch(r);
            publish_all();
        }
    }

    void end_all() {
        for (std::size_t i = 0; i < workers_.size(); ++i) end(i);
    }

    void dispatch(const record& r) {
        worker& w = workers_[r.thread()];
        if (!w.running) begin(w);
        // The first half of a realloc has no effect on its slot that others could wait for.
        const bool takes_turn = r.op() != operation::resize_from && r.op() != operation::thread_end;
        const turned_record turned{r, next_turn_[r.slot()], 0};
        if (takes_turn) ++next_turn_[r.slot()];
        while (!w.queue->put(turned)) {
            publish_all();  // records that this thread waits for may still lie in another queue
            w.queue->wait_for_room();
        }
        if (r.op() == operation::thread_end) end(r.thread());
    }

    void publish_all() noexcept {
        for (std::size_t i = 0; i < workers_.size(); ++i)
            if (workers_[i].running) workers_[i].queue->publish();
    }

    void begin(worker& w) {
        if (w.queue == nullptr) w.queue = make_queue();
        w.round = this;
        w.thread.start(&run, &w);
        w.running = true;
    }

    // Joins a thread: all records that it may wait for have been dispatched before.
    void end(std::size_t i) {
        worker& w = workers_[i];
        if (!w.running) return;
        const turned_record last{record(operation::thread_end, 0, 0, 0, 0, static_cast<std::uint16_t>(i)), 0, 1};
        while (!w.queue->put(last)) {
            publish_all();
            w.queue->wait_for_room();
        }
        publish_all();
        w.thread.join();
        w.running = false;
    }

    static record_queue* make_queue() {
        page_array<record_queue> memory(1);
        return new (memory.release()) record_queue;
    }

    static void* run(void* of_worker) {
        worker& w = *static_cast<worker*>(of_worker);
        w.round->play_queue(w);
        return nullptr;
    }

    void play_queue(worker& w) noexcept {
        player<Heap, Touch> plays(heap_, slots_.data(), pending_.data());
        for (bool last = false; !last;) {
            const std::span<const turned_record> records = w.queue->wait();
            w.waited_seconds = 0;
            const double begin = measure::thread_cpu_seconds();
            for (const turned_record& r : records) {
                last = r.is_last != 0;
                if (!last) play_in_turn(plays, r, w);
            }
            w.cpu_seconds += measure::thread_cpu_seconds() - begin - w.waited_seconds;
            w.records += records.size() - last;
            w.queue->take(records.size());
        }
    }

    void play_in_turn(player<Heap, Touch>& plays, const turned_record& r, worker& w) noexcept {
        if (r.what.op() == operation::thread_end) return;
        std::atomic<std::uint32_t>& turn = turns_[r.what.slot()];
        if (turn.load(std::memory_order_acquire) != r.turn) [[unlikely]]
            wait_for(turn, r.turn, w);
        // After a failure turns are still taken, so that every thread ends.
        if (!stopped() && !plays.play(r.what)) state_.store(plays.state(), std::memory_order_relaxed);
        if (r.what.op() != operation::resize_from) turn.store(r.turn + 1, std::memory_order_release);
    }

    [[gnu::noinline]] void wait_for(const std::atomic<std::uint32_t>& turn, std::uint32_t wanted,
                                    worker& w) const noexcept {
        const double begin = measure::thread_cpu_seconds();
        constexpr int looks = 64;
        for (int i = 0; turn.load(std::memory_order_acquire) != wanted; ++i) {
            if (i >= looks) ::sched_yield();
        }
        w.waited_seconds += measure::thread_cpu_seconds() - begin + seconds_a_wait_;
    }

    Heap& heap_;
    script_source& script_;
    page_array<void*> slots_;
    page_array<std::atomic<std::uint32_t>> turns_;
    page_array<std::uint32_t> next_turn_;  // the dispatcher's
    page_array<record> pending_;
    page_array<worker> workers_;
    double seconds_a_wait_ = 0;
    std::atomic<play_state> state_{play_state::going};
};

}  // namespace millpond::replay
