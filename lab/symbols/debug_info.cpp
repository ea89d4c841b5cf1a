// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/debug_info.hpp"

#ifdef MILLPOND_WITH_DW
#include <dwarf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "lab/symbols/dwarf_unit.hpp"

namespace millpond::symbols {

struct debug_info::state {
    struct covered {
        std::uint64_t first, past;
        std::size_t unit;
    };
    struct unit_slot {
        Dwarf_Die die;
        std::optional<dwarf_unit> indexed;
    };

    int descriptor = -1;
    Dwarf* dwarf = nullptr;
    std::vector<unit_slot> units;
    std::vector<covered> ranges;
    std::unordered_map<std::uint64_t, std::vector<debug_frame>> frames;
    std::unordered_map<std::uint64_t, std::vector<declaration>> declarations;
    std::unordered_map<std::uint64_t, std::size_t> unit_of_die;

    ~state() {
        if (dwarf != nullptr) dwarf_end(dwarf);
        if (descriptor >= 0) ::close(descriptor);
    }

    bool open(const std::string& path) {
        descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat facts{};
        if (descriptor < 0 || ::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
        dwarf = dwarf_begin(descriptor, DWARF_C_READ);
        if (dwarf != nullptr) list_units();
        return !ranges.empty();
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
            // What a skeleton leads to has the entries, where its file is still there.
            units.push_back({type == DW_UT_skeleton && split.cu != nullptr ? split : die, std::nullopt});
        }
        std::sort(ranges.begin(), ranges.end(), [](const covered& a, const covered& b) { return a.first < b.first; });
    }

    dwarf_unit& indexed(std::size_t number) {
        unit_slot& unit = units[number];
        if (!unit.indexed) unit.indexed.emplace(unit.die);
        return *unit.indexed;
    }
};

debug_info::debug_info(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
debug_info::~debug_info() = default;

std::unique_ptr<debug_info> debug_info::open(const std::string& path, const std::string& build_id) {
    auto opened = std::make_unique<state>();
    if (opened->open(path)) return std::unique_ptr<debug_info>(new debug_info(std::move(opened)));
    if (build_id.size() < 4) return nullptr;
    opened = std::make_unique<state>();
    if (opened->open("/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug"))
        return std::unique_ptr<debug_info>(new debug_info(std::move(opened)));
    return nullptr;
}

const std::vector<debug_frame>& debug_info::frames(std::uint64_t address) {
    const auto [entry, is_new] = state_->frames.try_emplace(address);
    if (!is_new) return entry->second;
    const auto after = std::upper_bound(state_->ranges.begin(), state_->ranges.end(), address,
                                        [](std::uint64_t at, const state::covered& r) { return at < r.first; });
    if (after == state_->ranges.begin() || address >= std::prev(after)->past) return entry->second;
    const std::size_t unit = std::prev(after)->unit;
    entry->second = state_->indexed(unit).frames(address);
    for (const debug_frame& frame : entry->second) state_->unit_of_die.emplace(frame.die, unit);
    return entry->second;
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
std::unique_ptr<debug_info> debug_info::open(const std::string&, const std::string&) { return nullptr; }
source_place debug_info::declared(std::uint64_t) { return {}; }

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
