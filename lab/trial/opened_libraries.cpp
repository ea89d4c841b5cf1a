// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/opened_libraries.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "lab/program/program.hpp"
#include "lab/symbols/module_functions.hpp"

namespace millpond::trial {
namespace {

bool is_shared_library(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    Elf64_Ehdr header{};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_type == ET_DYN;
}

std::string joined(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
    return list;
}

void say_each(const std::map<std::string, std::vector<std::string>>& by_library, const std::string& before,
              const std::string& between) {
    for (const auto& [library, names] : by_library) program::say(before + library + between + joined(names));
}

}  // namespace

opened_libraries find_opened_libraries(const plan::plan& plan, const std::vector<std::string>& command) {
    opened_libraries result;
    for (const plan::program_identity& library : plan.libraries) {
        try {
            const std::string build_id = symbols::module_functions(library.path).build_id();
            if (build_id == library.build_id)
                result.modules.push_back({library.path, build_id});
            else
                result.absent.push_back(library.path + " is another build than the plan's");
        } catch (const std::runtime_error& error) {
            result.absent.push_back(library.path + ": " + error.what());
        }
    }
    for (std::size_t i = 1; i < command.size(); ++i) {
        if (!is_shared_library(command[i])) continue;
        try {
            result.modules.push_back({command[i], symbols::module_functions(command[i]).build_id()});
        } catch (const std::runtime_error& unreadable) {  // it need not be meant as a library
        }
    }
    return result;
}

void say_what_waits(const compiled_routes& routes, const opened_libraries& libraries) {
    std::map<std::string, std::vector<std::string>> by_library;
    for (const waiting_subsystem& each : routes.waiting) by_library[each.library].push_back(each.name);
    say_each(by_library, "until the program opens ", ", these subsystems of the plan wait: ");
    if (routes.unknown.empty()) return;
    std::string why;
    for (const std::string& each : libraries.absent) why += (why.empty() ? "" : "; ") + each;
    program::say("not pooled, because no module here has them: " + joined(routes.unknown) + " (" + why + ")");
}

void say_what_never_came(const compiled_routes& routes, const control& shared) {
    const std::size_t claimed = std::min<std::size_t>(shared.slots_claimed, control::slots);
    std::map<std::string, std::vector<std::string>> by_library;
    for (const waiting_subsystem& each : routes.waiting) {
        if (each.module / 64 >= std::size(shared.processes[0].modules_met)) continue;
        const bool came = std::any_of(shared.processes, shared.processes + claimed, [&](const process_slot& slot) {
            return (slot.modules_met[each.module / 64] >> (each.module % 64) & 1) != 0;
        });
        if (!came) by_library[each.library].push_back(each.name);
    }
    say_each(by_library, "no allocation came from ", ", so nothing was pooled of: ");
}

}  // namespace millpond::trial
