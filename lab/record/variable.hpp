// SPDX-License-Identifier: BSL-1.0
// variable: how millpond-record and the recorders in the recorded processes find one another.
#pragma once

namespace millpond::record {

// Environment variable that names FILE.partial (absolute) to a recorded process.
inline constexpr char variable[] = "MILLPOND_RECORD";

}  // namespace millpond::record
