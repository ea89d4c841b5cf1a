// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/dwarf_unit.hpp"

#include <dwarf.h>

#include <algorithm>

#include "lab/symbols/demangle.hpp"
#include "lab/symbols/owner.hpp"
#include "lab/symbols/producer.hpp"
#include "lab/symbols/rust_name.hpp"

namespace millpond::symbols {
namespace {

constexpr int members_depth_max = 2;  // of members of members
constexpr int names_max = 64;         // of scopes around a name
constexpr int nested_max = 16;        // template arguments of template arguments
constexpr std::size_t declarations_max = 4000;

std::string readable(const char* symbol) { return is_rust_symbol(symbol) ? own(symbol).name : demangled(symbol); }

// Returns the full description of a type that this entry only declares: it is in a unit of its own.
Dwarf_Die defined(Dwarf_Die type) {
    Dwarf_Attribute found;
    Dwarf_Die whole;
    const bool leads_on = dwarf_attr(&type, DW_AT_signature, &found) != nullptr;
    return leads_on && dwarf_formref_die(&found, &whole) != nullptr ? whole : type;
}

std::string rust_symbol(Dwarf_Die* die) {
    Dwarf_Attribute found;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &found) == nullptr) return {};
    const char* const symbol = dwarf_formstring(&found);
    return symbol != nullptr && is_rust_symbol(symbol) ? std::string(symbol) : std::string();
}

bool is_type(int tag) { return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type; }

bool is_lambda_name(const char* name) { return name == nullptr || std::string_view(name).starts_with("<lambda"); }

bool is_block(int tag) { return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block; }

bool follow(Dwarf_Die* die, unsigned attribute, Dwarf_Die* to) {
    Dwarf_Attribute found;
    return dwarf_attr_integrate(die, attribute, &found) != nullptr && dwarf_formref_die(&found, to) != nullptr;
}

bool has_reference(Dwarf_Die* die, unsigned attribute, Dwarf_Die* to) {
    Dwarf_Attribute found;
    return dwarf_attr(die, attribute, &found) != nullptr && dwarf_formref_die(&found, to) != nullptr;
}

// Returns the entry that a concrete or inlined copy was made from.
Dwarf_Die origin_of(Dwarf_Die die) {
    Dwarf_Die next;
    for (int i = 0; i < 8 && has_reference(&die, DW_AT_abstract_origin, &next); ++i) die = next;
    return die;
}

Dwarf_Die declared_in(Dwarf_Die die) {
    Dwarf_Die next = origin_of(die);
    Dwarf_Die declared;
    return has_reference(&next, DW_AT_specification, &declared) ? declared : next;
}

// Finds the type of a variable without references, pointers, qualifiers and aliases.
bool plain_type(Dwarf_Die* of, Dwarf_Die* type) {
    if (!follow(of, DW_AT_type, type)) return false;
    for (int i = 0; i < 32; ++i) {
        switch (dwarf_tag(type)) {
            case DW_TAG_typedef:
            case DW_TAG_const_type:
            case DW_TAG_volatile_type:
            case DW_TAG_reference_type:
            case DW_TAG_rvalue_reference_type:
            case DW_TAG_pointer_type:
            case DW_TAG_array_type:
                break;
            default:
                return true;
        }
        Dwarf_Die next;
        if (!follow(type, DW_AT_type, &next)) return false;
        *type = next;
    }
    return false;
}

// Returns true for a reference or pointer to const: nothing is allocated through it.
bool is_read_only(Dwarf_Die* of) {
    Dwarf_Die type;
    if (!follow(of, DW_AT_type, &type)) return false;
    const int tag = dwarf_tag(&type);
    Dwarf_Die behind;
    const bool leads_on = tag == DW_TAG_reference_type || tag == DW_TAG_pointer_type;
    return leads_on && follow(&type, DW_AT_type, &behind) && dwarf_tag(&behind) == DW_TAG_const_type;
}

bool is_const(Dwarf_Die* of) {
    Dwarf_Die type;
    return follow(of, DW_AT_type, &type) && dwarf_tag(&type) == DW_TAG_const_type;
}

template <class Function>
void for_each_child(Dwarf_Die* parent, Function&& call) {
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0) return;
    do call(&child);
    while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

dwarf_unit::dwarf_unit(Dwarf_Die unit) : unit_(unit) {
    Dwarf_Attribute folder;
    if (dwarf_attr(&unit_, DW_AT_comp_dir, &folder) != nullptr) {
        if (const char* text = dwarf_formstring(&folder)) folder_ = text;
    }
    index(&unit_, true);
    indexed_.insert(unit_.cu);
    std::sort(functions_.begin(), functions_.end(),
              [](const function_range& a, const function_range& b) { return a.first < b.first; });
}

