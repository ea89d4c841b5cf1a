// SPDX-License-Identifier: BSL-1.0
#include "lab/record/probes/wanted_scopes.hpp"

#include <stdlib.h>
#include <string.h>

#include "lab/record/variable.hpp"

namespace millpond::record {

bool wanted_scopes::read() noexcept {
    find_variable(scopes_variable, text_, sizeof text_);
    count_ = 0;
    char* end = nullptr;
    entries_max_ = strtoull(text_, &end, 10);
    while (*end == ';' && count_ < scopes_max) {
        const char* const module = end + 1;
        const char* stop = strchrnul(module, ';');
        const char* colon = stop;
        while (colon > module && *colon != ':') --colon;
        if (*colon != ':') break;
        const std::uintptr_t offset = strtoull(colon + 1, &end, 16);
        scopes_[count_++] = {module, static_cast<std::size_t>(colon - module), offset};
    }
    return count_ > 0;
}

}  // namespace millpond::record
