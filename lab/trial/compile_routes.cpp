// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/compile_routes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "lab/plan/near_names.hpp"
#include "lab/program/crc32.hpp"
#include "lab/program/program.hpp"
#include "lab/symbols/module_functions.hpp"
#include "lab/trial/routes.hpp"
#include "preload/machine.hpp"
#include "preload/word_position.hpp"

namespace millpond::trial {
namespace {

constexpr std::uint64_t padding_bytes_max = 15;  // between functions: no return address lies there

pool_kind kind_of(const plan::route& route) {
    switch (route.allocator) {
        case plan::strategy::multipool:
            return route.instances.empty() ? pool_kind::one_thread : pool_kind::instances;
        case plan::strategy::synchronized_multipool:
            return pool_kind::shared;
        case plan::strategy::monotonic:
            break;
    }
    if (route.scope.kind == plan::scope_kind::thread) return pool_kind::thread_arenas;
    if (route.scope.kind == plan::scope_kind::phase || !route.scope.observed) return pool_kind::arenas;
    return route.scope.outermost ? pool_kind::outermost_arenas : pool_kind::call_arenas;
}

class compiler {
  public:
    explicit compiler(const plan::plan& compiled) : plan_(compiled) {
        strings_.push_back('\0');
        const std::vector<std::string> names = plan_.pools();
        for (const plan::route& route : plan_.routes) {
            const auto found = std::find(names.begin(), names.end(), route.pool) - names.begin();
            const auto pool = static_cast<std::uint16_t>(found + 1);
            if (pools_.size() < pool) {
                pools_.push_back({intern(route.pool), kind_of(route), route.huge_pages});
                if (has_arena_of_call(pools_.back().kind)) pools_of_call_.emplace(route.scope.function, found);
            }
            for (const plan::instance_key& key : route.instances) keys_of_[key.module].push_back({key, pool});
            for (const std::string& subsystem : route.subsystems) {
                if (subsystem == plan::plan::everything_else)
                    pool_of_others_ = pool;
                else
                    pool_of_[subsystem] = pool;
            }
        }
    }

    // Adds the special subsystems, for code that has no function.
    void add_special_subsystems() {
        pool_of_generated_ = pool_for("[generated code]");
        pool_of_unknown_ = pool_for("[unknown]");
    }

    void add(const surveyed_module& module) {
        // The preloaded library itself is never the caller of an allocation.
        if (module.path.find("/libmillpond-") != std::string::npos) return;
        const symbols::module_functions functions = open(module);
        route_module& added = modules_.emplace_back();
        added.build_id_hash = module.build_id.empty() ? 0 : routes_hash(module.build_id.c_str());
        added.build_id = intern(module.build_id);
        added.path = intern(module.path);
        add_keys(module.build_id.empty() ? module.path : module.build_id);
        added.first_range = static_cast<std::uint32_t>(ranges_.size());
        added.pool = pool_for(functions.name());
        added.standard = symbols::is_standard_module(module.path);
        for (const symbols::function& function : functions.all()) {
            add(function, added.first_range);
            if (function.entry) add_scopes(function);
        }
        added.range_count = static_cast<std::uint32_t>(ranges_.size()) - added.first_range;
    }

    // Adds the module's subsystems that no earlier module has. They wait until it is loaded.
    void add_later(const surveyed_module& module, std::vector<waiting_subsystem>& waiting) {
        std::set<std::string> before;
        before.swap(names_);
        const auto number = static_cast<std::uint32_t>(modules_.size());
        add(module);
        for (const auto& [subsystem, pool] : pool_of_)
            if (names_.contains(subsystem) && !before.contains(subsystem))
                waiting.push_back({subsystem, module.path, number});
        names_.merge(before);
    }

    [[nodiscard]] bool has(const surveyed_module& module) const {
        const auto text = [this](std::uint32_t at) { return std::string(strings_.data() + at); };
        return std::any_of(modules_.begin(), modules_.end(), [&](const route_module& m) {
            return module.build_id.empty() ? text(m.path) == module.path : text(m.build_id) == module.build_id;
        });
    }

    [[nodiscard]] std::vector<std::string> unknown_names() const {
        std::vector<std::string> result;
        for (const auto& [subsystem, pool] : pool_of_)
            if (!names_.contains(subsystem)) result.push_back(subsystem);
        return result;
    }

