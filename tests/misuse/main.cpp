// SPDX-License-Identifier: BSL-1.0
// Runs one program by name, or every one in a process of its own, and compares the reports with the tables.
//
//   library_misuse_… NAME                      runs it
//   library_misuse_… --check MODE [COMMAND]    runs all under COMMAND (valgrind …); MODE: checked, asan, valgrind,
//                                              release
//   library_misuse_… --table [FILE]            prints the table of tests/misuse/README.md, or looks for it in FILE
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class Each>
void for_each_misuse(Each each) {
    for (const auto& table :
         {block_misuses(), container_misuses(), wink_misuses(), array_misuses(), arena_misuses(), slot_misuses(),
          row_misuses(), edge_misuses(), life_misuses(), source_misuses(), element_misuses(), rank_misuses(),
          sequence_misuses(), thread_misuses(), read_misuses()}) {
        for (const program& one : table) each(one);
    }
}

template <class Each>
void for_each_clean_program(Each each) {
    for (const auto& table : {clean_programs(), clean_page_programs()}) {
        for (const program& one : table) each(one);
    }
}

int run_by_name(const char* name) {
    int status = 2;
    const auto run = [&](const program& one) {
        if (std::strcmp(one.name, name) != 0) return;
        one.run();
        status = 0;
    };
    for_each_misuse(run);
    for_each_clean_program(run);
    if (status != 0) std::fprintf(stderr, "millpond: no program is called %s; --table shows all\n", name);
    return status;
}

struct outcome {
    bool failed;
    std::string said;
};

outcome run_alone(const std::string& command, const char* name) {
    outcome result{true, ""};
    std::FILE* const pipe = popen((command + " " + name + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return result;
    char line[1024];
    while (std::fgets(line, sizeof line, pipe) != nullptr) result.said += line;
    const int status = pclose(pipe);
    result.failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return result;
}

// Returns the text that the tool of this mode must report; null if it need not see the misuse.
std::string expected(const program& one, const std::string& mode) {
    if (mode == "checked") return one.checked == nullptr ? "" : std::string("millpond: ") + one.checked + ": ";
    const char* const said = mode == "asan" ? one.asan : mode == "valgrind" ? one.valgrind : nullptr;
    return said == nullptr ? "" : said;
}

int check_all(const std::string& mode, const std::string& command) {
    int wrong = 0, misuses = 0, caught = 0, clean = 0;
    const auto complain = [&](const program& one, const char* what, const outcome& seen) {
        ++wrong;
        std::printf("%s: %s\n%s\n", one.name, what, seen.said.c_str());
    };
    for_each_misuse([&](const program& one) {
        const std::string text = expected(one, mode);
        ++misuses;
        if (text.empty()) return;
        const outcome seen = run_alone(command, one.name);
        if (!seen.failed || seen.said.find(text) == std::string::npos) {
            complain(one, ("was not caught, or not with \"" + text + "\"; it said:").c_str(), seen);
        } else {
            ++caught;
        }
    });
    for_each_clean_program([&](const program& one) {
        const outcome seen = run_alone(command, one.name);
        if (seen.failed || !seen.said.empty()) {
            complain(one, "is clean, and yet it failed, or something was said:", seen);
        } else {
            ++clean;
        }
    });
    std::printf("%s: %d of %d misuses caught, %d programs clean, %d wrong\n", mode.c_str(), caught, misuses, clean,
                wrong);
    return wrong == 0 ? 0 : 1;
}

std::string table_of_misuses() {
    std::string table = "| misuse | checked mode | AddressSanitizer | Valgrind |\n|---|---|---|---|\n";
    const auto cell = [](const char* text) { return std::string(text != nullptr ? text : "") + " | "; };
    for_each_misuse([&](const program& one) {
        table += "| `" + std::string(one.name) + "` | " + cell(one.checked) + cell(one.asan) + cell(one.valgrind);
        table.back() = '\n';
    });
    return table;
}

int find_table_in(const char* name) {
    std::FILE* const file = std::fopen(name, "r");
    std::string text(1 << 16, '\0');
    text.resize(file == nullptr ? 0 : std::fread(text.data(), 1, text.size(), file));
    if (file != nullptr) std::fclose(file);
    if (text.find(table_of_misuses()) != std::string::npos) return 0;
    std::fprintf(stderr, "millpond: %s does not contain the present table; --table prints it\n", name);
    return 1;
}

}  // namespace
}  // namespace millpond::test

int main(int argc, char** argv) {
    using namespace millpond::test;
    if (argc == 2 && std::strcmp(argv[1], "--table") == 0) return std::puts(table_of_misuses().c_str()) < 0;
    if (argc == 3 && std::strcmp(argv[1], "--table") == 0) return find_table_in(argv[2]);
    if (argc >= 3 && std::strcmp(argv[1], "--check") == 0)
        return check_all(argv[2], (argc > 3 ? std::string(argv[3]) + " " : "") + argv[0]);
    if (argc == 2) return run_by_name(argv[1]);
    std::fprintf(stderr, "millpond: usage: %s NAME | --check MODE [COMMAND] | --table [FILE]\n", argv[0]);
    return 2;
}
