// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/container_name.hpp"

#include <string_view>
#include <vector>

#include "lab/symbols/container_sighting.hpp"
#include "lab/symbols/demangled_name.hpp"

namespace millpond::symbols {
namespace {

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool is_same_container(const sighting& inner, const sighting& outer) {
    if (inner.kind == family::other && outer.kind == family::other && inner.type == outer.type) return true;
    // A pointer to a base is made of a pointer to the object.
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

// What a user has of the shared states behind futures.
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

void refine(sighting& known, const sighting& more) {
    const bool is_pool = known.type.starts_with("std::pmr::");
    const bool is_multi = contains(more.type, "multi") && !contains(known.type, "multi");
    const bool says_more = is_multi || (more.type.starts_with("std::pmr::") && !is_pool);
    if (more.surrounds || more.strength > known.strength || (more.strength == known.strength && says_more))
        known = more;
}

}  // namespace

std::optional<container_name> name_container(std::span<const std::string> functions) {
    std::optional<sighting> own, around;
    for (const std::string& function : functions) {
        std::optional<sighting> seen = sight(function);
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

}  // namespace millpond::symbols
