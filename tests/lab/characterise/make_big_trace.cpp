// SPDX-License-Identifier: BSL-1.0
// make_big_trace: writes a trace of any size, to measure the speed and the memory of readers. It is not a test.
//
//   make_big_trace FILE [--events N] [--live N] [--threads N] [--contexts N] [--seed S]
//
// Objects of 16 to 143 bytes are allocated until --live of them exist; then one in a random place is replaced, again
// and again. Contexts are 20 frames deep, in functions of this very program, so that there are names to be found. Every
// 16th event has a time (every one with several threads), every 64th operation a duration, as a recorder writes them.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/program/command_line.hpp"
#include "lab/symbols/module_functions.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/column_splitter.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/slot_file.h"
#include "lab/trace/writer.h"
#include "tests/lab/trace/recording.hpp"

namespace {

using namespace millpond;

struct shape {
    std::string file;
    std::uint64_t events = 20'000'000, live = 1'000'000, seed = 1;
    std::uint32_t threads = 1, contexts = 5000;
};

constexpr std::uint32_t depth = 20;
constexpr double ticks_per_ns = 2.5;
constexpr std::uint64_t ticks_per_event = 150;

// Call stacks that share their outer frames, as those of real programs do. Returns the ids of the innermost frames.
std::vector<std::uint32_t> make_contexts(const shape& wanted, const symbols::module_functions& functions,
                                         std::mt19937_64& random, std::vector<trace::context_node>& nodes) {
    std::vector<std::uint64_t> sites;
    for (const symbols::function& f : functions.all()) {
        if (!f.standard && f.past - f.first > 16) sites.push_back(f.first + 8);
    }
    if (sites.size() < depth)
        throw std::runtime_error("this program has too few functions of its own: do not strip it");
    std::vector<std::uint32_t> innermost;
    std::vector<std::uint32_t> stack;
    while (innermost.size() < wanted.contexts) {
        // Most contexts differ from the last in their innermost frames only.
        const std::size_t kept = stack.empty() ? 0 : depth - 1 - std::min<std::size_t>(depth - 2, random() % 6);
        stack.resize(kept);
        while (stack.size() < depth) {
            const std::size_t level = stack.size();
            const std::size_t site = (level * sites.size() / depth + random() % (sites.size() / depth)) % sites.size();
            nodes.push_back({stack.empty() ? 0 : stack.back(), 1, sites[site] + random() % 8});
            stack.push_back(static_cast<std::uint32_t>(nodes.size()));
        }
        innermost.push_back(stack.back());
    }
    return innermost;
}

class trace_file {
  public:
    trace_file(const shape& wanted, trace::block_output& out)
        : wanted_(wanted), out_(out), random_(wanted.seed), threads_(wanted.threads) {
        for (std::uint32_t t = 0; t < wanted.threads; ++t) {
            threads_[t].slot.resize(mpt_slot_bytes);
            open(t);
        }
    }

    void write_events(const std::vector<std::uint32_t>& contexts) {
        std::vector<std::uint64_t> live;
        live.reserve(wanted_.live);
        std::uint64_t next_address = 0x5555'0000'0000;
        std::vector<std::uint64_t> reusable;
        std::size_t context = 0;
        for (std::uint64_t i = 0; i < wanted_.events; ++i) {
            now_ += ticks_per_event;
            const auto t = static_cast<std::uint32_t>(wanted_.threads == 1 ? 0 : random_() % wanted_.threads);
            const bool timed = wanted_.threads > 1 || i % 16 == 0;
            const std::uint64_t duration = i % 64 == 0 ? 40 + random_() % 30 : 0;
            mpt_writer* w = &threads_[t].writer;
            if (live.size() >= wanted_.live || (!live.empty() && random_() % 8 == 0)) {
                const std::size_t at = random_() % live.size();
                mpt_write_free(w, mpt_free, live[at], timed ? now_ : 0, duration);
                reusable.push_back(live[at]);
                live[at] = live.back();
                live.pop_back();
            } else {
                std::uint64_t address = next_address;
                if (reusable.empty()) {
                    next_address += 144;
                } else {
                    address = reusable.back();
                    reusable.pop_back();
                }
                // A program stays where it is for a while.
                if (random_() % 4 == 0) context = random_() % contexts.size();
                mpt_write_allocate(w, mpt_allocate, 0, address, 16 + random_() % 128, contexts[context], 0,
                                   timed ? now_ : 0, duration);
                live.push_back(address);
            }
            if (mpt_full(w)) {
                close(t);
                open(t);
            }
        }
        for (std::uint32_t t = 0; t < wanted_.threads; ++t) close(t);
    }

