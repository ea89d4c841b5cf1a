// SPDX-License-Identifier: BSL-1.0
// arena_trial: simulates an arena for short-lived call sites in a recorded run.
//
//   request ─▶ is its site predicted? ─▶ classic::counted_arena of 4, 8 or 16 chunks, on imaginary addresses
//
// The arena is the library's own class, which never touches the memory that it divides. So the counts are those of the
// program, except that the order of threads and the other allocations are the trace's. An object is wrongly predicted
// if it is not freed before `short_bytes` more are requested; a chunk is pinned while such an object lives in it.
//
// consume() every batch, then json(). An event costs O(1). Memory: what the arena's live objects take. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/characterise/call_sites.hpp"
#include "lab/characterise/size_series.hpp"
#include "lab/program/json.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"
#include "millpond/classic/counted_arena.hpp"

namespace millpond::characterise {

struct arena_place {
    std::byte* block = nullptr;  // null: there was no empty chunk
    std::uint64_t number = 0;    // of the arena's objects
};

// One arena. Each request comes with the bytes that were requested before it, which serve as the clock.
template <unsigned Chunks>
class tried_arena {
  public:
    using arena = classic::counted_arena<Chunks>;

    explicit tried_arena(std::uint64_t short_bytes) : short_bytes_(short_bytes) {
        arena_.begin(reinterpret_cast<std::byte*>(std::uintptr_t{1} << 20));  // any address: it is never read
    }

    arena_place begin(std::uint64_t bytes, std::uint64_t now) {
        std::byte* const block = arena_.try_allocate(bytes);
        if (block == nullptr) {
            refused_bytes_ += bytes;
            return {};
        }
        ++objects_;
        placed_bytes_ += bytes;
        most_held_ = std::max(most_held_, arena_.held_chunks());
        young_.push_back({now, chunk_of(block), false});
        return {block, aged_ + young_.size() - 1};
    }

    void end(const arena_place& one) {
        if (one.block == nullptr) return;
        arena_.give_back(one.block);
        if (one.number >= aged_)
            young_[one.number - aged_].is_dead = true;
        else if (--old_[chunk_of(one.block)] == 0)
            --pinned_;
    }

    // Effects: objects that have outlived their prediction pin their chunks.
    void pass_to(std::uint64_t now) {
        for (; !young_.empty() && now - young_.front().born_bytes >= short_bytes_; young_.pop_front(), ++aged_) {
            const young& first = young_.front();
            if (first.is_dead || old_[first.chunk]++ != 0) continue;
            most_pinned_ = std::max(most_pinned_, ++pinned_);
        }
    }

    [[nodiscard]] program::json json() const;  // of arena_trial.cpp: 4, 8 or 16 chunks

  private:
    struct young {
        std::uint64_t born_bytes;
        std::size_t chunk;
        bool is_dead;
    };

    static std::size_t chunk_of(const std::byte* block) {
        return (reinterpret_cast<std::uintptr_t>(block) - (std::uintptr_t{1} << 20)) / arena::chunk_bytes;
    }

    arena arena_;
    std::uint64_t short_bytes_;
    std::uint64_t objects_ = 0, placed_bytes_ = 0, refused_bytes_ = 0, aged_ = 0;
    unsigned most_held_ = 0, pinned_ = 0, most_pinned_ = 0;
    std::deque<young> young_;  // in the order of their births; `aged_` were before them
    std::array<std::uint32_t, Chunks> old_{};
};

class arena_trial {
  public:
    // `sites`: names of predicted sites, by one to four frames. `nodes`, `modules`: those of the trace.
    arena_trial(const size_request& request, std::set<std::string> sites, const std::vector<trace::context_node>& nodes,
                const std::vector<trace::module_record>& modules)
        : request_(request), sites_(std::move(sites)), nodes_(nodes), modules_(modules) {}

    void consume(const trace::event* batch, std::size_t count);
    program::json json() const;

  private:
    using arenas = std::tuple<tried_arena<4>, tried_arena<8>, tried_arena<16>>;
    using places = std::array<arena_place, std::tuple_size_v<arenas>>;
    struct object {
        std::uint64_t bytes, born_bytes;
        bool is_predicted;
        places in;
    };

    void begin(const trace::event& e);
    void end(const object& ended);
    bool is_predicted(const trace::event& e);

    template <class Use>
    void for_each_arena(Use&& use) {
        use(std::get<0>(arenas_), std::integral_constant<std::size_t, 0>{});
        use(std::get<1>(arenas_), std::integral_constant<std::size_t, 1>{});
        use(std::get<2>(arenas_), std::integral_constant<std::size_t, 2>{});
    }

    size_request request_;
    std::set<std::string> sites_;
    const std::vector<trace::context_node>& nodes_;
    const std::vector<trace::module_record>& modules_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, bool> known_;  // by context and size
    trace::live_objects<object> live_;
    std::uint64_t requested_bytes_ = 0, predicted_ = 0, predicted_bytes_ = 0, right_bytes_ = 0;
    arenas arenas_{tried_arena<4>(request_.short_bytes), tried_arena<8>(request_.short_bytes),
                   tried_arena<16>(request_.short_bytes)};
};

}  // namespace millpond::characterise
