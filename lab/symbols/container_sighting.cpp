// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/container_sighting.hpp"

#include <array>
#include <vector>

#include "lab/symbols/container_name.hpp"
#include "lab/symbols/contains.hpp"
#include "lab/symbols/demangled_name.hpp"

namespace millpond::symbols {
namespace {

using part_list = std::vector<name_part>;

std::vector<std::string> arguments_of(const name_part& part) {
    std::vector<std::string> arguments;
    for (const std::string_view argument : split_arguments(part.arguments)) arguments.emplace_back(argument);
    return arguments;
}

std::string argument(const std::vector<std::string>& arguments, std::size_t at) {
    return at < arguments.size() ? arguments[at] : std::string();
}

// Returns the arguments of `text` if it is an instance of the template `of`.
std::optional<std::vector<std::string>> instance_of(std::string_view text, std::string_view of) {
    if (!text.starts_with(of) || text.size() <= of.size() || text[of.size()] != '<') return std::nullopt;
    const std::size_t end = skip_brackets(text, of.size());
    std::vector<std::string> arguments;
    for (const std::string_view one : split_arguments(text.substr(of.size(), end - of.size())))
        arguments.emplace_back(one);
    return arguments;
}

std::string joined(std::string_view name, const std::vector<std::string>& arguments) {
    std::string text = "std::" + std::string(name) + "<";
    for (std::size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i];
    return written_type(text + ">");
}

// "K|V" for the pair in a map's node, "K|" for a set's element.
struct key_and_value {
    std::string key, value;
    bool is_map = false;
    std::string elements() const { return comparable_type(key) + "|" + comparable_type(value); }
};

key_and_value of_element(const std::string& element, bool allow_map = true) {
    for (const std::string_view pair : {"std::pair", "std::__value_type", "std::__hash_value_type"}) {
        const auto arguments = instance_of(element, pair);
        if (!allow_map || !arguments || arguments->size() != 2) continue;
        std::string key = (*arguments)[0];
        if (pair == "std::pair" && !key.ends_with(" const") && !key.starts_with("const ")) continue;
        if (key.ends_with(" const")) key.resize(key.size() - 6);
        if (key.starts_with("const ")) key.erase(0, 6);
        return {std::move(key), (*arguments)[1], true};
    }
    return {element, {}, false};
}

std::vector<std::string> map_arguments(const key_and_value& e) {
    return e.is_map ? std::vector<std::string>{e.key, e.value} : std::vector<std::string>{e.key};
}

void add_allocator(std::vector<std::string>& to, const std::vector<std::string>& from) {
    if (!from.empty() && from.back().starts_with("std::pmr::polymorphic_allocator")) to.push_back(from.back());
}

container_hint tree(const key_and_value& e, const std::string& compare, const std::vector<std::string>& all, bool multi,
                    evidence strength) {
    std::vector<std::string> arguments = map_arguments(e);
    if (!compare.empty() && !compare.starts_with("std::pmr::")) arguments.push_back(compare);
    add_allocator(arguments, all);
    const std::string name = std::string(multi ? "multi" : "") + (e.is_map ? "map" : "set");
    return {family::tree, strength, e.elements(), joined(name, arguments)};
}

container_hint hash(const key_and_value& e, const std::string& hasher, const std::string& equal,
                    const std::vector<std::string>& all, bool multi, evidence strength) {
    std::vector<std::string> arguments = map_arguments(e);
    if (!hasher.empty()) arguments.push_back(hasher);
    if (!hasher.empty() && !equal.empty()) arguments.push_back(equal);
    add_allocator(arguments, all);
    const std::string name = std::string(multi ? "unordered_multi" : "unordered_") + (e.is_map ? "map" : "set");
    return {family::hash, strength, e.elements(), joined(name, arguments)};
}

// Derives the container from the node that an allocator makes, if nothing else is left of it.
std::optional<container_hint> from_node(const std::string& node) {
    struct shape {
        std::string_view name;
        family kind;
        std::string_view container;
    };
    constexpr std::array shapes{shape{"std::_List_node", family::list, "list"},
                                shape{"std::__list_node", family::list, "list"},
                                shape{"std::_Fwd_list_node", family::forward_list, "forward_list"},
                                shape{"std::__forward_list_node", family::forward_list, "forward_list"},
                                shape{"std::_Sp_counted_ptr_inplace", family::shared, "shared_ptr"},
                                shape{"std::_Sp_counted_deleter", family::shared, "shared_ptr"},
                                shape{"std::__shared_ptr_emplace", family::shared, "shared_ptr"}};
    for (const shape& one : shapes) {
        const auto arguments = instance_of(node, one.name);
        if (!arguments || arguments->empty()) continue;
        std::string element = arguments->front();
        if (one.name == "std::_Sp_counted_deleter" && element.ends_with('*')) element.pop_back();
        return container_hint{one.kind, evidence::node, comparable_type(element), joined(one.container, {element})};
    }
    for (const std::string_view name : {"std::_Rb_tree_node", "std::__tree_node"}) {
        if (const auto arguments = instance_of(node, name); arguments && !arguments->empty())
            return tree(of_element(arguments->front()), "", {}, false, evidence::node);
    }
    for (const std::string_view name : {"std::__detail::_Hash_node", "std::__hash_node"}) {
        if (const auto arguments = instance_of(node, name); arguments && !arguments->empty())
            return hash(of_element(arguments->front()), "", "", {}, false, evidence::node);
    }
    return std::nullopt;
}

family family_of(std::string_view name) {
    if (name == "map" || name == "multimap" || name == "set" || name == "multiset") return family::tree;
    if (name.starts_with("unordered_")) return family::hash;
    if (name == "vector") return family::vector;
    if (name == "deque") return family::deque;
    if (name == "list") return family::list;
    if (name == "forward_list") return family::forward_list;
    if (name == "basic_string") return family::string;
    if (name == "shared_ptr") return family::shared;
    if (name == "function" || name == "move_only_function") return family::function;
    return name == "any" ? family::any : family::other;
}

// Derives the container from a class that users name. `leaf`: the member function.
std::optional<container_hint> from_whole(const name_part& part, std::string_view scope, const name_part& leaf) {
    const std::string& name = part.name;
    if (!is_written_by_users(name)) return std::nullopt;
    const std::vector<std::string> a = arguments_of(part);
    container_hint found{family_of(name), evidence::whole, "", written_type("std::" + name + part.arguments)};
    if (scope == "filesystem" || name == "path") found.type = "std::filesystem::path";
    const bool is_map = name.ends_with("map");
    if (found.kind == family::tree || found.kind == family::hash)
        found.elements = comparable_type(argument(a, 0)) + "|" + (is_map ? comparable_type(argument(a, 1)) : "");
    else
        found.elements = comparable_type(argument(a, 0));
    found.surrounds = found.kind == family::other && name != "thread" && name != "jthread" && name != "valarray";
    // The string that a stream's str() returns belongs to the caller.
    if (found.surrounds && name.starts_with("basic_") && leaf.name == "str")
        return container_hint{family::string, evidence::node, "", written_type("std::basic_string" + part.arguments)};
    if (name == "basic_stringbuf") found.type = written_type("std::basic_stringstream" + part.arguments);
    if (name == "basic_filebuf") found.type = written_type("std::basic_fstream" + part.arguments);
    return found;
}

bool says_multi(std::string_view function) { return contains(function, "_equal") || contains(function, "_multi"); }

// Derives the container from an internal class of libstdc++ or libc++.
std::optional<container_hint> from_inside(const name_part& part, const name_part& leaf) {
    const std::vector<std::string> a = arguments_of(part);
    const std::string& name = part.name;
    const auto simple = [&](family kind, std::string_view container, const std::string& element) {
        std::vector<std::string> arguments{element};
        add_allocator(arguments, a);
        return container_hint{kind, evidence::inside, comparable_type(element), joined(container, arguments)};
    };
    if (name == "_Vector_base" || name == "__vector_base") return simple(family::vector, "vector", argument(a, 0));
    if (name == "_Bvector_base") return simple(family::vector, "vector", "bool");
    if (name == "_Deque_base" || name == "__deque_base") return simple(family::deque, "deque", argument(a, 0));
    if (name == "_List_base" || name == "__list_imp") return simple(family::list, "list", argument(a, 0));
    if (name == "_Fwd_list_base" || name == "__forward_list_base")
        return simple(family::forward_list, "forward_list", argument(a, 0));
    if (name == "__split_buffer") {
        // For a deque's map of blocks (the elements are pointers), only the functions around it tell the type.
        container_hint found = simple(family::vector, "vector", argument(a, 0));
        found.strength = evidence::node;
        return found;
    }
    if (name == "_Rb_tree") {
        const key_and_value e = of_element(argument(a, 1), contains(argument(a, 2), "_Select1st"));
        return tree(e, argument(a, 3), a, says_multi(leaf.name), evidence::inside);
    }
    if (name == "__tree") {
        std::string compare = argument(a, 1);
        if (const auto inner = instance_of(compare, "std::__map_value_compare")) compare = argument(*inner, 2);
        return tree(of_element(argument(a, 0)), compare, a, says_multi(leaf.name), evidence::inside);
    }
    if (name == "_Hashtable" || name == "_Map_base" || name == "_Insert_base" || name == "_Insert") {
        const bool is_map = contains(argument(a, 3), "_Select1st");
        const bool multi = contains(part.arguments, "_Hashtable_traits<false, false, false>") ||
                           contains(part.arguments, "_Hashtable_traits<true, false, false>") ||
                           contains(part.arguments, "_Hashtable_traits<false, true, false>") ||
                           contains(part.arguments, "_Hashtable_traits<true, true, false>");
        std::vector<std::string> allocator{argument(a, 2)};
        return hash(of_element(argument(a, 1), is_map), argument(a, 5), argument(a, 4), allocator, multi,
                    evidence::inside);
    }
    if (name == "__hash_table") {
        std::string hasher = argument(a, 1), equal = argument(a, 2);
        if (const auto inner = instance_of(hasher, "std::__unordered_map_hasher")) hasher = argument(*inner, 2);
        if (const auto inner = instance_of(equal, "std::__unordered_map_equal")) equal = argument(*inner, 2);
        if (equal.starts_with("std::pmr::")) equal.clear();
        return hash(of_element(argument(a, 0)), hasher, equal, a, says_multi(leaf.name), evidence::inside);
    }
    if (name == "__shared_ptr") return simple(family::shared, "shared_ptr", argument(a, 0));
    if (name == "_Sp_counted_ptr" || name == "__shared_ptr_pointer" || name == "__shared_count") {
        std::string element = name == "__shared_count" ? argument(arguments_of(leaf), 0) : argument(a, 0);
        if (element.ends_with('*')) element.pop_back();
        if (element.empty()) return std::nullopt;
        return simple(family::shared, "shared_ptr", element);
    }
    if (name == "_Function_handler") return simple(family::function, "function", argument(a, 0));
    if (name == "__value_func" || name == "__policy_func") return simple(family::function, "function", argument(a, 0));
    if (name == "__func" && a.size() > 1) return simple(family::function, "function", a.back());
    if (name == "_Base_manager") return container_hint{family::function, evidence::node, "", "std::function"};
    if (name == "_Manager_external" || name == "_LargeHandler" || name == "_Manager")
        return container_hint{family::any, evidence::whole, "", "std::any"};
    if (name == "_Temporary_buffer") return simple(family::other, "get_temporary_buffer", argument(a, 1));
    if (name == "_Compiler" || name == "_NFA" || name == "_Executor" || name == "_Scanner" || name == "_NFA_base")
        return container_hint{family::other, evidence::node, "", "std::regex", false, true};
    return std::nullopt;
}

// Derives the container from a free function that makes an object for its caller.
std::optional<container_hint> from_maker(const name_part& leaf) {
    const std::string element = argument(arguments_of(leaf), 0);
    if (leaf.name == "to_string") return container_hint{family::string, evidence::node, "", "std::string"};
    if (element.empty()) return std::nullopt;
    if (leaf.name == "operator+" && (element == "char" || element == "wchar_t"))
        return container_hint{family::string, evidence::node, "", joined("basic_string", {element})};
    if (leaf.name == "make_shared" || leaf.name == "allocate_shared")
        return container_hint{family::shared, evidence::whole, comparable_type(element),
                              joined("shared_ptr", {element})};
    if (leaf.name.starts_with("make_unique"))
        return container_hint{family::other, evidence::whole, comparable_type(element),
                              joined("unique_ptr", {element})};
    if (leaf.name == "__valarray_get_storage" || leaf.name == "__valarray_get_memory")
        return container_hint{family::other, evidence::inside, comparable_type(element), joined("valarray", {element})};
    return std::nullopt;
}

bool allocates_nodes(std::string_view name) {
    return name.ends_with("new_allocator") || name == "allocator" || name == "allocator_traits" ||
           name == "polymorphic_allocator" || name == "__allocated_ptr" || name == "_Hashtable_alloc" ||
           name == "__allocate_guarded" || name == "__alloc_traits" || name == "__allocation_guard" ||
           name == "__uninitialized_copy" || name == "__allocate_at_least";
}

}  // namespace

std::optional<container_hint> sight(const std::string& function) {
    const part_list parts = split_demangled(function);
    if (parts.size() < 2 || (parts[0].name != "std" && parts[0].name != "__gnu_cxx")) return std::nullopt;
    const name_part& leaf = parts.back();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const name_part& part = parts[i];
        if (i + 1 < parts.size()) {
            if (auto found = from_whole(part, parts[i - 1].name, leaf)) return found;
            if (auto found = from_inside(part, leaf)) return found;
        }
        if (!allocates_nodes(part.name)) continue;
        std::string made = argument(arguments_of(part), 0);
        const bool pool = made.starts_with("std::pmr::");
        for (const std::string_view around : {"std::allocator", "std::pmr::polymorphic_allocator"}) {
            if (const auto inner = instance_of(made, around); inner && !inner->empty()) made = inner->front();
        }
        if (auto found = from_node(made)) {
            if (pool) found->type.replace(0, 5, "std::pmr::");
            return found;
        }
    }
    return from_maker(leaf);
}

