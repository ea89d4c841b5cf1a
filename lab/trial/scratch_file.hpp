// SPDX-License-Identifier: BSL-1.0
// scratch_file: content for the processes of a round, in an anonymous file that they open through /proc. It disappears
// with this object and the processes that mapped it, even if they are killed.
#pragma once

#include <string>

namespace millpond::trial {

class scratch_file {
  public:
    // Throws failure if there is no memory for it.
    explicit scratch_file(const std::string& content);
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    int file_ = -1;
    std::string path_;
};

}  // namespace millpond::trial
