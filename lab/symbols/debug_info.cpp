// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/debug_info.hpp"

#ifdef MILLPOND_WITH_DW
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "lab/program/regular_file.hpp"
#include "lab/symbols/debug_file.hpp"
#include "lab/symbols/dwarf_unit.hpp"
#include "lab/symbols/elf_file.hpp"
#include "lab/symbols/unpack.hpp"

namespace millpond::symbols {

struct debug_info::state {
    struct unit_range {
        std::uint64_t first, past;
        std::size_t unit;
    };
    struct unit_slot {
        Dwarf_Die die;
        std::optional<dwarf_unit> indexed;
        bool lacks_split = false, is_split = false;
    };

    int descriptor = -1;
    std::vector<char> image, alternate_image;  // the decompressed file, if it was compressed
    Elf *elf = nullptr, *alternate_elf = nullptr;
    Dwarf *dwarf = nullptr, *alternate = nullptr;
    int alternate_descriptor = -1;
    std::vector<unit_slot> units;
    std::vector<unit_range> ranges;
    std::unordered_map<std::uint64_t, std::vector<debug_frame>> frames;
    std::unordered_map<std::uint64_t, std::vector<declaration>> declarations;
    std::unordered_map<std::uint64_t, std::size_t> unit_of_die;
    std::string own_path;  // path of the program or library itself

    ~state() {
        if (dwarf != nullptr) dwarf_end(dwarf);
        if (alternate != nullptr) dwarf_end(alternate);
        elf_end(elf);
        elf_end(alternate_elf);
        if (descriptor >= 0) ::close(descriptor);
        if (alternate_descriptor >= 0) ::close(alternate_descriptor);
    }

    // Returns true if there are units; otherwise sets `why`.
    bool open(const std::string& path, std::string& why) {
        dwarf = begin(path, descriptor, image, elf, why);
        if (dwarf == nullptr) return false;
        add_alternate(path);
        list_units();
        if (ranges.empty()) why = "the debug information of " + path + " covers no code: build with -g to name it";
        return !ranges.empty();
    }

    static Dwarf* begin(const std::string& path, int& descriptor, std::vector<char>& image, Elf*& elf,
                        std::string& why) {
        try {
            descriptor = program::open_regular(path.c_str());
            struct stat facts{};
            if (::fstat(descriptor, &facts) != 0) return nullptr;
            const auto bytes = static_cast<std::size_t>(facts.st_size);
            void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
            if (mapped == MAP_FAILED) return nullptr;
            const std::string_view content(static_cast<const char*>(mapped), bytes);
            const bool is_packed = !packer_of(content).empty();
            if (is_packed) image = unpack(content);
            const std::string_view file = is_packed ? std::string_view(image.data(), image.size()) : content;
            const bool has_zstd = has_zstd_sections(file);
            if (has_zstd) image = without_zstd_sections(file);
            ::munmap(mapped, bytes);
            if ((is_packed || has_zstd) && image.empty()) {
                why = "the debug information of " + path + " is compressed in a way that cannot be read here";
                return nullptr;
            }
            if (image.empty()) {
                Dwarf* const opened = dwarf_begin(descriptor, DWARF_C_READ);
                if (opened == nullptr) why = "libdw cannot read the debug information of " + path + reason();
                return opened;
            }
            elf = elf_memory(image.data(), image.size());
            Dwarf* const opened = elf != nullptr ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr;
            if (opened == nullptr) why = "libdw cannot read the debug information of " + path + reason();
            return opened;
        } catch (const std::exception& error) {
            why = error.what();
            return nullptr;
        }
    }

    static std::string reason() {
        const char* const said = dwarf_errmsg(-1);
        return said != nullptr ? std::string(" (") + said + ")" : std::string();
    }

    // Adds the part that dwz has moved to a file of its own; libdw finds it if the file exists and can be read.
    void add_alternate(const std::string& path) {
        const char* name = nullptr;
        const void* id = nullptr;
        if (dwarf_getalt(dwarf) != nullptr || dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0 || name == nullptr)
            return;
        std::string place = name, unused;
        if (!place.starts_with('/')) place.insert(0, path.substr(0, path.rfind('/') + 1));
        alternate = begin(place, alternate_descriptor, alternate_image, alternate_elf, unused);
        if (alternate != nullptr) dwarf_setalt(dwarf, alternate);
    }

    void list_units() {
        Dwarf_CU* unit = nullptr;
        Dwarf_Die die, split;
        std::uint8_t type = 0;
        while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, &split) == 0) {
            if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
            Dwarf_Addr base, first, past;
            for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &first, &past)) > 0;)
                ranges.push_back({first, past, units.size()});
            // A skeleton leads to the entries, if its file still exists.
            const bool is_found = type == DW_UT_skeleton && split.cu != nullptr;
            units.push_back({is_found ? split : die, std::nullopt, type == DW_UT_skeleton && !is_found, is_found});
        }
        std::sort(ranges.begin(), ranges.end(),
                  [](const unit_range& a, const unit_range& b) { return a.first < b.first; });
    }

    // Returns the unit of an address; one past the last if no unit covers it.
    std::size_t unit_at(std::uint64_t address) const {
        const auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                            [](std::uint64_t at, const unit_range& r) { return at < r.first; });
        const bool is_covered = after != ranges.begin() && address < std::prev(after)->past;
        return is_covered ? std::prev(after)->unit : units.size();
    }

    dwarf_unit& indexed(std::size_t number) {
        unit_slot& unit = units[number];
        if (!unit.indexed) unit.indexed.emplace(unit.die);
        return *unit.indexed;
    }
};

