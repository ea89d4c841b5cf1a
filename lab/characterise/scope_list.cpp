// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/scope_list.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "lab/characterise/subsystem_json.hpp"
#include "lab/program/crc32.hpp"
#include "lab/symbols/debug_file.hpp"
#include "lab/symbols/module_functions.hpp"

namespace millpond::characterise {
namespace {

constexpr double share_of_bytes = 0.99;
constexpr std::size_t subsystems_min = 8;

// Chooses functions of the largest subsystems, in the order of need.
std::vector<std::uint32_t> choose(const characterisation& all) {
    std::vector<std::uint32_t> chosen;
    double bytes = 0;
    std::size_t subsystems = 0;
    const auto enough = share_of_bytes * static_cast<double>(all.counts().totals().bytes);
    for (const std::uint32_t s : all.order()) {
        for (const std::uint32_t f : legality_functions(all, s)) {
            if (chosen.size() < scope_list_max && std::find(chosen.begin(), chosen.end(), f) == chosen.end())
                chosen.push_back(f);
        }
        bytes += static_cast<double>(all.counts().subsystems()[s].bytes);
        if (++subsystems >= subsystems_min && bytes >= enough) break;
    }
    return chosen;
}

// Finds the entry address of a function from its frames.
class entries {
  public:
    explicit entries(const characterisation& all) : all_(all), modules_(all.reader().modules().size() + 1) {}

    // Returns "MODULE:ADDRESS"; empty if the frame lies in a part of the function without its entry.
    std::string of_frame(const trace::context_node& node) {
        if (node.module == 0 || node.module >= modules_.size()) return {};
        opened_module& module = modules_[node.module];
        const trace::module_record& record = all_.reader().modules()[node.module - 1];
        if (!module.tried) {
            module.tried = true;
            try {
                module.functions = std::make_unique<symbols::module_functions>(symbols::module_file(record.path));
            } catch (const std::runtime_error&) {
                return {};  // its frames have no names, either
            }
        }
        if (!module.functions) return {};
        const symbols::function* const f = module.functions->find(node.offset - 1);
        if (f == nullptr || !f->entry) return {};
        char address[32];
        std::snprintf(address, sizeof address, ":%llx", static_cast<unsigned long long>(f->first));
        return (record.build_id.empty() ? record.path : record.build_id) + address;
    }

  private:
    struct opened_module {
        bool tried = false;
        std::unique_ptr<symbols::module_functions> functions;
    };
    const characterisation& all_;
    std::vector<opened_module> modules_;
};

}  // namespace

std::string scope_list(const characterisation& all) {
    const std::vector<std::uint32_t> chosen = choose(all);
    std::unordered_map<std::uint32_t, std::set<std::string>> places;
    for (const std::uint32_t f : chosen) places[f];
    entries known(all);
    const symbols::context_functions& functions = all.functions();
    for (std::uint32_t i = 1; i < functions.node_count(); ++i) {
        const auto wanted = places.find(functions.function_of(i));
        if (wanted == places.end()) continue;
        if (const std::string place = known.of_frame(functions.node(i)); !place.empty()) wanted->second.insert(place);
    }
    std::string text;
    for (const std::uint32_t f : chosen) {
        for (const std::string& place : places[f]) {
            text += place;
            text += '\t';
            text += functions.function(f).name;
            text += '\n';
        }
    }
    char heading[40];
    std::snprintf(heading, sizeof heading, "millpond.scopes/1 crc32:%08x\n", program::crc32::of(text));
    return heading + text;
}

}  // namespace millpond::characterise
