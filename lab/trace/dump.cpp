// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/dump.hpp"

#include <fmt/format.h>

#include "lab/trace/phase_marks.hpp"

namespace millpond::trace {

namespace {

const char* name(operation op) {
    switch (op) {
        case operation::free:
            return "free";
        case operation::allocate:
            return "allocate";
        case operation::realloc_free:
            return "realloc_free";
        case operation::realloc_allocate:
            return "realloc_allocate";
        case operation::note:
            return "note";
    }
    return "?";
}

// Control characters of a path or argument must not reach a terminal.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || c == '"' || c == '\\')
            result += fmt::format("\\x{:02x}", byte);
        else
            result += c;
    }
    return result + '"';
}

void dump_process(const process_record& p, std::FILE* to) {
    fmt::print(to, "process pid={} parent={} image={} executable={} build_id={}\n", p.pid, p.parent_pid, p.image,
               quoted(p.executable), p.build_id.empty() ? "none" : quoted(p.build_id));
    for (const std::string& argument : p.arguments) fmt::print(to, "argument {}\n", quoted(argument));
    if (!p.malloc_provider.empty()) fmt::print(to, "malloc {}\n", quoted(p.malloc_provider));
    fmt::print(to, "clock ticks={} ns={} first_tick={}\n", p.start_ticks, p.start_ns, p.first_tick);
    if (p.sample_bytes != 0) fmt::print(to, "sample bytes={}\n", p.sample_bytes);
    if (p.cut_tick != 0) fmt::print(to, "ring cut={}\n", p.cut_tick);
    if (!p.ended) {
        fmt::print(to, "end none\n");
        return;
    }
    fmt::print(to, "end exit_status={} signal={} clean={} ticks={} ns={} lost={} stopped_early={} failed={}\n",
               p.exit_status, p.signal, p.clean, p.end_ticks, p.end_ns, p.events_lost, p.stopped_early,
               p.allocations_failed);
    fmt::print(to, "aliasing sampled={} differed={} differed_deep={}\n", p.aliasing_sampled, p.aliasing_differed,
               p.aliasing_differed_deep);
}

void dump_note(const event& e, phase_marks& phases, std::FILE* to) {
    if (phases.take(e))
        fmt::print(to, "{} {} phase {}\n", e.time_ticks, e.thread, quoted(phases.name()));
    else if (e.bytes != mpt_note_name)
        fmt::print(to, "{} {} note {} {}\n", e.time_ticks, e.thread, e.bytes, e.address);
}

void dump_event(const event& e, std::FILE* to) {
    fmt::print(to, "{} {} {} {:#x}", e.time_ticks, e.thread, name(e.op), e.address);
    if (e.op == operation::allocate || e.op == operation::realloc_allocate)
        fmt::print(to, " bytes={} context={}", e.bytes, e.context);
    if (e.alignment_log2 != 0) fmt::print(to, " alignment={}", std::uint64_t{1} << e.alignment_log2);
    if (e.zeroed) fmt::print(to, " zeroed");
    if (e.duration_ticks != 0) fmt::print(to, " duration={}", e.duration_ticks);
    fmt::print(to, "\n");
}

// A line for each mark of a phase, with the events up to the next one; none for a trace without marks.
void dump_phases(reader& trace, std::FILE* to) {
    struct begun {
        std::string name;
        std::uint64_t tick, first_event;
    };
    std::vector<begun> phases;
    phase_marks marks;
    std::uint64_t events = 0;
    trace.for_each_batch([&](const event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (batch[i].op != operation::note)
                ++events;
            else if (marks.take(batch[i]))
                phases.push_back({marks.name(), batch[i].time_ticks, events});
        }
    });
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const std::uint64_t past = i + 1 < phases.size() ? phases[i + 1].first_event : events;
        fmt::print(to, "phase {} tick={} first_event={} events={}\n", quoted(phases[i].name), phases[i].tick,
                   phases[i].first_event + 1, past - phases[i].first_event);
    }
}

void dump_damages(const reader& trace, std::FILE* to) {
    for (const damage& known : trace.damages()) fmt::print(to, "damage offset={} {}\n", known.offset, known.what);
}

}  // namespace

void dump(reader& trace, std::FILE* to) {
    dump_process(trace.process(), to);
    for (const module_record& m : trace.modules())
        fmt::print(to, "module {} bias={:#x} first={:#x} last={:#x} path={} build_id={} loaded={} unloaded={}\n", m.id,
                   m.bias, m.first, m.last, quoted(m.path), m.build_id.empty() ? "none" : m.build_id, m.load_tick,
                   m.unload_tick);
    for (std::size_t id = 1; id < trace.contexts().size(); ++id) {
        const context_node& node = trace.contexts()[id];
        fmt::print(to, "context {} parent={} module={} offset={:#x}\n", id, node.parent, node.module, node.offset);
    }
    phase_marks phases;
    trace.for_each_batch([&](const event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (batch[i].op == operation::note)
                dump_note(batch[i], phases, to);
            else
                dump_event(batch[i], to);
        }
    });
    dump_damages(trace, to);
}

void dump_summary(reader& trace, std::FILE* to) {
    dump_process(trace.process(), to);
    std::uint64_t stored = 0, rows = 0;
    for (const block_record& block : trace.blocks()) {
        if (block.header.kind != mpt_events) continue;
        stored += block.header.stored_bytes + sizeof block.header;
        rows += block.header.payload_bytes;
    }
    const double events = trace.event_count() == 0 ? 1.0 : static_cast<double>(trace.event_count());
    fmt::print(to, "modules {}\ncontexts {}\nblocks {}\n", trace.modules().size(), trace.contexts().size() - 1,
               trace.blocks().size());
    fmt::print(to, "events {} stored_bytes_per_event={:.2f} decoded_bytes_per_event={:.2f}\n", trace.event_count(),
               static_cast<double>(stored) / events, static_cast<double>(rows) / events);
    for (const stream_record& s : trace.streams())
        fmt::print(to, "stream {} events={} first_tick={} last_block_tick={} cpu_ns={}\n", s.thread, s.events,
                   s.first_tick, s.last_block_tick, s.cpu_ns);
    dump_phases(trace, to);
    dump_damages(trace, to);
}

}  // namespace millpond::trace
