// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/module_functions.hpp"

#include <gelf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "lab/symbols/debug_file.hpp"
#include "lab/symbols/elf_file.hpp"
#include "lab/symbols/unpack.hpp"

namespace millpond::symbols {
namespace {

constexpr std::uint32_t no_symbol = ~std::uint32_t{0};
constexpr std::size_t functions_between_max = 16;  // beyond these a neighbour says nothing about a function

// Appends the symbol table that some distributions leave in stripped files (.gnu_debugdata, compressed by xz). Finds
// nothing in a damaged section, or if Millpond was built without liblzma.
void append_embedded_symbols(const elf_file& file, std::vector<raw_symbol>& functions) {
    const std::string_view packed = file.section(".gnu_debugdata");
    if (packed.empty()) return;
    std::vector<char> image = unpack(packed);
    if (image.empty()) return;
    try {
        elf_file(std::move(image)).append_functions(functions);
    } catch (const std::runtime_error&) {  // damaged: the other tables remain
    }
}

std::string file_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Chooses among names of one address: first names meant for users (few leading underscores), then global before weak
// before local, then the shortest, then alphabetical order, so that the choice is always the same.
bool is_better_name(const raw_symbol& a, const raw_symbol& b) {
    const auto rank = [](const raw_symbol& symbol) {
        const bool mangled = symbol.name.starts_with("_Z");
        const std::size_t underscores = mangled ? 0 : symbol.name.find_first_not_of('_');
        const int binding = symbol.binding == STB_GLOBAL ? 0 : symbol.binding == STB_WEAK ? 1 : 2;
        return std::make_tuple(underscores, binding, symbol.name.size());
    };
    const auto rank_a = rank(a), rank_b = rank(b);
    return rank_a != rank_b ? rank_a < rank_b : a.name < b.name;
}

// Returns one symbol an address, sorted; a symbol without a size gets that of its call-frame entry, or is dropped.
std::vector<raw_symbol> choose_symbols(std::vector<raw_symbol> symbols, const std::vector<address_range>& entries) {
    for (raw_symbol& symbol : symbols) {
        if (symbol.bytes != 0) continue;
        const auto entry = std::lower_bound(entries.begin(), entries.end(), symbol.address,
                                            [](const address_range& e, std::uint64_t at) { return e.first < at; });
        if (entry != entries.end() && entry->first == symbol.address) symbol.bytes = entry->past - entry->first;
    }
    std::erase_if(symbols, [](const raw_symbol& s) { return s.bytes == 0 || s.address + s.bytes < s.address; });
    std::sort(symbols.begin(), symbols.end(), [](const raw_symbol& a, const raw_symbol& b) {
        if (a.address != b.address) return a.address < b.address;
        return is_better_name(a, b);
    });
    std::vector<raw_symbol> chosen;
    for (raw_symbol& symbol : symbols) {
        if (!chosen.empty() && chosen.back().address == symbol.address)
            chosen.back().bytes = std::max(chosen.back().bytes, symbol.bytes);
        else
            chosen.push_back(std::move(symbol));
    }
    return chosen;
}

struct symbol_range {
    std::uint64_t first, past;
    std::uint32_t symbol;  // no_symbol: a gap between symbols
};

// Cuts overlapping symbols so that the one that starts last keeps its whole range.
std::vector<symbol_range> flatten(const std::vector<raw_symbol>& symbols) {
    std::vector<symbol_range> ranges;
    std::vector<symbol_range> open;  // enclosing symbols, innermost last
    const auto emit = [&](std::uint64_t first, std::uint64_t past, std::uint32_t symbol) {
        if (first < past) ranges.push_back({first, past, symbol});
    };
    const auto close_until = [&](std::uint64_t address) {
        while (!open.empty() && open.back().past <= address) {
            const symbol_range inner = open.back();
            open.pop_back();
            emit(inner.first, inner.past, inner.symbol);
            if (!open.empty()) open.back().first = std::max(open.back().first, inner.past);
        }
    };
    for (std::uint32_t i = 0; i < symbols.size(); ++i) {
        const std::uint64_t first = symbols[i].address;
        close_until(first);
        if (!open.empty()) {
            emit(open.back().first, first, open.back().symbol);
            open.back().first = first;
        }
        open.push_back({first, first + symbols[i].bytes, i});
    }
    close_until(~std::uint64_t{0});
    std::erase_if(ranges, [](const symbol_range& range) { return range.first >= range.past; });
    return ranges;
}

}  // namespace

struct module_functions::state {
    std::string name, build_id;
    bool standard_module = false;
    std::vector<raw_symbol> symbols;
    // A parallel array: the source of each range, and its description, filled in when first used.
    struct source {
        std::uint32_t symbol;   // no_symbol: a function without one
        std::uint32_t ordinal;  // of its call-frame entry
        bool described = false;
    };
    mutable std::vector<source> sources;
    mutable std::vector<function> functions;
    mutable std::unordered_map<std::uint32_t, ownership> owned;  // shared by the pieces of one symbol
    std::vector<address_range> code;                             // sections with code, sorted

