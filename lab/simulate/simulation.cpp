// SPDX-License-Identifier: BSL-1.0
// Applies the rules, and runs the list of simulators.
#include "lab/simulate/simulation.hpp"

#include <new>

#include "lab/simulate/attributed_cache.hpp"
#include "lab/simulate/cache_contents.hpp"
#include "lab/simulate/description.hpp"
#include "lab/simulate/direct_mapped_bank.hpp"
#include "lab/simulate/hierarchy.hpp"
#include "lab/simulate/lru_family.hpp"
#include "lab/simulate/sampled_distances.hpp"
#include "lab/simulate/single_cache.hpp"
#include "lab/simulate/stack_distances.hpp"

namespace millpond::simulate {

namespace {

template <class Simulator>
concept takes_lines = requires(Simulator& each, const touched_lines& lines) { each.take(lines); };

template <class Simulator>
constexpr auto take_references() -> void (*)(void*, const reference*, size_t) {
    if constexpr (takes_lines<Simulator>)
        return nullptr;
    else
        return [](void* body, const reference* piece, size_t n) { static_cast<Simulator*>(body)->take(piece, n); };
}

template <class Simulator>
constexpr auto take_touched() -> void (*)(void*, const touched_lines&) {
    if constexpr (takes_lines<Simulator>)
        return [](void* body, const touched_lines& lines) { static_cast<Simulator*>(body)->take(lines); };
    else
        return nullptr;
}

}  // namespace

template <class Simulator>
const simulation::operations simulation::operations_of = {
    take_references<Simulator>(),
    take_touched<Simulator>(),
    [](void* body) { static_cast<Simulator*>(body)->flush(); },
    [](const void* body, const report& to) { static_cast<const Simulator*>(body)->tell(to); },
    [](void* body) { static_cast<Simulator*>(body)->~Simulator(); },
};

simulation::simulation(const host& system, const millpond_rules& rules)
    : system_(system),
      rules_(rules),
      instructions_(best_instruction_set(rules.instruction_set_max == 0
                                             ? instruction_set::avx512
                                             : static_cast<instruction_set>(rules.instruction_set_max))),
      simulators_(system_, 16),
      changed_(system_, 2 * piece_max),
      filters_(system_),
      references_to_flush_(rules.flush_references),
      instructions_to_flush_(rules.flush_instructions) {}

simulation::~simulation() {
    for (size_t i = 0; i < count_; ++i) {
        entry& each = simulators_[i];
        each.call->destroy(each.body);
        system_.release(each.body, each.body_bytes);
        system_.release(each.text, each.text_bytes);
    }
    for (size_t i = 0; i < filter_count_; ++i) {
        filters_[i]->~touched_lines();
        system_.release(filters_[i], sizeof(touched_lines));
    }
}

// Returns the filter for this line size, and makes it if needed.
touched_lines& simulation::lines_of(const line_walk& walk) {
    for (size_t i = 0; i < filter_count_; ++i) {
        if (filters_[i]->walk().line_bytes() == walk.line_bytes()) return *filters_[i];
    }
    void* const place = system_.allocate(sizeof(touched_lines));
    filters_.reach(filter_count_);
    filters_[filter_count_] = new (place) touched_lines(system_, walk);
    return *filters_[filter_count_++];
}

template <class Simulator, class... Arguments>
void simulation::place(const char* text, const touched_lines* lines, Arguments&... arguments) {
    size_t text_bytes = 1;
    while (text[text_bytes - 1] != '\0') ++text_bytes;
    auto* const kept = static_cast<char*>(system_.allocate(text_bytes));
    for (size_t i = 0; i < text_bytes; ++i) kept[i] = text[i];
    void* const body = system_.allocate(sizeof(Simulator));
    new (body) Simulator(system_, arguments...);
    simulators_.reach(count_);
    simulators_[count_++] = {body, sizeof(Simulator), kept, text_bytes, &operations_of<Simulator>, lines};
}

const char* simulation::add(const char* text) {
    description d;
    if (const char* const wrong = parse(text, d)) return wrong;
    const line_walk lines(static_cast<uint32_t>(d.line.of[0]),
                          rules_.straddle_twice != 0 ? straddling::twice : straddling::once);
    const level_shape shape = d.shapes[0];
    const unsigned levels = static_cast<unsigned>(d.size.count), ways = static_cast<unsigned>(d.ways.of[0]);
    touched_lines* touched = nullptr;
    switch (d.kind) {
        case simulator_kind::direct:
            touched = &lines_of(lines);
            place<direct_mapped_bank>(text, touched, *touched, d.size.of, d.size.count);
            break;
        case simulator_kind::lru:
            touched = &lines_of(lines);
            place<lru_family>(text, touched, *touched, d.sets.of[0], d.sets.of[1], ways, instructions_);
            break;
        case simulator_kind::fifo:
        case simulator_kind::random:
            place<single_cache>(text, nullptr, lines, shape.sets, shape.ways, d.rule, d.seed.of[0], d.write);
            break;
        case simulator_kind::distances:
            place<stack_distances>(text, nullptr, lines, instructions_);
            break;
        case simulator_kind::sampled:
            place<sampled_distances>(text, nullptr, lines, d.one_in.of[0]);
            break;
        case simulator_kind::levels:
        case simulator_kind::tlb:
            touched = &lines_of(lines);
            place<hierarchy>(text, touched, *touched, d.shapes, levels, d.inclusive);
            break;
        case simulator_kind::attributed:
            place<attributed_cache>(text, nullptr, lines, shape.sets, shape.ways, d.rule, d.seed.of[0], d.is_split);
            break;
        case simulator_kind::contents:
            place<cache_contents>(text, nullptr, lines, shape.sets, shape.ways, d.rule, d.seed.of[0]);
            break;
    }
    return nullptr;
}

// Applies the rules that are the same for every line size. Straddling depends on the line size, so the simulators
// handle it.
void simulation::take_piece(const reference* piece, size_t count) {
    if (rules_.modify_twice != 0 || rules_.bytes_max != 0) {
        size_t changed = 0;
        for (size_t i = 0; i < count; ++i) {
            reference r = piece[i];
            if (rules_.bytes_max != 0 && r.bytes > rules_.bytes_max) r.bytes = static_cast<uint16_t>(rules_.bytes_max);
            changed_[changed++] = r;
            if (rules_.modify_twice == 0 || r.kind != millpond_modify) continue;
            changed_[changed - 1].kind = millpond_load;
            r.kind = millpond_store;
            changed_[changed++] = r;
        }
        piece = changed_.data();
        count = changed;
    }
    for (size_t i = 0; i < filter_count_; ++i) take_lines(*filters_[i], piece, count);
    for (size_t i = 0; i < count_; ++i) {
        if (simulators_[i].lines == nullptr) simulators_[i].call->take(simulators_[i].body, piece, count);
    }
}

void simulation::take_lines(touched_lines& lines, const reference* piece, size_t count) {
    while (count != 0) {
        const size_t taken = lines.take(piece, count);
        piece += taken;
        count -= taken;
        for (size_t i = 0; i < count_; ++i) {
            if (simulators_[i].lines == &lines) simulators_[i].call->take_lines(simulators_[i].body, lines);
        }
    }
}

void simulation::take(const reference* batch, size_t count, uint64_t instructions) {
    while (count != 0) {
        size_t piece = count < piece_max ? count : piece_max;
        if (rules_.flush_references != 0 && references_to_flush_ < piece) piece = references_to_flush_;
        take_piece(batch, piece);
        batch += piece;
        count -= piece;
        if (rules_.flush_references == 0) continue;
        references_to_flush_ -= piece;
        if (references_to_flush_ == 0) {
            flush();
            references_to_flush_ = rules_.flush_references;
        }
    }
    if (rules_.flush_instructions == 0) return;
    if (instructions < instructions_to_flush_) {
        instructions_to_flush_ -= instructions;
    } else {
        flush();
        const uint64_t over = (instructions - instructions_to_flush_) % rules_.flush_instructions;
        instructions_to_flush_ = rules_.flush_instructions - over;
    }
}

void simulation::flush() {
    for (size_t i = 0; i < filter_count_; ++i) filters_[i]->flush();
    for (size_t i = 0; i < count_; ++i) simulators_[i].call->flush(simulators_[i].body);
}

void simulation::tell(size_t simulator, const report& to) const {
    simulators_[simulator].call->tell(simulators_[simulator].body, to);
}

}  // namespace millpond::simulate
