// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/event_names.hpp"

#include <perfmon/pfmlib_perf_event.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "lab/measure/named_events.hpp"
#include "lab/plan/near_names.hpp"

namespace millpond::measure {
namespace {

constexpr std::size_t most_named = 6;  // in a message

template <class Info>
Info sized() noexcept {
    Info info;
    std::memset(&info, 0, sizeof info);
    info.size = sizeof info;
    return info;
}

// Effects: calls take(unit) for each processor that libpfm has tables for, present or not.
template <class Take>
void for_each_unit(Take take) {
    for (int at = 0; at < PFM_PMU_MAX; ++at) {
        auto unit = sized<pfm_pmu_info_t>();
        if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(at), &unit) == PFM_SUCCESS) take(unit);
    }
}

template <class Take>
void for_each_event(const pfm_pmu_info_t& of, Take take) {
    for (int at = of.first_event; at >= 0; at = pfm_get_event_next(at)) {
        auto found = sized<pfm_event_info_t>();
        if (pfm_get_event_info(at, PFM_OS_PERF_EVENT, &found) == PFM_SUCCESS && found.name != nullptr) take(found);
    }
}

std::vector<event_names::event_description> masks_of(const pfm_event_info_t& of) {
    std::vector<event_names::event_description> found;
    for (int at = 0; at < of.nattrs; ++at) {
        auto each = sized<pfm_event_attr_info_t>();
        if (pfm_get_event_attr_info(of.idx, at, PFM_OS_PERF_EVENT, &each) != PFM_SUCCESS) continue;
        if (each.type == PFM_ATTR_UMASK) found.push_back({each.name, each.desc != nullptr ? each.desc : ""});
    }
    return found;
}

struct encoding {
    int status = PFM_ERR_NOTFOUND;
    perf_event_attr as{};
    int index = -1;
    std::string full_name;
};

encoding encode(const std::string& name, int levels) {
    encoding result;
    char* full_name = nullptr;
    auto wanted = sized<pfm_perf_encode_arg_t>();
    wanted.attr = &result.as;
    wanted.fstr = &full_name;
    result.status = pfm_get_os_event_encoding(name.c_str(), levels, PFM_OS_PERF_EVENT, &wanted);
    result.index = wanted.idx;
    const std::unique_ptr<char, void (*)(void*)> owned(full_name, std::free);
    if (owned != nullptr) result.full_name = owned.get();
    return result;
}

// Counts user space, and for the kernel's own events also the kernel, unless the name says otherwise.
encoding encode(const std::string& name) {
    encoding result = encode(name, PFM_PLM0 | PFM_PLM3);
    return result.as.type == PERF_TYPE_SOFTWARE ? result : encode(name, PFM_PLM3);
}

// The kernel's own events exist on every machine. If libpfm was told the processor, it looks for bare names only in
// that processor's tables.
constexpr const char* kernel_prefix = "perf::";

encoding encode_anywhere(const std::string& name) {
    encoding found = encode(name);
    if (found.status != PFM_ERR_NOTFOUND || name.find("::") != name.npos) return found;
    encoding kernels = encode(kernel_prefix + name);
    return kernels.status == PFM_SUCCESS ? kernels : found;
}

known_event known_of(const encoding& found) {
    // libpfm sets the bit of the hypervisor only on processors for which it knows that modifier.
    const bool counts_hypervisor = found.full_name.find(":h=1") != found.full_name.npos;
    event of;
    of.type = found.as.type;
    of.config = found.as.config;
    of.config1 = found.as.config1;
    of.config2 = found.as.config2;
    of.excludes = static_cast<std::uint8_t>((found.as.exclude_user != 0 ? event::user : 0) |
                                            (found.as.exclude_kernel != 0 ? event::kernel : 0) |
                                            (counts_hypervisor ? 0 : event::hypervisor));
    return {of, found.full_name};
}

std::string listed(std::vector<std::string> names) {
    const bool more = names.size() > most_named;
    names.resize(std::min(names.size(), most_named));
    std::string text;
    for (const std::string& each : names) text.append(text.empty() ? "" : ", ").append(each);
    return more ? text + ", …" : text;
}

// Returns: the processors that have the event, by libpfm's short names. `name` has no processor in front.
std::vector<std::string> processors_of(const std::string& name) {
    std::vector<std::string> found;
    for_each_unit([&](const pfm_pmu_info_t& unit) {
        if (unit.is_present == 0 && encode(std::string(unit.name) + "::" + name).status == PFM_SUCCESS) {
            found.emplace_back(unit.name);
        }
    });
    return found;
}

