// SPDX-License-Identifier: BSL-1.0
// oneTBB: loops, a pipeline whose tokens another thread frees, and workers that end while main goes on.
#include <tbb/concurrent_queue.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

std::atomic<long> bytes{0};

void loop() {
    tbb::parallel_for(0, 2000, [](int i) {
        const std::string text(static_cast<std::size_t>(i % 300), 'a');
        bytes += static_cast<long>(text.size());
    });
}

void pipeline() {
    int next = 0;
    tbb::parallel_pipeline(
        8, tbb::make_filter<void, std::string*>(tbb::filter_mode::serial_in_order,
                                                [&next](tbb::flow_control& flow) -> std::string* {
                                                    if (next++ == 500) {
                                                        flow.stop();
                                                        return nullptr;
                                                    }
                                                    return new std::string(static_cast<std::size_t>(next), 'b');
                                                }) &
               tbb::make_filter<std::string*, void>(tbb::filter_mode::parallel, [](std::string* text) {
                   bytes += static_cast<long>(text->size());
                   delete text;
               }));
}

}  // namespace

int main() {
    for (int round = 0; round < 10; ++round) {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(2 + round));
        tbb::task_arena arena(2 + round);
        arena.execute([] {
            loop();
            pipeline();
            tbb::task_group group;
            for (int i = 0; i < 50; ++i) group.run([i] { bytes += static_cast<long>(std::vector<int>(i + 1).size()); });
            group.wait();
        });
    }
    std::printf("%ld\n", bytes.load());
    return 0;
}