    void check_names() const {
        const std::vector<std::string> known(names_.begin(), names_.end());
        for (const std::string& subsystem : unknown_names()) {
            std::string message = "no function of the program's modules belongs to the subsystem \"" + subsystem + "\"";
            const std::vector<std::string> near = plan::near_names(subsystem, known);
            for (const std::string& name : near)
                message += (name == near.front() ? "; near it: \"" : ", \"") + name + "\"";
            throw program::failure(program::usage, message);
        }
    }

    std::string content() {
        routes_header header{};
        header.magic = routes_header::magic_value;
        header.version = routes_header::version_value;
        header.program_build_id = intern(plan_.program.build_id);
        header.program_path = intern(plan_.program.path);
        header.pool_count = static_cast<std::uint32_t>(pools_.size());
        header.module_count = static_cast<std::uint32_t>(modules_.size());
        header.range_count = static_cast<std::uint32_t>(ranges_.size());
        header.other_modules_pool = pool_of_others_;
        header.generated_pool = pool_of_generated_;
        header.unknown_pool = pool_of_unknown_;
        header.scope_count = static_cast<std::uint32_t>(scopes_.size());
        header.key_count = static_cast<std::uint32_t>(keys_.size());
        header.string_bytes = static_cast<std::uint32_t>(strings_.size());
        std::string parts;
        header.pools_at = append(parts, pools_);
        header.modules_at = append(parts, modules_);
        header.ranges_at = append(parts, ranges_);
        header.scopes_at = append(parts, scopes_);
        header.keys_at = append(parts, keys_);
        header.strings_at = append(parts, strings_);
        header.bytes = sizeof header + parts.size();
        if (header.bytes > std::numeric_limits<std::uint32_t>::max())
            throw program::failure(program::environment, "the program has too many functions for a file of routes");
        const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
        program::crc32 sum;
        sum.add(head);
        sum.add(parts);
        header.checksum = sum.value();
        return std::string(head) + parts;
    }

  private:
    static symbols::module_functions open(const surveyed_module& module) {
        try {
            symbols::module_functions functions(module.path);
            if (functions.build_id() == module.build_id) return functions;
            throw std::runtime_error("has changed since the survey (build-id " + functions.build_id() + ", was " +
                                     module.build_id + "); survey the program again");
        } catch (const std::runtime_error& error) {
            throw program::failure(program::input, module.path + ": " + error.what());
        }
    }

    std::uint16_t pool_for(const std::string& owner) {
        names_.insert(owner);
        const auto found = pool_of_.find(owner);
        return found != pool_of_.end() ? found->second : pool_of_others_;
    }

