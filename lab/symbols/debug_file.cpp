// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/debug_file.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

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

std::vector<std::string> folders() {
    std::vector<std::string> all{"/usr/lib/debug"};
    const char* const more = std::getenv("MILLPOND_DEBUG_PATH");
    std::string_view rest = more != nullptr ? more : "";
    while (!rest.empty()) {
        const std::size_t colon = rest.find(':');
        if (colon != 0) all.emplace_back(rest.substr(0, colon));
        rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    }
    return all;
}

std::string real_folder_of(const std::string& path) {
    char* const real = ::realpath(path.c_str(), nullptr);
    const std::string resolved = real != nullptr ? real : path;
    std::free(real);
    const std::size_t slash = resolved.rfind('/');
    return slash == std::string::npos ? "." : resolved.substr(0, slash);
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::uint32_t crc_of(std::string_view content) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xedb88320u ^ value >> 1 : value >> 1;
            made[i] = value;
        }
        return made;
    }();
    std::uint32_t crc = ~0u;
    for (const char byte : content) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
    return ~crc;
}

struct debug_link {
    std::string name;
    std::uint32_t crc = 0;
};

// Parses a name, zeros up to a multiple of four, and a CRC.
debug_link link_of(const elf_file& file) {
    const std::string_view section = file.section(".gnu_debuglink");
    const std::size_t length = section.find('\0');
    if (length == 0 || length == std::string_view::npos) return {};
    const std::size_t at = (length + 4) / 4 * 4;
    if (section.size() < at + 4) return {};
    debug_link link{std::string(section.substr(0, length)), 0};
    std::memcpy(&link.crc, section.data() + at, sizeof link.crc);
    return link;
}

// Returns why a file does not belong to this build; empty if it does.
std::string why_other(const std::string& path, const std::string& build_id, const debug_link* link) {
    try {
        const std::string other = elf_file(path).build_id();
        if (!build_id.empty() && other == build_id) return {};
        if (link == nullptr || (!build_id.empty() && !other.empty()))
            return "the debug file " + path + " has another build-id (" + (other.empty() ? "none" : other) + ", not " +
                   build_id + ")";
        const auto content = program::read_regular(path, file_bytes_max);
        const std::string_view bytes(content.data(), content.size());
        if (crc_of(bytes) == link->crc) return {};
        // The checksum is that of the file before compression.
        if (const std::vector<char> plain = unpack(bytes);
            !plain.empty() && crc_of({plain.data(), plain.size()}) == link->crc)
            return {};
        return "the debug file " + path + " has another CRC than .gnu_debuglink says";
    } catch (const std::exception& error) {
        return "the debug file cannot be read: " + std::string(error.what());
    }
}

// Asks debuginfod's library, which has its own cache; each build-id only once.
std::string ask_debuginfod(const std::string& build_id, std::string& why) {
    static std::map<std::string, debug_file> known;
    const auto [entry, is_new] = known.try_emplace(build_id);
    debug_file& found = entry->second;
    if (is_new) {
        void* const library = ::dlopen("libdebuginfod.so.1", RTLD_NOW);
        const auto symbol = [&](const char* name) { return library != nullptr ? ::dlsym(library, name) : nullptr; };
        const auto begin = reinterpret_cast<void* (*)()>(symbol("debuginfod_begin"));
        const auto end = reinterpret_cast<void (*)(void*)>(symbol("debuginfod_end"));
        const auto find =
            reinterpret_cast<int (*)(void*, const unsigned char*, int, char**)>(symbol("debuginfod_find_debuginfo"));
        void* const client = begin != nullptr && end != nullptr && find != nullptr ? begin() : nullptr;
        if (client == nullptr) {
            found.why =
                "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is missing: install it (package libdebuginfod1)";
        } else {
            char* path = nullptr;
            const int file = find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
            if (file >= 0) {
                ::close(file);
                found.path = path != nullptr ? path : "";
            } else {
                found.why = std::string("debuginfod has none (") + std::strerror(-file) + ")";
            }
            std::free(path);
            end(client);
        }
    }
    if (found.path.empty()) why = found.why;
    return found.path;
}

// Adds a file, or the same file compressed.
void add_packed(std::vector<std::string>& places, const std::string& path) {
    for (const char* packed : {"", ".gz", ".xz", ".zst"}) places.push_back(path + packed);
}

std::string join(const std::string& before, const std::string& more) {
    return before.empty() || more.empty() ? before + more : before + "; " + more;
}

}  // namespace

debug_file find_debug_file(const elf_file& file, const std::string& path) {
    const std::string build_id = file.build_id();
    std::vector<std::string> places;
    std::string why;
    if (build_id.size() >= 4) {
        for (const std::string& folder : folders())
            add_packed(places, folder + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug");
    }
    for (const std::string& place : places) {
        if (!is_file(place)) continue;
        const std::string other = why_other(place, build_id, nullptr);
        if (other.empty()) return {place, {}};
        why = other;
    }
    const debug_link link = link_of(file);
    if (!link.name.empty()) {
        places.clear();
        for (const std::string& beside : {folder_of(path), real_folder_of(path)}) {
            for (const char* inner : {"/", "/.debug/"}) add_packed(places, beside + inner + link.name);
        }
        for (const std::string& folder : folders()) add_packed(places, folder + real_folder_of(path) + "/" + link.name);
        for (const std::string& place : places) {
            if (!is_file(place)) continue;
            const std::string other = why_other(place, build_id, &link);
            if (other.empty()) return {place, {}};
            if (why.empty()) why = other;
        }
        if (why.empty())
            why = "its debug information is in " + link.name +
                  " (.gnu_debuglink), which is missing: put it next to the file, into .debug there, or below "
                  "/usr/lib/debug";
    }
    const char* const servers = std::getenv("DEBUGINFOD_URLS");
    if (servers != nullptr && *servers != '\0' && !build_id.empty() && !is_standard_module(path)) {
        std::string no_server;
        if (std::string found = ask_debuginfod(build_id, no_server); !found.empty()) return {std::move(found), {}};
        why = join(why, no_server);
    }
    if (file.has_symbol_table() && link.name.empty()) return {{}, join(why, "build with -g to name it")};
    if (why.empty() || link.name.empty())
        why = join("it was stripped, and no debug information for its build-id is below /usr/lib/debug", why) +
              ": build with -g and keep what strip removes, or install it";
    return {{}, why};
}

}  // namespace millpond::symbols