void dwarf_unit::index(Dwarf_Die* parent, bool own) const {
    for_each_child(parent, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        const bool is_scope = tag == DW_TAG_namespace || is_type(tag) || is_block(tag) || tag == DW_TAG_subprogram;
        if (!is_scope) {
            // Names of other types are needed, too, but not the names inside them.
            if (tag == DW_TAG_enumeration_type || tag == DW_TAG_base_type) parents_.emplace(child->addr, *parent);
            has_types_ = has_types_ || (own && tag == DW_TAG_base_type);
            const int around = dwarf_tag(parent);
            if (own && tag == DW_TAG_variable && (around == DW_TAG_namespace || around == DW_TAG_compile_unit))
                statics_.push_back(*child);
            return;
        }
        parents_.emplace(child->addr, *parent);
        if (own && tag == DW_TAG_subprogram) {
            Dwarf_Addr base, first, past;
            for (std::ptrdiff_t at = 0; (at = dwarf_ranges(child, at, &base, &first, &past)) > 0;)
                functions_.push_back({first, past, *child});
        }
        index(child, own);
    });
}

bool dwarf_unit::parent_of(const Dwarf_Die& die, Dwarf_Die& parent) const {
    Dwarf_Die copy = die;
    // With -flto, the original of a function lies in another unit.
    if (indexed_.insert(copy.cu).second) {
        Dwarf_Die other;
        if (dwarf_diecu(&copy, &other, nullptr, nullptr) != nullptr) index(&other, false);
    }
    const auto found = parents_.find(copy.addr);
    if (found == parents_.end()) return false;
    parent = found->second;
    return true;
}

std::string dwarf_unit::word_of(Dwarf_Die* one, int depth) const {
    const char* word = dwarf_diename(one);
    if (!is_type(dwarf_tag(one))) return word != nullptr ? word : "";
    if (is_lambda_name(word)) return "{lambda()#1}";
    // -gsimple-template-names leaves out the arguments; the reader of the entries must add them.
    const bool has_arguments = std::string_view(word).find('<') != std::string_view::npos;
    return has_arguments ? word : word + template_arguments(one, depth + 1);
}

// Returns "<int, shop::order>"; empty if the type is not an instance of a template.
std::string dwarf_unit::template_arguments(Dwarf_Die* of, int depth) const {
    if (depth > nested_max) return {};
    std::string text;
    bool is_instance = false;
    const auto add = [&](const std::string& argument) { text += (text.empty() ? "" : ", ") + argument; };
    const auto read = [&](Dwarf_Die* child, const auto& again) -> void {
        const int tag = dwarf_tag(child);
        Dwarf_Attribute found;
        if (tag == DW_TAG_template_type_parameter) {
            add(written_type(child, depth + 1));
        } else if (tag == DW_TAG_template_value_parameter) {
            Dwarf_Sword value = 0;
            const bool known = dwarf_formsdata(dwarf_attr(child, DW_AT_const_value, &found), &value) == 0;
            const bool truth = written_type(child, depth + 1) == "bool";
            add(!known ? "?" : truth ? (value != 0 ? "true" : "false") : std::to_string(value));
        } else if (tag == DW_TAG_GNU_template_template_param) {
            const char* name = dwarf_formstring(dwarf_attr(child, DW_AT_GNU_template_name, &found));
            add(name != nullptr ? name : "?");
        } else if (tag == DW_TAG_GNU_template_parameter_pack) {
            for_each_child(child, [&](Dwarf_Die* inner) { again(inner, again); });
        } else {
            return;
        }
        is_instance = true;
    };
    Dwarf_Die whole = defined(*of);
    for_each_child(&whole, [&](Dwarf_Die* child) { read(child, read); });
    return is_instance ? "<" + text + ">" : std::string();
}

// Returns the type of an entry as it is written, with pointers, references and qualifiers.
std::string dwarf_unit::written_type(Dwarf_Die* of, int depth) const {
    Dwarf_Die type;
    if (!follow(of, DW_AT_type, &type)) return "void";
    if (depth > nested_max) return "?";
    switch (dwarf_tag(&type)) {
        case DW_TAG_const_type:
            return written_type(&type, depth + 1) + " const";
        case DW_TAG_volatile_type:
            return written_type(&type, depth + 1) + " volatile";
        case DW_TAG_pointer_type:
            return written_type(&type, depth + 1) + "*";
        case DW_TAG_reference_type:
            return written_type(&type, depth + 1) + "&";
        case DW_TAG_rvalue_reference_type:
            return written_type(&type, depth + 1) + "&&";
        case DW_TAG_typedef:
            return written_type(&type, depth + 1);
        case DW_TAG_subroutine_type: {
            std::string parameters;
            for_each_child(&type, [&](Dwarf_Die* child) {
                if (dwarf_tag(child) != DW_TAG_formal_parameter) return;
                parameters += (parameters.empty() ? "" : ", ") + written_type(child, depth + 1);
            });
            return written_type(&type, depth + 1) + " (" + parameters + ")";
        }
        default:
            return qualified_name(&type, depth + 1);
    }
}