    void add(const symbols::function& function, std::size_t first_range) {
        const frame_role role = function.allocation ? frame_role::allocation
                                : function.standard ? frame_role::standard
                                                    : frame_role::owner;
        const std::uint16_t pool = role == frame_role::standard ? std::uint16_t{0} : pool_for(function.owner);
        if (ranges_.size() > first_range) {
            route_range& last = ranges_.back();
            const std::uint64_t joined = function.past - last.first;
            const bool adjacent = function.first - (last.first + last.bytes) <= padding_bytes_max;
            if (adjacent && last.pool == pool && last.role == role &&
                joined <= std::numeric_limits<std::uint32_t>::max()) {
                last.bytes = static_cast<std::uint32_t>(joined);
                return;
            }
        }
        const std::uint64_t bytes = std::min<std::uint64_t>(function.past - function.first, 0xffff'ffffu);
        ranges_.push_back({function.first, static_cast<std::uint32_t>(bytes), pool, role});
    }

    void add_scopes(const symbols::function& function) {
        const auto [first, last] = pools_of_call_.equal_range(function.name);
        for (auto each = first; each != last; ++each)
            scopes_.push_back({function.first, static_cast<std::uint32_t>(modules_.size() - 1), each->second});
    }

    void add_keys(const std::string& module) {
        for (const auto& [key, pool] : keys_of_[module])
            keys_.push_back({key.address, static_cast<std::uint32_t>(modules_.size() - 1), pool,
                             static_cast<std::uint16_t>(preload::word_position::of_name(key.word))});
    }

    std::uint32_t intern(const std::string& text) {
        const auto at = static_cast<std::uint32_t>(strings_.size());
        strings_.insert(strings_.end(), text.begin(), text.end());
        strings_.push_back('\0');
        return at;
    }

    template <class T>
    static std::uint32_t append(std::string& parts, const std::vector<T>& values) {
        while ((sizeof(routes_header) + parts.size()) % 8 != 0) parts.push_back('\0');
        const std::size_t at = sizeof(routes_header) + parts.size();
        parts.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        return static_cast<std::uint32_t>(at);
    }

    const plan::plan& plan_;
    std::map<std::string, std::uint16_t> pool_of_;
    std::multimap<std::string, std::uint32_t> pools_of_call_;  // by function; counted from 0
    std::uint16_t pool_of_others_ = 0, pool_of_generated_ = 0, pool_of_unknown_ = 0;
    std::set<std::string> names_;
    std::vector<route_pool> pools_;
    std::vector<route_module> modules_;
    std::vector<route_range> ranges_;
    std::vector<route_scope_entry> scopes_;
    struct keyed_pool {
        plan::instance_key key;
        std::uint16_t pool;  // counted from 1
    };
    std::map<std::string, std::vector<keyed_pool>> keys_of_;  // by module
    std::vector<route_instance_key> keys_;
    std::vector<char> strings_;
};

[[noreturn]] void refuse_program(const plan::plan& compiled, const std::vector<std::string>& others) {
    std::string ran;
    for (const std::string& other : others) ran += (ran.empty() ? "; what ran: " : ", ") + other;
    if (others.empty()) ran = "; no process of this run could be tried: is the program static or set-uid?";
    const std::string what = compiled.program.known()
                                 ? "the plan belongs to " + compiled.program.described() + ", which did not run"
                                 : "the plan does not say to which program it belongs: program.path and "
                                   "program.build_id are empty";
    throw program::failure(program::input, what + ran);
}

// Returns the modules of every process that runs the plan's program.
std::vector<surveyed_module> modules_of(const plan::plan& compiled, const survey& surveyed) {
    std::vector<surveyed_module> result;
    std::vector<std::string> others;
    bool found = false;
    for (const surveyed_process& process : surveyed.processes) {
        const bool same = compiled.program.build_id.empty() ? process.program.path == compiled.program.path
                                                            : process.program.build_id == compiled.program.build_id;
        if (!same || !compiled.program.known()) {
            const std::string described =
                plan::program_identity{process.program.path, process.program.build_id}.described();
            if (std::find(others.begin(), others.end(), described) == others.end()) others.push_back(described);
            continue;
        }
        found = true;
        for (const surveyed_module& module : process.modules) {
            const auto known = [&](const surveyed_module& m) {
                return m.path == module.path && m.build_id == module.build_id;
            };
            if (std::none_of(result.begin(), result.end(), known)) result.push_back(module);
        }
    }
    if (!found) refuse_program(compiled, others);
    return result;
}

void refuse_on_other_machines(const plan::plan& compiled) {
    using preload::machine::has_probes, preload::machine::keeps_registers;
    for (const plan::route& route : compiled.routes) {
        if (!has_probes && has_arena_of_call(kind_of(route)))
            throw program::failure(program::environment,
                                   "the pool '" + route.pool + "' is for each call of a function: x86-64 only");
        if (!keeps_registers && !route.instances.empty())
            throw program::failure(program::environment,
                                   "the pool '" + route.pool + "' is for each instance of a type: x86-64 only");
    }
}

}  // namespace

std::string compile_routes(const plan::plan& compiled, const survey& surveyed) {
    return compile_routes(compiled, surveyed, {}, true).content;
}

compiled_routes compile_routes(const plan::plan& compiled, const survey& surveyed,
                               const std::vector<surveyed_module>& later, bool is_complete) {
    refuse_on_other_machines(compiled);
    compiler all(compiled);
    compiled_routes result;
    all.add_special_subsystems();
    for (const surveyed_module& module : modules_of(compiled, surveyed)) all.add(module);
    for (const surveyed_module& module : later)
        if (!all.has(module)) all.add_later(module, result.waiting);
    if (is_complete) all.check_names();
    result.unknown = all.unknown_names();
    result.content = all.content();
    return result;
}

}  // namespace millpond::trial
