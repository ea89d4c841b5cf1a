// SPDX-License-Identifier: BSL-1.0
// text_source: reads references from the text output of other tools.
//
//   din      0 7fe0 8      Dinero's: 0 read, 1 write, 2 instruction, 3 unknown (skipped), 4 flush;
//                          address and optional size, in hexadecimal
//   lackey    L 1ffe,8     valgrind --tool=lackey --trace-mem=yes: I instruction, L load, S store, M modify;
//                          address in hexadecimal, size in decimal; Valgrind's own lines (==, --, SB) are skipped
//
// Any other line is an error, reported with its number: a program that writes to the same stream as lackey would change
// the counts. All references are the program's, with subject 0. A batch ends with the instruction that reaches the
// limit, before that instruction's own references, so a flush after it is exact. Memory is bounded by the batch. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/simulate/reference_source.hpp"

namespace millpond::simulate {

enum class text_format { automatic, din, lackey };

struct text_options {
    text_format format = text_format::automatic;  // decided by the first line
    std::uint16_t bytes_default = 4;              // the size for a din line without one
    std::uint64_t instructions_max = 0;           // end the batch after this many instructions since the last end
};

class text_source : public reference_source {
  public:
    // `path`: a file, or "-" for standard input. Throws program::failure (input).
    text_source(const std::string& path, const text_options& options);
    ~text_source() override;

    bool next(reference_batch& batch) override;
    const char* format_name() const override;

  private:
    bool read_line(std::string_view& line);
    bool refill();
    void take_line(std::string_view line);
    void take_din(std::string_view line);
    void take_lackey(std::string_view line);
    void add(std::uint64_t address, std::uint64_t bytes, std::uint8_t kind);
    [[noreturn]] void refuse(std::string_view line, const char* why) const;

    std::string path_;
    text_options options_;
    int descriptor_;
    std::vector<char> text_;
    std::size_t begin_ = 0, end_ = 0;
    bool is_at_end_ = false;
    std::uint64_t line_number_ = 0;
    std::vector<millpond_reference> references_;
    std::uint64_t instructions_ = 0;  // in this batch
    std::uint64_t instructions_left_;
    bool batch_is_whole_ = false, flushes_ = false;
};

}  // namespace millpond::simulate