std::string dwarf_unit::qualified_name(Dwarf_Die* die, int depth) const {
    Dwarf_Die at = declared_in(*die);
    if (is_type(dwarf_tag(&at))) at = defined(at);
    std::string name = word_of(&at, depth);
    if (name.empty()) return {};
    Dwarf_Die parent;
    for (int i = 0; i < names_max && parent_of(at, parent); ++i) {
        const int tag = dwarf_tag(&parent);
        if (tag == DW_TAG_namespace || is_type(tag)) {
            if (const std::string scope = word_of(&parent, depth); !scope.empty()) name.insert(0, scope + "::");
        } else if (tag == DW_TAG_subprogram) {
            Dwarf_Die function = declared_in(parent);
            if (const char* around = dwarf_diename(&function)) name.insert(0, std::string(around) + "()::");
        }
        at = tag == DW_TAG_subprogram ? declared_in(parent) : parent;
    }
    return name;
}

std::string dwarf_unit::function_name(Dwarf_Die* die) const {
    for (const unsigned attribute : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
        Dwarf_Attribute found;
        if (dwarf_attr_integrate(die, attribute, &found) == nullptr) continue;
        if (const char* symbol = dwarf_formstring(&found)) {
            if (std::string name = readable(symbol); !name.empty()) return name;
        }
    }
    if (!has_types_) return {};  // without its scopes, a name says nothing
    const std::string name = qualified_name(die);
    return name.empty() ? name : name + "()";
}

std::string dwarf_unit::type_name(Dwarf_Die* die) const {
    Dwarf_Die type;
    return plain_type(die, &type) ? qualified_name(&type) : std::string();
}

source_place dwarf_unit::complete(const char* file, int line) const {
    if (file == nullptr) return {};
    std::string path = file;
    if (!path.starts_with('/') && !folder_.empty()) path.insert(0, folder_ + "/");
    return {std::move(path), line};
}

source_place dwarf_unit::declared_at(Dwarf_Die* die) const {
    int line = 0;
    return dwarf_decl_line(die, &line) == 0 ? place_of(die, DW_AT_decl_file, line) : source_place{};
}

source_place dwarf_unit::called_at(Dwarf_Die* inlined) const {
    Dwarf_Attribute line;
    Dwarf_Word row = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &line), &row) != 0) return {};
    return place_of(inlined, DW_AT_call_file, static_cast<int>(row));
}

// libdw's own functions treat file number 0 as none; that is only right up to version 4 of DWARF.
source_place dwarf_unit::place_of(Dwarf_Die* die, unsigned attribute, int line) const {
    Dwarf_Attribute found;
    Dwarf_Word number = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    Dwarf_Attribute* file = dwarf_attr_integrate(die, attribute, &found);
    Dwarf_Die unit;
    if (file == nullptr || dwarf_formudata(file, &number) != 0 ||
        dwarf_cu_die(file->cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == nullptr ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count)
        return {};
    return complete(dwarf_filesrc(files, number, nullptr, nullptr), line);
}

source_place dwarf_unit::line_at(std::uint64_t address) {
    Dwarf_Line* line = dwarf_getsrc_die(&unit_, address);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0) return {};
    return complete(dwarf_linesrc(line, nullptr, nullptr), number);
}

std::vector<debug_frame> dwarf_unit::frames(std::uint64_t address) {
    auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                  [](std::uint64_t at, const function_range& f) { return at < f.first; });
    if (after == functions_.begin() || address >= std::prev(after)->past) return {};
    Dwarf_Die at = std::prev(after)->function;
    std::vector<Dwarf_Die> nested{at};  // from the outermost inward
    for (bool deeper = true; deeper;) {
        deeper = false;
        Dwarf_Die next;
        for_each_child(&at, [&](Dwarf_Die* child) {
            const int tag = dwarf_tag(child);
            if (deeper || (tag != DW_TAG_inlined_subroutine && !is_block(tag)) || dwarf_haspc(child, address) <= 0)
                return;
            deeper = true;
            next = *child;
        });
        if (!deeper) break;
        at = next;
        if (dwarf_tag(&at) == DW_TAG_inlined_subroutine) nested.push_back(at);
    }
    std::vector<debug_frame> found;
    source_place place = line_at(address);
    for (std::size_t i = nested.size(); i-- > 0;) {
        found.push_back(
            {function_name(&nested[i]), place, i > 0, dwarf_dieoffset(&nested[i]), rust_symbol(&nested[i])});
        if (i > 0) place = called_at(&nested[i]);
    }
    return found;
}

