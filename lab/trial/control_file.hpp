// SPDX-License-Identifier: BSL-1.0
// control_file: the driver's control memory: an anonymous file that the processes of a round open through /proc. It
// lives as long as this object and the processes that mapped it, so nothing has to be removed if one is killed.
#pragma once

#include <string>

#include "lab/trial/control.hpp"

namespace millpond::trial {

class control_file {
  public:
    // Throws failure if there is no memory for it.
    explicit control_file(variant mode);
    control_file(const control_file&) = delete;
    control_file& operator=(const control_file&) = delete;
    ~control_file();

    control* operator->() const noexcept { return shared_; }
    control& operator*() const noexcept { return *shared_; }
    // The value of MILLPOND_TRIAL.
    const std::string& path() const noexcept { return path_; }

  private:
    int file_ = -1;
    control* shared_ = nullptr;
    std::string path_;
};

}  // namespace millpond::trial
