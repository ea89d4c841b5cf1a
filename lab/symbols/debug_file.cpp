// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/debug_file.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

#ifdef MILLPOND_WITH_DW
#include <elfutils/libdwfl.h>
#include <unistd.h>
#endif

#include "lab/program/crc32.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/symbols/module_functions.hpp"
#include "lab/symbols/unpack.hpp"

namespace millpond::symbols {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{4} << 30;

bool is_file(const std::string& path) {
    struct stat about;
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

std::string setting(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// Returns the folders of debug information, the user's first.
std::vector<std::string> folders() {
    std::vector<std::string> all;
    const std::string named = setting("MILLPOND_DEBUG_PATH"), root = setting("MILLPOND_SYSROOT");
    std::string_view rest = named;
    while (!rest.empty()) {
        const std::size_t colon = rest.find(':');
        if (colon != 0) all.emplace_back(rest.substr(0, colon));
        rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    }
    if (!root.empty()) all.push_back(root + "/usr/lib/debug");
    all.emplace_back("/usr/lib/debug");
    return all;
}

std::string real_path_of(const std::string& path) {
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(path, failure);
    return failure ? path : real.string();
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

struct debug_link {
    std::string name;
    std::uint32_t crc = 0;
};

// The result of a search by libdwfl, with the file's .gnu_debuglink.
struct search_result {
    std::string path, why;  // why: no server had it
    debug_link link;
};

#ifdef MILLPOND_WITH_DW
// Asks libdwfl, which takes a file only if its build-id fits, or its CRC where there is no build-id. Standard modules
// are not downloaded: their functions own nothing.
class dwfl_search {
  public:
    explicit dwfl_search(const std::string& path) : is_standard_(is_standard_module(path)) {
        places_ = ":.debug";
        for (const std::string& folder : folders()) places_ += ":" + folder;
        path_list_ = places_.data();
        callbacks_.find_debuginfo = &find;
        callbacks_.section_address = &dwfl_offline_section_address;
        callbacks_.debuginfo_path = &path_list_;
        session_ = dwfl_begin(&callbacks_);
        if (session_ == nullptr) return;
        dwfl_report_begin(session_);
        Dwfl_Module* const module = dwfl_report_offline(session_, path.c_str(), real_path_of(path).c_str(), -1);
        dwfl_report_end(session_, nullptr, nullptr);
        if (module == nullptr) return;
        void** user_data = nullptr;
        dwfl_module_info(module, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
        *user_data = this;
        Dwarf_Addr bias = 0;
        dwfl_module_getdwarf(module, &bias);  // searches
    }
    ~dwfl_search() {
        if (session_ != nullptr) dwfl_end(session_);
    }
    dwfl_search(const dwfl_search&) = delete;
    dwfl_search& operator=(const dwfl_search&) = delete;

    const search_result& result() const { return result_; }
    bool has_no_client() const { return session_ != nullptr && dwfl_get_debuginfod_client(session_) == nullptr; }

  private:
    static int find(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base, const char* file,
                    const char* link, GElf_Word crc, char** result) {
        auto* const self = static_cast<dwfl_search*>(*user_data);
        const auto finder = self->is_standard_ ? &dwfl_build_id_find_debuginfo : &dwfl_standard_find_debuginfo;
        if (link != nullptr) self->result_.link = {link, crc};
        const int descriptor = finder(module, user_data, name, base, file, link, crc, result);
        if (descriptor < 0) return descriptor;
        // A downloaded file has a descriptor only.
        std::error_code unknown;
        const std::string open_file = "/proc/self/fd/" + std::to_string(descriptor);
        self->result_.path = *result != nullptr ? *result : std::filesystem::read_symlink(open_file, unknown).string();
        return descriptor;
    }

    bool is_standard_;
    std::string places_;
    search_result result_;
    char* path_list_ = nullptr;
    Dwfl_Callbacks callbacks_{};
    Dwfl* session_ = nullptr;
};

// Searches only once for each file, because a request to a server may take seconds.
const search_result& search(const std::string& path, const std::string& build_id) {
    static std::map<std::string, search_result> known;
    const std::string servers = setting("DEBUGINFOD_URLS");
    std::string key = path + '\n' + build_id + '\n' + servers;
    for (const std::string& folder : folders()) key += '\n' + folder;
    const auto [entry, is_new] = known.try_emplace(std::move(key));
    search_result& found = entry->second;
    if (!is_new) return found;
    const dwfl_search asked(path);
    found = asked.result();
    if (found.path.empty() && !servers.empty() && !build_id.empty() && !is_standard_module(path))
        found.why = asked.has_no_client() ? "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is missing: install it "
                                            "(package libdebuginfod1)"
                                          : "debuginfod has none (" + servers + ")";
    return found;
}
#else
const search_result& search(const std::string&, const std::string&) {
    static const search_result none;
    return none;
}
#endif

// Returns why a file does not belong to this build; empty if it does. `link`: the file may have no build-id.
std::string why_other(const std::string& path, const std::string& build_id, const debug_link* link) {
    try {
        const std::string other = elf_file(path).build_id();
        if (!build_id.empty() && other == build_id) return {};
        if (link == nullptr || (!build_id.empty() && !other.empty()))
            return "the debug file " + path + " has another build-id (" + (other.empty() ? "none" : other) + ", not " +
                   build_id + ")";
        const auto content = program::read_regular(path, file_bytes_max);
        const std::string_view bytes(content.data(), content.size());
        // The checksum is that of the file before compression.
        const std::vector<char> plain = unpack(bytes);
        if (program::crc32::of(plain.empty() ? bytes : std::string_view(plain.data(), plain.size())) == link->crc)
            return {};
        return "the debug file " + path + " has another CRC than .gnu_debuglink says";
    } catch (const std::exception& error) {
        return "the debug file cannot be read: " + std::string(error.what());
    }
}

// Looks where libdwfl has looked: for packed files, and for the reason why a file that is there was rejected.
debug_file look_closer(const std::string& path, const std::string& build_id, const debug_link& link) {
    std::vector<std::string> by_id, by_link;
    const std::string real_folder = folder_of(real_path_of(path));
    for (const std::string& folder : folders()) {
        if (build_id.size() >= 4)
            by_id.push_back(folder + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug");
        by_link.push_back(folder + real_folder + "/" + link.name);
        by_link.push_back(folder + "/" + link.name);
    }
    for (const std::string& beside : {folder_of(path), real_folder}) {
        by_link.push_back(beside + "/" + link.name);
        by_link.push_back(beside + "/.debug/" + link.name);
    }
    if (link.name.empty()) by_link.clear();
    std::string why;
    for (const bool is_link : {false, true}) {
        for (const std::string& place : is_link ? by_link : by_id) {
            for (const char* packed : {"", ".gz", ".xz", ".zst"}) {
                const std::string candidate = place + packed;
                if (!is_file(candidate)) continue;
                const std::string other = why_other(candidate, build_id, is_link ? &link : nullptr);
                if (other.empty()) return {candidate, {}};
                if (why.empty()) why = other;
            }
        }
    }
    return {{}, why};
}

std::string join(const std::string& before, const std::string& more) {
    return before.empty() || more.empty() ? before + more : before + "; " + more;
}

}  // namespace

debug_file find_debug_file(const elf_file& file, const std::string& path) {
    const std::string build_id = file.build_id();
    const search_result& found = search(path, build_id);
    if (!found.path.empty()) return {found.path, {}};
    const debug_link& link = found.link;
    debug_file closer = look_closer(path, build_id, link);
    if (!closer.path.empty()) return closer;
    std::string why = closer.why;
    if (why.empty() && !link.name.empty())
        why = "its debug information is in " + link.name +
              " (.gnu_debuglink), which is missing: put it next to the file, into .debug there, or below "
              "/usr/lib/debug";
    why = join(why, found.why);
    if (file.has_symbol_table() && link.name.empty()) return {{}, join(why, "build with -g to name it")};
    if (why.empty() || link.name.empty())
        why = join("it was stripped, and no debug information for its build-id is below /usr/lib/debug", why) +
              ": build with -g and keep what strip removes, or install it";
    return {{}, why};
}

std::string module_file(const std::string& path) {
    const std::string root = setting("MILLPOND_SYSROOT");
    if (root.empty() || !path.starts_with('/')) return path;
    const std::string below = root + path;
    return is_file(below) ? below : path;
}

}  // namespace millpond::symbols