    std::uint64_t now() const { return now_; }

  private:
    struct stream {
        std::vector<std::uint8_t> slot;
        mpt_writer writer{};
        std::uint32_t sequence = 0;
    };

    void open(std::uint32_t t) {
        stream& s = threads_[t];
        mpt_open_block(&s.writer, s.slot.data(), mpt_slot_bytes, t + 1, s.sequence++, now_);
    }

    void close(std::uint32_t t) {
        stream& s = threads_[t];
        auto* header = reinterpret_cast<mpt_block_header*>(s.slot.data());
        header->cpu_ns = static_cast<std::uint64_t>(static_cast<double>(now_) / ticks_per_ns / wanted_.threads);
        header->overhead_ticks = s.writer.count;
        const trace::column_splitter::result columns =
            splitter_.split(std::span(s.slot).subspan(mpt_header_bytes, header->stored_bytes));
        header->layout = mpt_columns;
        header->count = columns.events;
        out_.append(*header, columns.payload);
    }

    const shape& wanted_;
    trace::block_output& out_;
    trace::column_splitter splitter_;
    std::mt19937_64 random_;
    std::vector<stream> threads_;
    std::uint64_t now_ = 1000;
};

void make(const shape& wanted) {
    char self[4096];
    const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
    const std::string program(self, length > 0 ? static_cast<std::size_t>(length) : 0);
    const symbols::module_functions functions(program);
    std::mt19937_64 random(wanted.seed);
    std::vector<trace::context_node> nodes;
    const std::vector<std::uint32_t> contexts = make_contexts(wanted, functions, random, nodes);

    trace::block_output out(wanted.file);
    trace::field_writer payload;
    const auto put = [&](mpt_kind kind, std::uint32_t count, std::uint32_t sequence, std::uint64_t first) {
        out.append(trace::make_header(kind, count, sequence, first), payload.bytes());
        payload.clear();
    };
    trace::process_record process;
    process.pid = 1;
    process.executable = program;
    process.build_id = functions.build_id();
    process.arguments = {"make_big_trace"};
    process.start_ticks = process.first_tick = 1000;
    process.start_ns = 1000;
    test::put_process(process, payload);
    put(mpt_process, 1, 0, 0);
    trace::put_module({1, 0, 0x1000, 0x7fff'ffff, program, functions.build_id(), 0, 0}, payload);
    put(mpt_modules, 1, 0, 0);
    constexpr std::uint32_t nodes_a_block = 4096;
    for (std::uint32_t first = 0; first < nodes.size(); first += nodes_a_block) {
        const std::uint32_t past = std::min(first + nodes_a_block, static_cast<std::uint32_t>(nodes.size()));
        for (std::uint32_t i = first; i < past; ++i) trace::put_context(i + 1, nodes[i], payload);
        put(mpt_contexts, past - first, first / nodes_a_block, first + 1);
    }

    trace_file events(wanted, out);
    events.write_events(contexts);

    trace::end_record end;
    end.clean = true;
    end.end_ticks = events.now();
    end.end_ns = 1000 + static_cast<std::uint64_t>(static_cast<double>(events.now() - 1000) / ticks_per_ns);
    trace::put_end(end, nodes.size(), payload);
    put(mpt_end, 1, 0, 0);
    out.commit();
    std::printf("%llu events, %.2f bytes an event\n", static_cast<unsigned long long>(wanted.events),
                static_cast<double>(out.bytes()) / static_cast<double>(wanted.events));
}

}  // namespace

int main(int argc, char** argv) {
    shape wanted;
    millpond::program::command_line app("Makes a large trace.", "make_big_trace");
    app.option("file", wanted.file, "the trace to write").required();
    app.option("--events", wanted.events).positive();
    app.option("--live", wanted.live).positive();
    app.option("--threads", wanted.threads).within(1, 1000);
    app.option("--contexts", wanted.contexts).positive();
    app.option("--seed", wanted.seed);
    if (const std::optional<int> ended = app.parse_or_explain(argc, argv)) return *ended;
    try {
        make(wanted);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "millpond: %s\n", error.what());
        return 4;
    }
    return 0;
}
