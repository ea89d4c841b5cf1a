// SPDX-License-Identifier: BSL-1.0
// routes_file: a compiled plan in this program's memory, checked, for the driver.
#pragma once

#include <string>
#include <vector>

#include "lab/trial/routes.hpp"

namespace millpond::trial {

class routes_file {
  public:
    // Throws failure (status 3) for a file that is missing, damaged or of another version.
    explicit routes_file(const std::string& path);

    [[nodiscard]] const routes_view& view() const noexcept { return view_; }
    [[nodiscard]] std::string program_build_id() const { return view_.text(view_.header().program_build_id); }
    [[nodiscard]] std::vector<std::string> pool_names() const;
    // Returns the functions whose calls have arenas, in the order of the file and the form of
    // lab/probes/wanted_scopes.hpp; empty if there are none.
    [[nodiscard]] std::string scopes() const;

  private:
    std::string content_;
    routes_view view_;
};

}  // namespace millpond::trial