void dwarf_unit::add(Dwarf_Die* die, const char* kind, const std::string& before, std::vector<declaration>& to) const {
    const char* name = dwarf_diename(die);
    if (name == nullptr || to.size() >= declarations_max || is_read_only(die) || declared_at(die).line == 0) return;
    if (std::string type = type_name(die); !type.empty())
        to.push_back({before + name, kind, std::move(type), declared_at(die), is_const(die)});
}

void dwarf_unit::add_locals(Dwarf_Die* function, std::vector<declaration>& to) const {
    for_each_child(function, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        if (tag == DW_TAG_variable) add(child, "local variable", "", to);
        if (tag == DW_TAG_formal_parameter) add(child, "parameter", "", to);
        if (is_block(tag)) add_locals(child, to);
    });
}

void dwarf_unit::add_members(Dwarf_Die* type, const char* kind, const std::string& before, int depth,
                             std::vector<declaration>& to) const {
    Dwarf_Die whole = defined(*type);
    for_each_child(&whole, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        Dwarf_Die inner;
        if (tag == DW_TAG_inheritance) {
            if (depth < members_depth_max && plain_type(child, &inner))
                add_members(&inner, kind, before, depth + 1, to);
        } else if (tag == DW_TAG_member || tag == DW_TAG_variable) {
            add(child, tag == DW_TAG_variable ? "static variable" : kind, before, to);
            const char* name = dwarf_diename(child);
            if (tag != DW_TAG_member || depth >= members_depth_max || !plain_type(child, &inner) ||
                !is_type(dwarf_tag(&inner)))
                return;
            if (!qualified_name(&inner).starts_with("std::"))
                add_members(&inner, kind, name != nullptr ? before + name + "." : before, depth + 1, to);
        }
    });
}

source_place dwarf_unit::declared(std::uint64_t function) const {
    Dwarf_Die die;
    Dwarf* dwarf = dwarf_cu_getdwarf(unit_.cu);
    return dwarf != nullptr && dwarf_offdie(dwarf, function, &die) != nullptr ? declared_at(&die) : source_place{};
}

source_language dwarf_unit::language(std::uint64_t function) const {
    Dwarf_Die die, unit;
    Dwarf* dwarf = dwarf_cu_getdwarf(unit_.cu);
    if (dwarf == nullptr || dwarf_offdie(dwarf, function, &die) == nullptr) return {};
    // With -flto, only the original of a function lies in the unit of its source.
    Dwarf_Die made_from = origin_of(die);
    if (dwarf_diecu(&made_from, &unit, nullptr, nullptr) == nullptr) return {};
    Dwarf_Attribute found;
    const char* const producer = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &found));
    return language_of(dwarf_srclang(&unit), producer != nullptr ? producer : "");
}

std::vector<declaration> dwarf_unit::declarations(std::uint64_t offset) {
    std::vector<declaration> found;
    Dwarf_Die die;
    Dwarf* dwarf = dwarf_cu_getdwarf(unit_.cu);
    if (dwarf == nullptr || dwarf_offdie(dwarf, offset, &die) == nullptr) return found;
    // A lambda's function sees its captures, then the names of its enclosing function.
    for (int around = 0; around < 8; ++around) {
        Dwarf_Die function = origin_of(die);
        add_locals(&function, found);
        Dwarf_Die parent, at = declared_in(die);
        while (parent_of(at, parent) && is_block(dwarf_tag(&parent))) at = parent;
        if (!parent_of(at, parent) || !is_type(dwarf_tag(&parent))) break;
        const char* name = dwarf_diename(&parent);
        add_members(&parent, is_lambda_name(name) ? "captured" : "member", "", 0, found);
        at = parent;
        while (parent_of(at, parent) && dwarf_tag(&parent) != DW_TAG_subprogram) at = parent;
        if (!parent_of(at, parent) || dwarf_tag(&parent) != DW_TAG_subprogram) break;
        die = parent;
    }
    for (Dwarf_Die& one : statics_) add(&one, "static variable", "", found);
    return found;
}

}  // namespace millpond::symbols