    void open(const std::string& path);
    void add(std::uint64_t first, std::uint64_t past, std::uint32_t symbol, std::uint32_t ordinal);
    void add_gap(std::uint64_t first, std::uint64_t past, const std::vector<address_range>& entries);
    void describe(std::size_t index) const;
    const ownership& ownership_of(std::uint32_t symbol) const;
    std::string neighbour_of(std::size_t index) const;
};

void module_functions::state::open(const std::string& path) {
    const elf_file file(path);
    name = file_name(path);
    build_id = file.build_id();
    standard_module = is_standard_module(path);
    std::vector<raw_symbol> all_symbols;
    file.append_functions(all_symbols);
    append_embedded_symbols(file, all_symbols);
    try {
        if (!file.has_symbol_table()) {
            const debug_file debug = find_debug_file(file, path);
            if (!debug.path.empty()) elf_file(debug.path).append_functions(all_symbols);
        }
    } catch (const std::runtime_error&) {  // not installed, the usual case
    }
    code = file.code_sections();
    const std::vector<address_range> entries = file.frame_entries();
    symbols = choose_symbols(std::move(all_symbols), entries);

    std::uint64_t end = 0;
    for (const symbol_range& range : flatten(symbols)) {
        add_gap(end, range.first, entries);
        add(range.first, range.past, range.symbol, 0);
        end = range.past;
    }
    add_gap(end, ~std::uint64_t{0}, entries);
}

void module_functions::state::add(std::uint64_t first, std::uint64_t past, std::uint32_t symbol,
                                  std::uint32_t ordinal) {
    functions.push_back({first, past, {}, {}, owner_kind::unnamed, false, false});
    sources.push_back({symbol, ordinal});
}

// Assigns code between symbols to the call-frame entries.
void module_functions::state::add_gap(std::uint64_t first, std::uint64_t past,
                                      const std::vector<address_range>& entries) {
    auto entry = std::upper_bound(entries.begin(), entries.end(), first,
                                  [](std::uint64_t at, const address_range& e) { return at < e.past; });
    for (; entry != entries.end() && entry->first < past; ++entry) {
        const std::uint64_t from = std::max(first, entry->first);
        const std::uint64_t to = std::min(past, entry->past);
        if (from < to) add(from, to, no_symbol, static_cast<std::uint32_t>(entry - entries.begin()));
        first = std::max(first, to);
    }
}

const ownership& module_functions::state::ownership_of(std::uint32_t symbol) const {
    const auto [known, is_new] = owned.try_emplace(symbol);
    if (is_new) known->second = own(symbols[symbol].name);
    return known->second;
}

// Returns the closest function with a symbol, on either side, the one before if both are as close. Instances of the
// standard library are passed over: linkers put them anywhere, and their names say nothing.
std::string module_functions::state::neighbour_of(std::size_t index) const {
    const auto section = std::upper_bound(code.begin(), code.end(), functions[index].first,
                                          [](std::uint64_t at, const address_range& s) { return at < s.past; });
    if (section == code.end()) return {};
    const auto name_at = [&](std::size_t at) -> std::string {
        const bool is_outside = functions[at].first < section->first || functions[at].first >= section->past;
        if (is_outside || sources[at].symbol == no_symbol) return {};
        const ownership& o = ownership_of(sources[at].symbol);
        return o.standard ? std::string() : o.name;
    };
    for (std::size_t away = 1; away <= functions_between_max; ++away) {
        std::string neighbour = away <= index ? name_at(index - away) : std::string();
        if (neighbour.empty() && index + away < functions.size()) neighbour = name_at(index + away);
        if (!neighbour.empty()) return neighbour;
    }
    return {};
}

void module_functions::state::describe(std::size_t index) const {
    source& from = sources[index];
    if (from.described) return;
    from.described = true;
    function& f = functions[index];
    if (from.symbol == no_symbol) {
        f.name = name + "!f" + std::to_string(from.ordinal);
        if (!build_id.empty()) f.name += "@" + build_id.substr(0, 8);
        f.owner = f.name;
        f.near = neighbour_of(index);
        f.standard = standard_module;
        return;
    }
    const ownership& o = ownership_of(from.symbol);
    f.name = o.name;
    f.owner = o.owner;
    f.kind = o.kind;
    f.named = true;
    const raw_symbol& symbol = symbols[from.symbol];
    f.symbol = without_suffixes(symbol.name);
    f.entry = symbol.address == f.first && symbol.name.find(".cold") == std::string::npos;
    f.standard = o.standard || standard_module;
    f.allocation = o.allocation && !standard_module;
}

module_functions::module_functions(const std::string& path) : state_(std::make_unique<state>()) { state_->open(path); }
module_functions::~module_functions() = default;
module_functions::module_functions(module_functions&&) noexcept = default;
module_functions& module_functions::operator=(module_functions&&) noexcept = default;

const function* module_functions::find(std::uint64_t address) const noexcept {
    const std::vector<function>& functions = state_->functions;
    const auto next = std::upper_bound(functions.begin(), functions.end(), address,
                                       [](std::uint64_t at, const function& f) { return at < f.first; });
    if (next == functions.begin()) return nullptr;
    const auto index = static_cast<std::size_t>(next - functions.begin()) - 1;
    if (address >= functions[index].past) return nullptr;
    state_->describe(index);
    return &functions[index];
}

const std::vector<function>& module_functions::all() const {
    for (std::size_t i = 0; i < state_->functions.size(); ++i) state_->describe(i);
    return state_->functions;
}

const std::string& module_functions::build_id() const { return state_->build_id; }
const std::string& module_functions::name() const { return state_->name; }

bool is_standard_module(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
    constexpr std::array stems{// the C library and its parts
                               "libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libutil", "libresolv",
                               "libanl", "libnsl", "libBrokenLocale", "libthread_db", "ld", "ld-linux",
                               "ld-linux-x86-64", "ld-linux-aarch64", "ld-musl-x86_64", "ld-musl-aarch64",
                               // C++ run-time libraries
                               "libstdc++", "libc++", "libc++abi", "libsupc++", "libgcc_s", "libunwind", "libatomic",
                               // those of other languages
                               "libgfortran", "libquadmath", "libgnat", "libgnarl", "libgphobos", "libgdruntime",
                               "libphobos2-ldc-shared", "libdruntime-ldc-shared", "libswiftCore", "libFoundation",
                               // preloaded mallocs, recorders, sanitizers
                               "libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc", "libtbbmalloc",
                               "libtbbmalloc_proxy", "libasan", "libtsan", "liblsan", "libubsan"};
    if (file.starts_with("libstd-") && file.ends_with(".so")) return true;  // Rust's
    if (file.starts_with("libmillpond-") || file.starts_with("[v") || file.starts_with("linux-vdso")) return true;
    std::string_view stem = file.substr(0, file.find(".so"));
    if (stem.size() == file.size()) return false;
    const auto is_known = [&](std::string_view name) {
        return std::find(stems.begin(), stems.end(), name) != stems.end();
    };
    if (is_known(stem) || file.starts_with("libnss_")) return true;
    // libc-2.31.so is also the C library; libc-client.so is not.
    const std::size_t dash = stem.rfind('-');
    return dash != std::string_view::npos && dash + 1 < stem.size() &&
           stem.substr(dash + 1).find_first_not_of("0123456789.") == std::string_view::npos &&
           is_known(stem.substr(0, dash));
}

std::string build_id_of(const std::string& path) {
    try {
        return elf_file(path).build_id();
    } catch (const std::runtime_error&) {
        return {};
    }
}

}  // namespace millpond::symbols