// Returns names similar to an unknown one: events of this processor before those of others.
unknown_event not_found(const std::string& name) {
    const std::size_t prefix = name.find("::");
    const std::size_t start = prefix == name.npos ? 0 : prefix + 2;
    const std::string sought = name.substr(start, name.find(':', start) - start);
    std::vector<std::string> here, elsewhere;
    for (const named_event& each : named_events()) here.emplace_back(each.generic.name);
    for_each_unit([&](const pfm_pmu_info_t& unit) {
        for_each_event(unit, [&](const pfm_event_info_t& each) {
            (unit.is_present != 0 ? here : elsewhere).emplace_back(each.name);
        });
    });
    std::vector<std::string> near = plan::near_names(sought, here);
    if (near.empty()) near = plan::near_names(sought, elsewhere);
    return {"no event is called \"" + name + "\"" + (near.empty() ? "" : "; near it: " + listed(near))};
}

// Describes the error in a name whose event exists.
unknown_event malformed(const std::string& name, int status) {
    std::string what = "\"" + name + "\": " + pfm_strerror(status);
    const std::size_t start = name.find("::") == name.npos ? 0 : name.find("::") + 2;
    const std::size_t colon = name.find(':', start);
    const int index = pfm_find_event(name.substr(0, colon).c_str());
    auto found = sized<pfm_event_info_t>();
    if (index < 0 || pfm_get_event_info(index, PFM_OS_PERF_EVENT, &found) != PFM_SUCCESS) return {what};
    std::vector<std::string> masks;
    for (const event_names::event_description& each : masks_of(found)) masks.push_back(each.name);
    if (masks.empty()) return {what + "; this event has no unit masks"};
    const std::vector<std::string> near =
        colon == name.npos ? std::vector<std::string>{} : plan::near_names(name.substr(colon + 1), masks, most_named);
    return {what + (near.empty() ? "; its unit masks are " + listed(masks) : "; near it: " + listed(near))};
}

}  // namespace

event_names::event_names() {
    ::setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread
    const int status = pfm_initialize();
    if (status != PFM_SUCCESS) throw std::runtime_error(std::string("libpfm does not start: ") + pfm_strerror(status));
}

event_names::~event_names() { pfm_terminate(); }

event_names::meaning event_names::find(const std::string& name) const {
    const encoding found = encode_anywhere(name);
    if (found.status == PFM_SUCCESS) {
        if (found.full_name.starts_with(kernel_prefix)) return known_of(found);
        auto of = sized<pfm_event_info_t>();
        auto unit = sized<pfm_pmu_info_t>();
        if (pfm_get_event_info(found.index, PFM_OS_PERF_EVENT, &of) == PFM_SUCCESS &&
            pfm_get_pmu_info(of.pmu, &unit) == PFM_SUCCESS && unit.is_present == 0) {
            return event_elsewhere{"it is an event of " + std::string(unit.desc) + ", which this processor is not"};
        }
        return known_of(found);
    }
    // The event may exist here without a unit mask that it has elsewhere.
    const bool asks_elsewhere =
        name.find("::") == name.npos && (found.status == PFM_ERR_NOTFOUND || name.find(':') != name.npos);
    const std::vector<std::string> processors = asks_elsewhere ? processors_of(name) : std::vector<std::string>{};
    if (processors.empty()) return found.status == PFM_ERR_NOTFOUND ? not_found(name) : malformed(name, found.status);
    return event_elsewhere{"it is an event of " + listed(processors) + ", and libpfm takes this processor for none"};
}

void event_names::for_each(const std::function<void(const event_description&)>& take) const {
    for_each_unit([&](const pfm_pmu_info_t& unit) {
        if (unit.is_present == 0) return;
        for_each_event(unit, [&](const pfm_event_info_t& each) {
            take({std::string(unit.name) + "::" + each.name, each.desc != nullptr ? each.desc : "", masks_of(each)});
        });
    });
}

std::vector<std::string> event_names::units() const {
    std::vector<std::string> found;
    for_each_unit([&](const pfm_pmu_info_t& unit) {
        if (unit.is_present != 0) found.emplace_back(unit.desc);
    });
    return found;
}

}  // namespace millpond::measure
