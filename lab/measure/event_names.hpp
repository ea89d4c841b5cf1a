// SPDX-License-Identifier: BSL-1.0
// event_names: the processors' events that libpfm knows: their names, and their codes for the kernel.
//
//   "MEM_LOAD_RETIRED:L3_MISS" ──libpfm──▶ type 4, config 0x20d1, user space     an event of this processor
//   "amd64_fam19h_zen3::…"     ──libpfm──▶ why it does not count here            an event of another
//   "MEM_LOAD_RETIRD"          ──libpfm──▶ MEM_LOAD_RETIRED                      not an event: similar names
//
// Names are libpfm's: [processor::]EVENT[:unit mask]…[:modifier], as u and k for user space and kernel. One object at a
// time; it sets LIBPFM_ENCODE_INACTIVE in the environment. One thread.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "lab/measure/counters.hpp"

namespace millpond::measure {

// The meaning of a name. `full_name` is libpfm's, with the modifiers in effect.
struct known_event {
    event of;  // without a name
    std::string full_name;
};
struct event_elsewhere {
    std::string why;  // a half-sentence
};
struct unknown_event {
    std::string what;  // the error in the name, and similar names
};

class event_names {
  public:
    // Throws: std::runtime_error if libpfm does not start.
    event_names();
    event_names(const event_names&) = delete;
    event_names& operator=(const event_names&) = delete;
    ~event_names();

    using meaning = std::variant<known_event, event_elsewhere, unknown_event>;
    // O(all names) if the event is not one of this processor.
    [[nodiscard]] meaning find(const std::string& name) const;

    struct event_description {
        std::string name, meaning;
        std::vector<event_description> masks = {};
    };
    // Effects: calls `take` for each event of this processor, and of the kernel.
    void for_each(const std::function<void(const event_description&)>& take) const;
    // Returns: the processor units that libpfm finds here, by their long names.
    [[nodiscard]] std::vector<std::string> units() const;
};

}  // namespace millpond::measure
