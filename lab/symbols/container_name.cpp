// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/container_name.hpp"

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "lab/symbols/container_sighting.hpp"
#include "lab/symbols/contains.hpp"
#include "lab/symbols/demangled_name.hpp"

namespace millpond::symbols {
namespace {

bool is_same_container(const container_hint& inner, const container_hint& outer) {
    if (inner.kind == family::other && outer.kind == family::other && inner.type == outer.type) return true;
    // A pointer to a base may be made from a pointer to the object.
    if (inner.kind == family::shared && outer.kind == family::shared && inner.strength != evidence::whole) return true;
    if (inner.kind == outer.kind && inner.kind != family::other)
        return inner.elements == outer.elements || inner.elements.empty() || outer.elements.empty();
    if (!outer.surrounds) {
        // libc++'s deque grows its map of blocks in a buffer of pointers.
        return inner.kind == family::vector && inner.strength == evidence::node && outer.kind == family::deque &&
               inner.elements == outer.elements + "*";
    }
    if (outer.type.starts_with("std::regex")) return true;
    if (outer.type == "std::filesystem::path" || contains(outer.type, "stream"))
        return inner.kind == family::string || inner.kind == family::other;
    if (contains(inner.type, "__future_base")) return true;
    return inner.elements == outer.elements;  // std::stack, std::queue, std::priority_queue
}

// Returns the future or promise that a user has for such a shared state.
std::string of_future(const std::string& type) {
    const auto last_of = [&](std::string_view state) -> std::string {
        const std::size_t at = type.find(state);
        if (at == std::string::npos) return {};
        const std::size_t open = at + state.size() - 1;
        const std::vector<std::string_view> arguments =
            split_arguments(std::string_view(type).substr(open, skip_brackets(type, open) - open));
        return arguments.empty() ? std::string() : std::string(arguments.back());
    };
    for (const std::string_view state : {"_Deferred_state<", "_Async_state_impl<", "__deferred_assoc_state<"}) {
        if (const std::string result = last_of(state); !result.empty())
            return written_type("std::future<" + result + ">");
    }
    if (const std::string result = last_of("__future_base::_Result<"); !result.empty())
        return written_type("std::promise<" + result + ">");
    return {};
}

void refine(container_hint& known, const container_hint& more) {
    const bool is_pool = known.type.starts_with("std::pmr::");
    const bool is_multi = contains(more.type, "multi") && !contains(known.type, "multi");
    const bool says_more = is_multi || (more.type.starts_with("std::pmr::") && !is_pool);
    if (more.surrounds || more.strength > known.strength || (more.strength == known.strength && says_more))
        known = more;
}

// Rewrites a type whose defaulted arguments were removed.
std::string rewrite(std::string_view type) {
    std::string written;
    for (std::size_t at = 0; at < type.size();) {
        if (type[at] != '<') {
            written += type[at++];
            continue;
        }
        const std::size_t end = skip_brackets(type, at);
        std::vector<std::string> arguments;
        for (const std::string_view one : split_arguments(type.substr(at, end - at))) arguments.push_back(rewrite(one));
        bool pool = false;
        const std::size_t scope = written.rfind("std::");
        if (scope != std::string::npos && is_written_by_users(std::string_view(written).substr(scope + 5)) &&
            arguments.size() > 1 && arguments.back().starts_with("std::pmr::polymorphic_allocator")) {
            arguments.pop_back();
            pool = true;
        }
        if (written.ends_with("priority_queue") && arguments.size() == 2 &&
            arguments[1] == "std::vector<" + arguments[0] + ">")
            arguments.pop_back();
        std::string bracketed = "<";
        for (std::size_t i = 0; i < arguments.size(); ++i) bracketed += (i > 0 ? ", " : "") + arguments[i];
        // Drop the library's defaults by the one function that knows them.
        std::string tidied = tidy_type((scope == std::string::npos ? written : written.substr(scope)) + bracketed +
                                       (bracketed == "<" ? "" : ">"));
        if (bracketed == "<") tidied += ">";
        if (scope != std::string::npos)
            written.resize(scope);
        else
            written.clear();
        if (pool) tidied.insert(5, "pmr::");
        for (const std::string_view stream : {"stringstream", "ostringstream", "istringstream", "fstream", "ofstream",
                                              "ifstream", "stringbuf", "regex"}) {
            if (tidied.starts_with("std::basic_" + std::string(stream) + "<char"))
                tidied = "std::" + std::string(stream);
        }
        for (const auto& [longer, shorter] : std::array<std::pair<std::string_view, std::string_view>, 2>{
                 {{"std::pmr::basic_string<char>", "std::pmr::string"},
                  {"std::pmr::basic_string<wchar_t>", "std::pmr::wstring"}}}) {
            if (tidied == longer) tidied = shorter;
        }
        written += tidied;
        at = end;
    }
    return tidy_type(written);
}

// Returns the kind of a stream: streams of one kind share their buffers. Empty for other types.
std::string_view stream_kind(std::string_view type) {
    if (!type.starts_with("std::")) return {};
    for (const std::string_view kind : {"stringstream", "fstream"}) {
        if (type.ends_with(kind)) return kind;
    }
    return {};
}

}  // namespace

std::optional<container_name> name_container(std::span<const std::string> functions) {
    std::optional<container_hint> own, around;
    for (const std::string& function : functions) {
        std::optional<container_hint> seen = sight(function);
        const bool primitive = is_primitive(function);
        if (!seen) {
            if (own && !primitive) own->primitive = false;
            continue;
        }
        seen->primitive = primitive;
        const bool same = own && is_same_container(*own, *seen);
        if (!own || (!around && own->primitive && !same && !primitive)) {
            own = seen;
            own->primitive = primitive;
            continue;
        }
        if (!around && !primitive) own->primitive = false;
        if (!around && own->primitive && !same)
            own = seen;
        else if (!around && is_same_container(*own, *seen))
            refine(*own, *seen);
        else if (!around)
            around = seen;
        else if (is_same_container(*around, *seen))
            refine(*around, *seen);
        else
            break;
    }
    if (!own) return std::nullopt;
    if (std::string future = of_future(own->type); !future.empty()) own->type = std::move(future);
    return container_name{own->type, around ? around->type : std::string()};
}

std::string written_type(std::string_view type) {
    std::string written = rewrite(tidy_type(type));
    // With -gsimple-template-names, the name of a class has no arguments; streams of char are assumed.
    if (written.starts_with("std::basic_") && written.ends_with("stream")) written.erase(5, 6);
    // `int ()` is written `int()`, and `int []` is written `int[]`.
    for (std::size_t at = written.find(" ["); at != std::string::npos; at = written.find(" [", at + 1))
        written.erase(at, 1);
    for (std::size_t at = written.find(" ("); at != std::string::npos; at = written.find(" (", at + 1)) {
        if (written.compare(at, 3, " (*") != 0 && written.compare(at, 3, " (&") != 0) written.erase(at, 1);
    }
    return written;
}

bool are_streams_of_one_kind(std::string_view a, std::string_view b) {
    const auto plain = [](std::string_view type) { return type == "std::ifstream" || type == "std::ofstream"; };
    if (plain(a)) a = "std::fstream";
    if (plain(b)) b = "std::fstream";
    return !stream_kind(a).empty() && stream_kind(a) == stream_kind(b);
}

bool is_adaptor_over(std::string_view adaptor, std::string_view container) {
    const auto elements = [](std::string_view type, std::string_view name) {
        if (!type.starts_with(name)) return std::string();
        const auto arguments = split_arguments(type.substr(name.size() - 1));
        return arguments.empty() ? std::string() : std::string(arguments.front());
    };
    for (const auto& [around, inside] :
         std::array<std::pair<std::string_view, std::string_view>, 3>{{{"std::queue<", "std::deque<"},
                                                                       {"std::stack<", "std::deque<"},
                                                                       {"std::priority_queue<", "std::vector<"}}}) {
        const std::string element = elements(adaptor, around);
        if (!element.empty() && element == elements(container, inside)) return true;
    }
    return false;
}

std::string comparable_type(std::string_view type) {
    std::string plain;
    for (std::size_t at = 0; at < type.size(); ++at) {
        const char letter = type[at];
        const bool begins =
            at == 0 || (std::isalnum(static_cast<unsigned char>(type[at - 1])) == 0 && type[at - 1] != '_');
        if (begins && type.substr(at, 5) == "const" &&
            (at + 5 == type.size() ||
             (std::isalnum(static_cast<unsigned char>(type[at + 5])) == 0 && type[at + 5] != '_'))) {
            at += 4;
            continue;
        }
        if (letter == ' ') continue;
        const bool after_digit = !plain.empty() && std::isdigit(static_cast<unsigned char>(plain.back())) != 0;
        const bool ends = at + 1 == type.size() || type[at + 1] == ',' || type[at + 1] == '>' || type[at + 1] == 'l';
        if (after_digit && ends && (letter == 'u' || letter == 'l')) continue;
        plain += letter;
    }
    return plain;
}

}  // namespace millpond::symbols