bool is_primitive(const std::string& function) {
    constexpr std::array names{"allocate",
                               "_S_allocate",
                               "_M_allocate",
                               "_M_get_node",
                               "_M_allocate_node",
                               "_M_allocate_map",
                               "_M_allocate_buckets",
                               "_M_create_storage",
                               "_M_allocate_internal_buffer"};
    const part_list parts = split_demangled(function);
    if (parts.size() < 2) return false;
    for (const std::string_view name : names) {
        if (parts.back().name == name) return true;
    }
    return allocates_nodes(parts[parts.size() - 2].name);
}

bool is_written_by_users(std::string_view name) {
    constexpr std::array names{"vector",
                               "deque",
                               "list",
                               "forward_list",
                               "map",
                               "multimap",
                               "set",
                               "multiset",
                               "unordered_map",
                               "unordered_multimap",
                               "unordered_set",
                               "unordered_multiset",
                               "basic_string",
                               "stack",
                               "queue",
                               "priority_queue",
                               "shared_ptr",
                               "function",
                               "move_only_function",
                               "any",
                               "valarray",
                               "promise",
                               "packaged_task",
                               "thread",
                               "jthread",
                               "basic_regex",
                               "basic_stringbuf",
                               "basic_stringstream",
                               "basic_ostringstream",
                               "basic_istringstream",
                               "basic_filebuf",
                               "basic_fstream",
                               "basic_ofstream",
                               "basic_ifstream",
                               "path"};
    for (const std::string_view one : names) {
        if (one == name) return true;
    }
    return false;
}

}  // namespace millpond::symbols
