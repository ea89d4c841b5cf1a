// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>
#include <system_error>

#include "lab/plan/json_seal.hpp"
#include "lab/plan/strict_json.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "preload/word_position.hpp"

namespace millpond::plan {
namespace {

using program::json;

constexpr std::size_t file_bytes_max = 16u << 20;
constexpr const char* advice = "; `millpond trace show TRACE -o plans/` writes plans";

// Reads members and words errors: "FILE: routes[2].pool is missing".
class fields {
  public:
    fields(const json& object, std::string file, std::string prefix)
        : object_(object), file_(std::move(file)), prefix_(std::move(prefix)) {}

    [[noreturn]] void fail(const std::string& field, const std::string& what,
                           program::exit_status status = program::input) const {
        throw program::failure(status, file_ + ": " + prefix_ + field + " " + what);
    }
    const json& member(const char* name, json::kind type, const char* type_name) const {
        const json* const found = object_.member(name);
        if (found == nullptr) fail(name, "is missing");
        if (found->type() != type) fail(name, std::string("must be ") + type_name + ", not " + found->type_name());
        return *found;
    }
    std::string text(const char* name) const {
        const std::string& found = member(name, json::kind::text, "a string").text();
        if (found.find('\0') != std::string::npos) fail(name, "must not hold a zero character: no name has one");
        return found;
    }

