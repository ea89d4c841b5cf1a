// SPDX-License-Identifier: BSL-1.0
#include "lab/references/capture_words.hpp"

#include <signal.h>
#include <string.h>

#include <charconv>
#include <set>
#include <string_view>

#include "lab/program/aside_file.hpp"
#include "lab/references/channel.h"
#include "lab/references/unknown_instruction.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::references {

namespace {

// Returns the part of the sentence that says what is left of the capture, next to `file` or nowhere.
std::string what_is_kept(const std::string& file) {
    if (!file.empty() && trace::numbered_siblings(partial_stem(file)).empty()) return "; nothing was captured";
    return "; the trace holds what was captured before, and is marked as partial";
}

std::string field(const capture_note& note, std::size_t i) { return i < note.fields.size() ? note.fields[i] : ""; }

// Parses "62 f1 7c " into bytes.
std::vector<std::uint8_t> bytes_of(std::string_view hex) {
    std::vector<std::uint8_t> result;
    for (std::size_t at = 0; at + 2 <= hex.size(); at += 3) {
        std::uint8_t byte = 0;
        std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
        result.push_back(byte);
    }
    return result;
}

std::string place_of(const capture_note& note) {
    const std::string function = field(note, 2), file = field(note, 3), module = field(note, 5);
    std::string place;
    if (!function.empty()) place = "in " + function;
    if (!file.empty()) place += (place.empty() ? "at " : ", ") + file + ":" + field(note, 4);
    if (file.empty() && !module.empty()) place += (place.empty() ? "in " : " of ") + module;
    return place.empty() ? "in code that belongs to no file" : place;
}

std::string of_instruction(const capture_note& note) {
    const std::vector<std::uint8_t> bytes = bytes_of(field(note, 1));
    const instruction_set_extension extension = extension_of(bytes);
    constexpr std::size_t shown = 8;
    std::string hex = field(note, 1).substr(0, 3 * shown);
    if (!hex.empty()) hex.pop_back();
    std::string text = "Valgrind does not know an instruction of this program (";
    if (!extension.name.empty()) text += std::string(extension.name) + ": ";
    text += hex + "), " + place_of(note) + "; build ";
    if (!extension.flag.empty())
        return text + "without " + std::string(extension.flag) + ", or with -march=x86-64-v3 instead of -march=native";
    return text + "for an older processor, with -march=x86-64-v3 instead of -march=native";
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Returns the file whose debug information Valgrind could not read: its message ends with the name in quotation marks.
std::string unreadable_file(std::string_view said) {
    const std::size_t end = said.rfind('"');
    const std::size_t begin = end == said.npos || end == 0 ? said.npos : said.rfind('"', end - 1);
    const bool is_named = begin != said.npos && said.substr(begin + 1, end - begin - 1).starts_with('/');
    return is_named ? std::string(said.substr(begin + 1, end - begin - 1)) : "the program or of a library";
}

// Returns the sentence for a message with which Valgrind gave up, if the remedy is known.
std::string known_end(std::string_view said) {
    if (has(said, "Max number of threads") || has(said, "VG_N_SEGMENTS"))
        return "the program has more threads at a time than Valgrind can run (4000); capture a run with fewer of them";
    if (has(said, "seccomp"))
        return "the program forbids itself system calls (seccomp), but a capture needs some; run it without its "
               "sandbox";
    if (has(said, "does not support general clone"))
        return "the program starts a process that shares its memory (clone with CLONE_VM), which Valgrind cannot run; "
               "start a thread or use fork there";
    if (has(said, "out of memory") || has(said, "Cannot allocate memory") || has(said, "ENOMEM"))
        return "Valgrind ran out of memory (it needs several times as much as the program); raise the limit "
               "(ulimit -v), or capture a smaller run";
    if (has(said, "debuginfo reader") || has(said, "readdwarf") || has(said, "readelf") || has(said, "DWARF"))
        return "Valgrind cannot read the debug information of " + unreadable_file(said) +
               "; build with -gdwarf-4, or capture a copy without it (strip -g)";
    if (has(said, "N_INTERVALS") || has(said, "transtab")) return "the program has more code than Valgrind can run";
    return {};
}

std::string keep_log(const std::string& log, const std::string& file) {
    if (log.empty() || file.empty()) return {};
    const std::string path = file + ".valgrind.log";
    try {
        program::write_whole(path, log);
    } catch (const program::failure& unwritable) {
        return {};
    }
    return "; " + path + " has its messages";
}

// Returns the numbers of the system calls that Valgrind answered with ENOSYS.
std::set<int> unhandled_calls(std::string_view log) {
    constexpr std::string_view words = "unhandled amd64-linux syscall: ";
    std::set<int> numbers;
    for (std::size_t at = log.find(words); at != log.npos; at = log.find(words, at + 1)) {
        int number = -1;
        const std::string_view rest = log.substr(at + words.size());
        std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (number >= 0) numbers.insert(number);
    }
    return numbers;
}

class explainer {
  public:
    explainer(const capture_report& report, const program_end& end, const std::string& window, const std::string& file)
        : report_(report), end_(end), window_(window), file_(file), kept_part_(what_is_kept(file)) {}

    capture_words run() {
        for (const capture_note& note : report_.notes) take(note);
        take_disk();
        take_silent_end();
        take_window();
        take_calls();
        return std::move(words_);
    }

  private:
    bool is_program(const capture_note& note) const { return note.pid == end_.pid; }

    void put(bool of_program, std::uint32_t pid, const std::string& sentence) {
        if (!of_program)
            words_.notices.push_back("process " + std::to_string(pid) + ": " + sentence);
        else if (!words_.problem)
            words_.problem.emplace(program::environment, sentence);
    }

    void take(const capture_note& note) {
        const std::string word = field(note, 0);
        if (word == MILLPOND_NOTE_INSTRUCTION) {
            if (is_program(note) && end_.signal != SIGILL)
                words_.notices.push_back(of_instruction(note) + "; the program went on without it");
            else if (told_instructions_.insert(field(note, 1) + field(note, 2)).second)
                put(is_program(note), note.pid, of_instruction(note) + kept_part_);
        } else if (word == MILLPOND_NOTE_STOPPED) {
            put(is_program(note), note.pid, of_end(field(note, 1) + "\n" + report_.log) + kept_part_);
        } else if (word == MILLPOND_NOTE_REFUSED) {
            put(true, note.pid, "Valgrind cannot start the program: " + one_line(field(note, 1)));
        } else if (word == MILLPOND_NOTE_LEFT) {
            words_.notices.push_back("process " + std::to_string(note.pid) + " runs " + field(note, 1) +
                                     " without a capture: " + field(note, 2));
        } else if (word == MILLPOND_NOTE_WINDOW) {
            window_known_ |= field(note, 1) != "-";
            window_entered_ |= field(note, 1) != "-" && field(note, 1) != "0";
        }
    }

    static std::string one_line(std::string text) {
        text = text.substr(0, text.find('\n'));
        return text;
    }

    std::string of_end(const std::string& said) const {
        const std::string known = known_end(said);
        return known.empty() ? "Valgrind could not go on with the program" + keep_log(report_.log, file_) : known;
    }

    void take_disk() {
        if (report_.error == 0) return;
        std::string sentence = file_ + " is incomplete: " + report_.failed.front() + ": " + strerror(report_.error);
        if (report_.error == ENOSPC || report_.error == EDQUOT) sentence += "; make room, and capture again";
        put(true, 0, sentence + kept_part_);
    }

    // Handles an end without a message: Valgrind could not even report it.
    void take_silent_end() {
        if (words_.problem || end_.exit_status != 1) return;
        const std::string known = known_end(report_.log);
        if (has(report_.log, "Valgrind: FATAL") || has(report_.log, "Exiting now") || has(report_.log, "Giving up"))
            put(true, 0, (known.empty() ? of_end(report_.log) : known) + kept_part_);
    }

    void take_window() {
        if (window_.empty() || words_.problem || window_entered_) return;
        const std::string why = window_known_ ? "the function " + window_ + " was never called"
                                              : "no function named " + window_ + " was found";
        const std::string cure =
            window_known_
                ? "calls of it may have been inlined (build with -fno-inline), or the input does not lead there"
                : "neither the program nor a library that it opened has it; nm lists their functions";
        words_.problem.emplace(program::input, why + ", so nothing was captured in it: " + cure);
    }

    void take_calls() {
        for (const int number : unhandled_calls(report_.log))
            words_.notices.push_back("Valgrind does not know system call " + std::to_string(number) +
                                     ", which the program made: it failed with ENOSYS");
    }

    const capture_report& report_;
    const program_end& end_;
    const std::string &window_, &file_;
    const std::string kept_part_;
    bool window_known_ = false, window_entered_ = false;
    std::set<std::string> told_instructions_;
    capture_words words_;
};

}  // namespace

capture_words explain(const capture_report& report, const program_end& end, const std::string& window,
                      const std::string& file) {
    return explainer(report, end, window, file).run();
}

}  // namespace millpond::references
