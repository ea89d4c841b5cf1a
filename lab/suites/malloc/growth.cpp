// SPDX-License-Identifier: BSL-1.0
// grow: blocks that grow by realloc to `bytes`, as texts and arrays do.
//
//   block │▒▒▒▒│ ─realloc─▶ │▒▒▒▒▒▒│ ─realloc─▶ │▒▒▒▒▒▒▒▒▒│   by `percent` each time; new bytes are written
//
// `blocks` grow in turns, so that no block has the end of the heap to itself.
#include "lab/program/model_page.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::malloc_suite {
namespace {

constexpr std::size_t first_bytes = 64, page_bytes = program::model_page_bytes;

class growing_block {
  public:
    growing_block() : bytes_(first_bytes), start_(take(first_bytes)) {}
    growing_block(const growing_block&) = delete;
    growing_block& operator=(const growing_block&) = delete;
    ~growing_block() { std::free(start_); }

    // Throws: std::bad_alloc.
    void grow(std::size_t bytes) {
        auto* const more = static_cast<unsigned char*>(std::realloc(start_, bytes));
        if (more == nullptr) throw std::bad_alloc();
        start_ = more;
        for (std::size_t at = bytes_; at < bytes; at += page_bytes) start_[at] = static_cast<unsigned char>(at);
        start_[bytes - 1] = 1;
        bytes_ = bytes;
        suites::escape(start_);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::size_t bytes_;
    unsigned char* start_;
};

outcome run_grow(const point& asked) {
    const std::uint64_t most = asked.count("bytes"), percent = asked.count("percent");
    const std::uint64_t units = asked.count("units");
    outcome result;
    frame::window measured;
    measured.run(result, [&] {
        for (std::uint64_t i = 0; i < units; ++i) {
            std::vector<growing_block> blocks(asked.count("blocks"));
            for (std::size_t bytes = first_bytes; bytes < most;) {
                bytes += bytes * percent / 100 + 16;
                if (bytes > most) bytes = most;
                for (growing_block& each : blocks) each.grow(bytes);
            }
            for (const growing_block& each : blocks) result.checksum += each.bytes();
        }
    });
    result.set_count("units", units * asked.count("blocks"));
    return result;
}

constexpr parameter parameters[] = {{"bytes", std::int64_t{64} << 20, 128, std::int64_t{1} << 40, "of a block at last"},
                                    {"blocks", 1, 1, 1 << 20, "that grow by turns"},
                                    {"percent", 12, 1, 1000, "by which a block grows"},
                                    {"units", 20, 1, std::int64_t{1} << 31, "repetitions"},
                                    frame::seed_parameter};

std::uint64_t least_bytes(const point& asked) { return asked.count("bytes") / page_bytes * asked.count("blocks"); }

}  // namespace

const workload grow{
    .name = "grow", .unit = "block", .parameters = parameters, .run = run_grow, .least_bytes = least_bytes};

}  // namespace millpond::malloc_suite
