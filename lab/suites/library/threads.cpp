// SPDX-License-Identifier: BSL-1.0
// threads_own and threads_handover: Benchmark IV of P0089R0, section 10, and a case that it leaves out: frees by other
// threads.
//
//   own        thread 1: allocate, write, free, …     thread 2: allocate, write, free, …
//   handover   producer: allocate, write ─▶ queue of batches ─▶ consumer: read, free        threads / 2 such pairs
//
// wall_ns: wall time for a pair of one thread while all run; warm_ns: CPU time of all threads for a pair.
// In threads_own, each thread has its own pool, or shares one if the pool may be shared. In threads_handover, only
// contenders take part whose blocks another thread may free.
#include <memory>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/batch_queue.hpp"
#include "lab/suites/common/team.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint64_t groups = 3;
constexpr std::size_t block_alignment = 16;

template <class Handle, class C>
[[gnu::noinline]] void allocate_and_free(Handle from, std::uint64_t pairs, std::size_t bytes) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
        bytes = hidden(bytes);
        void* const block = C::take(from, bytes, block_alignment);
        ++*static_cast<unsigned char*>(block);
        escape(block);
        C::give(from, block, bytes, block_alignment);
        clobber();
    }
}

template <class C>
struct own_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        const std::uint64_t threads = asked.count("threads");
        const std::uint64_t pairs = asked.count("units");
        outcome result;
        const resident_meter resident;
        std::vector<double> wall, cpu;
        for (std::uint64_t group = 0; group < groups; ++group) {
            typename C::pool shared;
            const auto work = [&](std::uint64_t, auto arrive) {
                typename C::pool own;
                const auto from = C::handle(C::is_shared ? shared : own);
                allocate_and_free<decltype(C::handle(own)), C>(from, pairs / 16 + 1, size);
                arrive();
                allocate_and_free<decltype(C::handle(own)), C>(from, pairs, size);
                arrive();
            };
            const auto times = team().run(threads, work);
            wall.push_back(times.wall_ns / static_cast<double>(pairs));
            cpu.push_back(times.cpu_ns / static_cast<double>(pairs * threads));
        }
        result.set("wall_ns", frame::median(wall));
        result.set("warm_ns", frame::median(cpu));
        result.set_count("units", groups * pairs * threads);
        result.checksum = pairs * size;
        set_resident(result, resident);
        return result;
    }
};

template <class C>
struct line {
    batch_queue queue;
    std::uint64_t read = 0;

    void produce(typename C::pool& pool, std::uint64_t batches, std::size_t bytes) {
        const auto from = C::handle(pool);
        for (std::uint64_t i = 0; i < batches; ++i) {
            batch_queue::batch blocks;
            for (void*& block : blocks) {
                block = C::take(from, bytes, block_alignment);
                *static_cast<std::uint64_t*>(block) = i;
            }
            queue.push(blocks);
        }
    }
    void consume(typename C::pool& pool, std::uint64_t batches, std::size_t bytes) {
        const auto to = C::handle(pool);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < batches; ++i) {
            batch_queue::batch blocks;
            queue.pop(blocks);
            for (void* block : blocks) {
                sum += *static_cast<std::uint64_t*>(block);
                C::give(to, block, bytes, block_alignment);
            }
        }
        read += sum;
    }
};

template <class C>
struct handover_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        const std::uint64_t lines = asked.count("threads") < 2 ? 1 : asked.count("threads") / 2;
        const std::uint64_t wanted = asked.count("units");
        const std::uint64_t batches = wanted / batch_queue::batch_blocks + 1;
        const auto blocks = static_cast<double>(batches * batch_queue::batch_blocks);
        outcome result;
        const resident_meter resident;
        std::vector<double> wall, cpu;
        for (std::uint64_t group = 0; group < groups; ++group) {
            typename C::pool pool;
            std::vector<std::unique_ptr<line<C>>> all;
            all.reserve(lines);
            for (std::uint64_t i = 0; i < lines; ++i) all.push_back(std::make_unique<line<C>>());
            const auto work = [&](std::uint64_t index, auto arrive) {
                line<C>& mine = *all[index / 2];
                for (const std::uint64_t part : {batches / 16 + 1, batches}) {
                    if (index % 2 == 0) {
                        mine.produce(pool, part, size);
                    } else {
                        mine.consume(pool, part, size);
                    }
                    arrive();
                }
            };
            const auto times = team().run(2 * lines, work);
            wall.push_back(times.wall_ns / blocks);
            cpu.push_back(times.cpu_ns / (blocks * static_cast<double>(lines)));
            result.checksum = 0;
            for (const auto& each : all) result.checksum += each->read;
        }
        result.set("wall_ns", frame::median(wall));
        result.set("warm_ns", frame::median(cpu));
        result.set_count("units", groups * batches * batch_queue::batch_blocks * lines);
        set_resident(result, resident);
        return result;
    }
};

// Without monotonic contenders, which reuse nothing, and without fast_pool, whose pools serve one type's size.
std::vector<entry> own() {
    return entries<own_runner>(our_pools{}, our_shared{}, heap_peers{}, pool_peers{}, local_ideals{});
}
std::vector<entry> handover() { return entries<handover_runner>(our_shared{}, heap_peers{}, shared_peers{}); }

template <std::int64_t UsualUnits>
constexpr parameter parameters[] = {size_parameter(256, "bytes a block"),
                                    units_parameter(UsualUnits),
                                    {"threads", 2, 1, 1024, "that run at once"},
                                    seed_parameter};
constexpr metric metrics[] = {"warm_ns", "wall_ns"};

}  // namespace

const workload threads_own = workload_of<own>("threads_own", "pair", parameters<1 << 21>, metrics);
const workload threads_handover = workload_of<handover>("threads_handover", "block", parameters<1 << 20>, metrics);

}  // namespace millpond::library
