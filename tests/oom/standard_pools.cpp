// SPDX-License-Identifier: BSL-1.0
// standard_pools: tests two properties of our allocators on the standard library's pools as well.
//
//   aligned      blocks of 1 … 512 bytes at alignments 1 … 64: how many of them are not aligned?
//   survives     the upstream throws at call n, for each of the first 41: how many of these programs crash?
//
// Prints a line for each pool. Exit status: 0 if ours has no failure; what the others do is reported, not judged.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <new>
#include <vector>

namespace {

// Throws at one call, counted from 0.
class failing_resource : public std::pmr::memory_resource {
  public:
    explicit failing_resource(int fails_at = -1) : fails_at_(fails_at) {}

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (calls_++ == fails_at_) throw std::bad_alloc();
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    int calls_ = 0;
    int fails_at_;
};

template <class Pool>
int misaligned_blocks() {
    failing_resource upstream;
    Pool pool(&upstream);
    int wrong = 0;
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
        for (std::size_t bytes = 1; bytes <= 512; ++bytes) {
            for (int i = 0; i < 3; ++i)
                wrong += reinterpret_cast<std::uintptr_t>(pool.allocate(bytes, alignment)) % alignment != 0;
        }
    }
    return wrong;
}

// Plays one life of a pool in which a call of the upstream fails.
template <class Pool>
void live(int fails_at) {
    failing_resource upstream(fails_at);
    Pool pool(&upstream);
    struct block {
        void* start;
        std::size_t bytes;
    };
    std::vector<block> blocks;
    for (std::size_t i = 0; i < 4000; ++i) {
        const std::size_t bytes = i * 7919 % 5000;
        try {
            blocks.push_back({pool.allocate(bytes, 8), bytes});
        } catch (const std::bad_alloc&) {
        }
        if (i % 3 == 0 && !blocks.empty()) {
            pool.deallocate(blocks.back().start, blocks.back().bytes, 8);
            blocks.pop_back();
        }
    }
    for (const block& b : blocks) pool.deallocate(b.start, b.bytes, 8);
}

template <class Pool>
int crashes() {
    int count = 0;
    for (int n = 0; n < 41; ++n) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            std::freopen("/dev/null", "w", stderr);
            alarm(20);
            live<Pool>(n);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        count += status != 0;
    }
    return count;
}

template <class Pool>
bool report(const char* name) {
    const int wrong = misaligned_blocks<Pool>();
    const int dead = crashes<Pool>();
    std::printf("%-48s %5d of 10752 blocks misaligned, %2d of 41 failures of the upstream crash\n", name, wrong, dead);
    return wrong == 0 && dead == 0;
}

}  // namespace

int main() {
    report<std::pmr::unsynchronized_pool_resource>("std::pmr::unsynchronized_pool_resource");
    report<std::pmr::synchronized_pool_resource>("std::pmr::synchronized_pool_resource");
    report<std::pmr::monotonic_buffer_resource>("std::pmr::monotonic_buffer_resource");
    using ours = millpond::resource<millpond::multipool<millpond::upstream_resource>>;
    using ours_growing = millpond::resource<millpond::monotonic<millpond::upstream_resource>>;
    const bool pool = report<ours>("resource<multipool<upstream_resource>>");
    const bool growing = report<ours_growing>("resource<monotonic<upstream_resource>>");
    return pool && growing ? 0 : 1;
}