  private:
    const json& object_;
    std::string file_, prefix_;
};

std::vector<std::string> read_subsystems(const fields& at) {
    std::vector<std::string> result;
    for (const json& name : at.member("subsystems", json::kind::array, "an array of strings")) {
        const std::string here = "subsystems[" + std::to_string(result.size()) + "]";
        if (!name.is_string()) at.fail(here, std::string("must be a string, not ") + name.type_name());
        const auto& text = name.text();
        if (text.empty()) at.fail(here, "must not be empty");
        if (text.find('\0') != std::string::npos) at.fail(here, "must not hold a zero character: no name has one");
        result.push_back(text);
    }
    if (result.empty()) at.fail("subsystems", "must name at least one subsystem, or \"*\" for all others");
    return result;
}

route_scope read_function_scope(const fields& route, const fields& at, const json& value) {
    for (const auto& [name, ignored] : value.items())
        if (name != "function" && name != "outermost" && name != "observed")
            route.fail("scope", "has the member " + quoted(name) + " besides function; there are: outermost, observed");
    const auto flag = [&](const char* name, bool otherwise) {
        return value.contains(name) ? at.member(name, json::kind::boolean, "true or false").get<bool>() : otherwise;
    };
    const std::string function = at.text("function");
    if (function.empty()) at.fail("function", "must not be empty");
    return {scope_kind::function, function, flag("outermost", false), flag("observed", true)};
}

route_scope read_scope(const fields& route, const std::string& file, const std::string& prefix) {
    const json& value = route.member("scope", json::kind::object, "an object");
    const fields at(value, file, prefix);
    if (value.contains("function")) return read_function_scope(route, at, value);
    if (value.size() != 1) route.fail("scope", "must have one of: function, thread, phase");
    const std::string& kind = value.items().front().name;
    if (kind != "thread" && kind != "phase")
        route.fail("scope", "has the member " + quoted(kind) + "; there are: function, thread, phase");
    if (!at.member(kind.c_str(), json::kind::boolean, "true").get<bool>()) at.fail(kind, "must be true");
    return {.kind = kind == "thread" ? scope_kind::thread : scope_kind::phase, .function = ""};
}

std::vector<instance_key> read_instances(const fields& route, const std::string& file, const std::string& prefix) {
    std::vector<instance_key> result;
    for (const json& value : route.member("instances", json::kind::array, "an array of objects")) {
        const std::string here = "instances[" + std::to_string(result.size()) + "]";
        if (!value.is_object()) route.fail(here, std::string("must be an object, not ") + value.type_name());
        const fields at(value, file, prefix + here + ".");
        instance_key key{at.text("module"), 0, at.text("word")};
        const std::string address = at.text("address");
        const auto [end, error] = std::from_chars(address.data(), address.data() + address.size(), key.address, 16);
        if (error != std::errc{} || end != address.data() + address.size())
            at.fail("address", "must be an address of the module's file in hex digits, such as \"1a40\"");
        if (preload::word_position::of_name(key.word) == preload::word_position::count)
            at.fail("word", millpond::plan::quoted(key.word) +
                                " is not one of rbx, rbp, r12, r13, r14, r15, stack+0, stack+8, … stack+192");
        result.push_back(std::move(key));
    }
    if (result.empty()) route.fail("instances", "must say for at least one call site where the owner is");
    return result;
}

json instances_json(const std::vector<instance_key>& keys) {
    json result = json::array();
    for (const instance_key& key : keys) {
        char address[20];
        std::snprintf(address, sizeof address, "%llx", static_cast<unsigned long long>(key.address));
        result.push_back(program::json_object({{"module", key.module}, {"address", address}, {"word", key.word}}));
    }
    return result;
}

json scope_json(const route_scope& scope) {
    if (scope.kind == scope_kind::function) {
        json result = program::json_object({{"function", scope.function}});
        if (scope.outermost) result["outermost"] = true;
        if (!scope.observed) result["observed"] = false;
        return result;
    }
    return program::json_object({{scope.kind == scope_kind::thread ? "thread" : "phase", true}});
}

route read_route(const json& value, const std::string& file, std::size_t index) {
    const std::string prefix = "routes[" + std::to_string(index) + "]";
    if (!value.is_object())
        throw program::failure(program::input, file + ": " + prefix + " must be an object, not " + value.type_name());
    const fields at(value, file, prefix + ".");
    for (const auto& [name, ignored] : value.items()) {
        static const std::set<std::string> known = {"subsystems", "pool",  "strategy",
                                                    "huge_pages", "scope", "instances"};
        const std::string shown = quoted(name);
        if (!known.contains(name))
            at.fail(shown.substr(1, shown.size() - 2),
                    "is not a member of a route (subsystems, pool, strategy, huge_pages, scope, instances)");
    }
    route result;
    result.subsystems = read_subsystems(at);
    result.pool = at.text("pool");
    if (result.pool.empty()) at.fail("pool", "must not be empty");
    const std::string name = at.text("strategy");
    const auto found = strategy_of(name);
    if (!found)
        at.fail("strategy", quoted(name) + " is not a strategy that can be tried; there are: " + strategies_accepted(),
                program::usage);
    result.allocator = *found;
    // A missing member means no, the default of a plan.
    if (value.contains("huge_pages"))
        result.huge_pages = at.member("huge_pages", json::kind::boolean, "true or false").get<bool>();
    if (value.contains("scope")) result.scope = read_scope(at, file, prefix + ".scope.");
    if (result.allocator == strategy::monotonic && result.scope.kind == scope_kind::none)
        at.fail("scope", "is missing: a monotonic needs {\"function\": NAME}, {\"thread\": true} or {\"phase\": true}");
    if (result.allocator != strategy::monotonic && result.scope.kind != scope_kind::none)
        at.fail("scope", "is for the strategy monotonic only");
    if (value.contains("instances")) {
        if (result.allocator != strategy::multipool) at.fail("instances", "is for the strategy multipool only");
        result.instances = read_instances(at, file, prefix + ".");
    }
    return result;
}

program_identity read_identity(const fields& at) {
    const program_identity result{at.text("path"), at.text("build_id")};
    if (!std::all_of(result.build_id.begin(), result.build_id.end(),
                     [](unsigned char c) { return std::isdigit(c) || (c >= 'a' && c <= 'f'); }))
        at.fail("build_id", "must be hex digits in lower case");
    return result;
}

// Checks the rules between routes: one pool for each subsystem, one strategy for each pool.
void check_together(const plan& checked, const std::string& file) {
    std::map<std::string, std::size_t> route_of_subsystem;
    std::map<std::string, std::size_t> route_of_pool;
    for (std::size_t i = 0; i < checked.routes.size(); ++i) {
        const route& here = checked.routes[i];
        const std::string prefix = file + ": routes[" + std::to_string(i) + "].";
        for (const std::string& subsystem : here.subsystems) {
            const auto [found, fresh] = route_of_subsystem.emplace(subsystem, i);
            if (!fresh)
                throw program::failure(program::input, prefix + "subsystems names " + quoted(subsystem) +
                                                           ", which routes[" + std::to_string(found->second) +
                                                           "] routes already");
        }
        const auto [found, fresh] = route_of_pool.emplace(here.pool, i);
        const route& first = checked.routes[found->second];
        if (first.allocator != here.allocator || first.huge_pages != here.huge_pages || first.scope != here.scope ||
            first.instances != here.instances)
            throw program::failure(program::input,
                                   prefix + "pool " + quoted(here.pool) +
                                       " has another strategy, huge_pages, scope or instances than in routes[" +
                                       std::to_string(found->second) + "]");
    }
    if (route_of_pool.size() > plan::pools_max)
        throw program::failure(program::input, file + ": routes name " + std::to_string(route_of_pool.size()) +
                                                   " pools, and at most " + std::to_string(plan::pools_max) +
                                                   " can be tried");
}

}  // namespace

std::string program_identity::described() const {
    if (path.empty() && build_id.empty()) return "a program that could not be identified";
    if (path.empty()) return "the program of build " + build_id;
    return build_id.empty() ? path + " (without a build-id)" : path + " of build " + build_id;
}

std::vector<std::string> plan::pools() const {
    std::vector<std::string> result;
    for (const route& r : routes)
        if (std::find(result.begin(), result.end(), r.pool) == result.end()) result.push_back(r.pool);
    return result;
}

plan parse_plan(const std::string& text, const std::string& name_for_messages) {
    const std::string& file = name_for_messages;
    json root;
    try {
        root = parse_strict(text);
    } catch (const json_error& error) {
        throw program::failure(program::input, file + " is not a plan: " + error.what() + advice);
    }
    if (!root.is_object())
        throw program::failure(program::input,
                               file + " is not a plan: it must be an object, not " + root.type_name() + advice);
    // The checksum covers the text's own strings; those of `root` are bytes again.
    if (root.contains(seal_name) && seal_flaw(program::parse_json(text)) != nullptr)
        throw program::failure(program::input, file +
                                                   ": the plan was changed, or damaged, after it was written; delete "
                                                   "its member \"checksum\" if you changed it");
    const fields at(root, file, "");
    const std::string schema = at.text("schema");
    if (schema != plan::schema)
        at.fail("schema", "is " + quoted(schema) + ", and this version reads \"" + plan::schema + "\"");
    plan result;
    const fields program(at.member("program", json::kind::object, "an object"), file, "program.");
    result.program = read_identity(program);
    if (root.contains("libraries")) {
        const json& libraries = at.member("libraries", json::kind::array, "an array");
        for (std::size_t i = 0; i < libraries.size(); ++i) {
            const std::string place = "libraries[" + std::to_string(i) + "]";
            if (!libraries[i].is_object())
                at.fail(place, std::string("must be an object, not ") + libraries[i].type_name());
            result.libraries.push_back(read_identity(fields(libraries[i], file, place + ".")));
        }
    }
    const json& routes = at.member("routes", json::kind::array, "an array");
    for (std::size_t i = 0; i < routes.size(); ++i) result.routes.push_back(read_route(routes[i], file, i));
    check_together(result, file);
    return result;
}

plan read_plan(const std::string& path) {
    std::string text;
    try {
        text = program::read_regular(path, file_bytes_max);
    } catch (const program::failure& error) {
        throw program::failure(program::input, std::string("the plan ") + error.what() + advice);
    }
    return parse_plan(text, path);
}

std::string to_text(const plan& printed) {
    json root;
    root["schema"] = plan::schema;
    root["program"] = program::json_object({{"path", printed.program.path}, {"build_id", printed.program.build_id}});
    for (const program_identity& library : printed.libraries)
        root["libraries"].push_back(program::json_object({{"path", library.path}, {"build_id", library.build_id}}));
    root["routes"] = json::array();
    for (const route& r : printed.routes) {
        root["routes"].push_back(program::json_object({{"subsystems", r.subsystems},
                                                       {"pool", r.pool},
                                                       {"strategy", strategy_name(r.allocator)},
                                                       {"huge_pages", r.huge_pages}}));
        if (r.scope.kind != scope_kind::none) root["routes"].back()["scope"] = scope_json(r.scope);
        if (!r.instances.empty()) root["routes"].back()["instances"] = instances_json(r.instances);
    }
    return program::json_text(root) + "\n";
}

}  // namespace millpond::plan