debug_info::debug_info(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
debug_info::~debug_info() = default;

std::unique_ptr<debug_info> debug_info::open(const std::string& path, std::string& why) {
    std::string place = path;
    try {
        const elf_file file(path);
        if (!file.has_debug_information()) {
            const debug_file elsewhere = find_debug_file(file, path);
            place = elsewhere.path;
            why = elsewhere.why;
        }
    } catch (const std::exception& error) {
        why = error.what();
        return nullptr;
    }
    if (place.empty()) return nullptr;
    auto opened = std::make_unique<state>();
    opened->own_path = path;
    if (!opened->open(place, why)) return nullptr;
    return std::unique_ptr<debug_info>(new debug_info(std::move(opened)));
}

const std::vector<debug_frame>& debug_info::frames(std::uint64_t address) {
    const auto [entry, is_new] = state_->frames.try_emplace(address);
    const std::size_t unit = is_new ? state_->unit_at(address) : state_->units.size();
    if (unit == state_->units.size()) return entry->second;
    entry->second = state_->indexed(unit).frames(address);
    for (const debug_frame& frame : entry->second) state_->unit_of_die.emplace(frame.die, unit);
    return entry->second;
}

std::string debug_info::why_no_types(const debug_frame& frame) {
    const auto unit = state_->unit_of_die.find(frame.die);
    if (unit == state_->unit_of_die.end() || state_->indexed(unit->second).has_types()) return {};
    if (state_->units[unit->second].is_split)
        return "-gsplit-dwarf with -flto leaves the types elsewhere: build without -gsplit-dwarf";
    return "there are line tables only (-g1): build with -g to name it";
}

std::string debug_info::why_nothing(std::uint64_t address) {
    const std::size_t unit = state_->unit_at(address);
    if (unit == state_->units.size())
        return "its debug information does not cover this function: build all of it with -g";
    if (!state_->units[unit].lacks_split) return {};
    Dwarf_Die die = state_->units[unit].die;
    const auto text = [&](unsigned attribute) {
        Dwarf_Attribute found;
        const char* const word = dwarf_formstring(dwarf_attr(&die, attribute, &found));
        return std::string(word != nullptr ? word : "");
    };
    std::string name = text(DW_AT_dwo_name);
    if (name.empty()) name = text(DW_AT_GNU_dwo_name);
    if (!name.starts_with('/')) name = text(DW_AT_comp_dir) + "/" + name;
    struct stat about;
    if (::stat(name.c_str(), &about) == 0)
        return "this libdw cannot read its split debug information " + name + ": build without -gsplit-dwarf";
    const std::string package = state_->own_path + ".dwp";
    if (::stat(package.c_str(), &about) == 0)
        return "this libdw cannot read its split debug information " + package + ": keep the .dwo files";
    return "its split debug information " + name + " is missing: keep it, or build without -gsplit-dwarf";
}

source_language debug_info::language(const debug_frame& frame) {
    const auto unit = state_->unit_of_die.find(frame.die);
    return unit != state_->unit_of_die.end() ? state_->indexed(unit->second).language(frame.die) : source_language{};
}

source_place debug_info::declared(std::uint64_t address) {
    const std::vector<debug_frame>& known = frames(address);
    const auto unit = known.empty() ? state_->unit_of_die.end() : state_->unit_of_die.find(known.back().die);
    return unit != state_->unit_of_die.end() ? state_->indexed(unit->second).declared(known.back().die)
                                             : source_place{};
}

const std::vector<declaration>& debug_info::declarations(const debug_frame& frame) {
    const auto [entry, is_new] = state_->declarations.try_emplace(frame.die);
    const auto unit = state_->unit_of_die.find(frame.die);
    if (is_new && unit != state_->unit_of_die.end())
        entry->second = state_->indexed(unit->second).declarations(frame.die);
    return entry->second;
}

}  // namespace millpond::symbols

#else

namespace millpond::symbols {

struct debug_info::state {};
debug_info::debug_info(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
debug_info::~debug_info() = default;
std::unique_ptr<debug_info> debug_info::open(const std::string&, std::string& why) {
    why = "this build has no libdw: build it with libdw-dev to name it";
    return nullptr;
}
std::string debug_info::why_no_types(const debug_frame&) { return {}; }
std::string debug_info::why_nothing(std::uint64_t) { return {}; }
source_place debug_info::declared(std::uint64_t) { return {}; }
source_language debug_info::language(const debug_frame&) { return {}; }

const std::vector<debug_frame>& debug_info::frames(std::uint64_t) {
    static const std::vector<debug_frame> none;
    return none;
}

const std::vector<declaration>& debug_info::declarations(const debug_frame&) {
    static const std::vector<declaration> none;
    return none;
}

}  // namespace millpond::symbols

#endif
