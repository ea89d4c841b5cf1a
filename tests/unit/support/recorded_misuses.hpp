// SPDX-License-Identifier: BSL-1.0
// recorded_misuses: while an object lives, misuses are recorded instead of ending the program.
#pragma once

#include <millpond/wrap/misuse.hpp>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace millpond::test {

class recorded_misuses {
  public:
    recorded_misuses() {
        current_ = this;
        misuse_handler = [](const misuse& what) { current_->record(what); };
    }
    recorded_misuses(const recorded_misuses&) = delete;
    recorded_misuses& operator=(const recorded_misuses&) = delete;
    ~recorded_misuses() { misuse_handler = &report_misuse; }

    [[nodiscard]] const std::vector<misuse_kind>& kinds() const { return kinds_; }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

    // Returns the kinds seen since the last call.
    [[nodiscard]] std::vector<misuse_kind> take() {
        lines_.clear();
        return std::exchange(kinds_, {});
    }

  private:
    void record(const misuse& what) {
        char line[1200];
        what.write(line, sizeof line);
        const std::lock_guard lock(mutex_);
        kinds_.push_back(what.kind);
        lines_.emplace_back(line);
    }

    static inline recorded_misuses* current_ = nullptr;
    std::mutex mutex_;
    std::vector<misuse_kind> kinds_;
    std::vector<std::string> lines_;
};

}  // namespace millpond::test
