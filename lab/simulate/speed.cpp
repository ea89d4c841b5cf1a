// SPDX-License-Identifier: BSL-1.0
// Runs the rounds under the CPU clock.
#include "lab/simulate/speed.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "lab/measure/clocks.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/simulate/running_simulation.hpp"

namespace millpond::simulate {
namespace {

using program::json;

std::vector<millpond_reference> read_some(reference_source& source, std::size_t most) {
    std::vector<millpond_reference> kept;
    kept.reserve(most);
    for (reference_batch batch; kept.size() < most && source.next(batch);)
        kept.insert(kept.end(), batch.references, batch.references + std::min(batch.count, most - kept.size()));
    return kept;
}

json one_speed(const std::vector<millpond_reference>& references, const std::vector<std::string>& descriptions,
               const millpond_rules& rules, unsigned rounds, const std::string& name) {
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds; ++round) {
        const running_simulation simulation(rules, descriptions);
        const double begin = measure::process_cpu_seconds();
        millpond_simulation_take(simulation.get(), references.data(), references.size(), 0);
        seconds.push_back(measure::process_cpu_seconds() - begin);
    }
    std::sort(seconds.begin(), seconds.end());
    const auto count = static_cast<double>(references.size());
    return program::json_object({{"simulator", name},
                                 {"metric", "references_per_second"},
                                 {"unit", "1/s"},
                                 {"value", count / seconds[seconds.size() / 2]},
                                 {"low", count / seconds.back()},
                                 {"high", count / seconds.front()},
                                 {"rounds", rounds}});
}

}  // namespace

json speed_json(reference_source& source, const std::vector<std::string>& descriptions, const millpond_rules& rules,
                const speed_request& request) {
    const std::vector<millpond_reference> references = read_some(source, request.references_max);
    if (references.empty()) throw program::failure(program::input, "there are no references to measure with");
    json speeds = json::array();
    for (const std::string& description : descriptions)
        speeds.push_back(one_speed(references, {description}, rules, request.rounds, description));
    if (descriptions.size() > 1)
        speeds.push_back(one_speed(references, descriptions, rules, request.rounds, "all together"));
    return program::json_object(
        {{"schema", "millpond.simulation_speed/1"}, {"references", references.size()}, {"speeds", speeds}});
}

std::string speed_table(const json& speeds) {
    std::string text = program::json_text(speeds["references"]) +
                       " references in memory; millions of references per second of CPU time\n";
    for (const json& speed : speeds["speeds"]) {
        std::array<char, 200> line{};
        std::snprintf(line.data(), line.size(), "  %-56s %8.1f  (%.1f to %.1f)\n",
                      speed["simulator"].get<std::string>().c_str(), speed["value"].get<double>() / 1e6,
                      speed["low"].get<double>() / 1e6, speed["high"].get<double>() / 1e6);
        text += line.data();
    }
    return text;
}

}  // namespace millpond::simulate
