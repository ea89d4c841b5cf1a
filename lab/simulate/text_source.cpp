// SPDX-License-Identifier: BSL-1.0
// Parses lines of text into references.
#include "lab/simulate/text_source.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"

namespace millpond::simulate {
namespace {

constexpr std::size_t batch_max = 4096;
constexpr std::size_t line_max = 4096;
constexpr std::size_t text_bytes = std::size_t{1} << 18;

void skip_blanks(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

bool take_number(std::string_view& text, std::uint64_t& value, int base) {
    skip_blanks(text);
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool is_of_valgrind(std::string_view line) {
    return line.starts_with("==") || line.starts_with("--") || line.starts_with("**") || line.starts_with("SB ");
}

bool looks_like_lackey(std::string_view line) {
    return is_of_valgrind(line) || line.starts_with("I ") ||
           (line.size() > 2 && line[0] == ' ' && std::strchr("LSM", line[1]) != nullptr && line[2] == ' ');
}

}  // namespace

text_source::text_source(const std::string& path, const text_options& options)
    : path_(path),
      options_(options),
      descriptor_(path == "-" ? STDIN_FILENO : program::open_regular(path.c_str())),
      text_(text_bytes),
      instructions_left_(options.instructions_max) {
    references_.reserve(batch_max);
}

text_source::~text_source() {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

const char* text_source::format_name() const { return options_.format == text_format::lackey ? "lackey" : "din"; }

void text_source::refuse(std::string_view line, const char* why) const {
    throw program::failure(program::input, path_ + ", line " + std::to_string(line_number_) + ": " + why + ": \"" +
                                               std::string(line.substr(0, 60)) + "\"");
}

bool text_source::refill() {
    std::memmove(text_.data(), text_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    for (;;) {
        const ssize_t got = ::read(descriptor_, text_.data() + end_, text_.size() - end_);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw program::failure(program::input, "cannot read " + path_ + ": " + std::strerror(errno));
        end_ += static_cast<std::size_t>(got);
        return got > 0;
    }
}

bool text_source::read_line(std::string_view& line) {
    for (;;) {
        const void* const found = std::memchr(text_.data() + begin_, '\n', end_ - begin_);
        if (found != nullptr) {
            const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - (text_.data() + begin_));
            line = {text_.data() + begin_, length};
            begin_ += length + 1;
            break;
        }
        if (end_ - begin_ > line_max) refuse({text_.data() + begin_, line_max}, "this is not text of references");
        if (is_at_end_ || !refill()) {
            is_at_end_ = true;
            line = {text_.data() + begin_, end_ - begin_};
            begin_ = end_;
            if (line.empty()) return false;
            break;
        }
    }
    ++line_number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
}

void text_source::add(std::uint64_t address, std::uint64_t bytes, std::uint8_t kind) {
    references_.push_back({address, 0, static_cast<std::uint16_t>(bytes), kind, millpond_of_program});
    if (references_.size() == batch_max) batch_is_whole_ = true;
}

void text_source::take_din(std::string_view line) {
    std::string_view rest = line;
    std::uint64_t label = 0, address = 0, bytes = options_.bytes_default;
    if (!take_number(rest, label, 10) || label > 4 || !take_number(rest, address, 16))
        refuse(line, "not a din line, LABEL ADDRESS [BYTES]");
    std::uint64_t given = 0;
    if (take_number(rest, given, 16) && given >= 1 && given <= 0xffff) bytes = given;
    if (label <= 1) add(address, bytes, label == 0 ? millpond_load : millpond_store);
    if (label == 2) ++instructions_;
    if (label == 4) flushes_ = batch_is_whole_ = true;
}

void text_source::take_lackey(std::string_view line) {
    if (is_of_valgrind(line)) return;
    std::string_view rest = line;
    skip_blanks(rest);
    const char what = rest.empty() ? '\0' : rest.front();
    if (!rest.empty()) rest.remove_prefix(1);
    std::uint64_t address = 0, bytes = 0;
    const bool is_whole = take_number(rest, address, 16) && rest.starts_with(',') &&
                          (rest.remove_prefix(1), take_number(rest, bytes, 10)) && rest.empty() && bytes >= 1 &&
                          bytes <= 0xffff;
    constexpr const char* remedy = "not a line of lackey's (keep the program's own output apart by --log-file)";
    if (!is_whole) refuse(line, remedy);
    switch (what) {
        case 'I':
            ++instructions_;
            break;
        case 'L':
            add(address, bytes, millpond_load);
            break;
        case 'S':
            add(address, bytes, millpond_store);
            break;
        case 'M':
            add(address, bytes, millpond_modify);
            break;
        default:
            refuse(line, remedy);
    }
}

void text_source::take_line(std::string_view line) {
    if (options_.format == text_format::automatic)
        options_.format = looks_like_lackey(line) ? text_format::lackey : text_format::din;
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    const std::uint64_t before = instructions_;
    if (options_.format == text_format::lackey)
        take_lackey(line);
    else
        take_din(line);
    if (instructions_ != before && options_.instructions_max != 0 && --instructions_left_ == 0) {
        instructions_left_ = options_.instructions_max;
        batch_is_whole_ = true;
    }
}

bool text_source::next(reference_batch& batch) {
    references_.clear();
    instructions_ = 0;
    batch_is_whole_ = flushes_ = false;
    std::string_view line;
    bool has_line = false;
    while (!batch_is_whole_ && read_line(line)) {
        has_line = true;
        take_line(line);
    }
    batch = {references_.data(), references_.size(), instructions_, flushes_};
    return has_line;
}

}  // namespace millpond::simulate
