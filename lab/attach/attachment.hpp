// SPDX-License-Identifier: BSL-1.0
// attachment: makes a running program record its heap events, and leaves it as it was.
//
//   begin()     a thread at a safe place ─▶ dlopen of the recorder, join   the other threads run
//                                        ─▶ enable                        all threads are stopped
//   end()       disable                                                   all threads are stopped
//   release()   leave: memory and mappings are given back                 all threads are stopped
//
// A thread is at a safe place if it could call dlopen there itself (thread_places). If no thread is, all go on and it
// is tried again, for some seconds. All threads are stopped only while slots are written, at a moment when none is
// inside the dynamic linker. The library stays mapped afterwards. No call of the program enters it any more, except
// through addresses that the program copied meanwhile (dlsym); those pass through to its own malloc.
//
// Between the three, nothing is stopped or traced. Each throws failure with reason and cure; a failed begin() leaves
// the program as it was. The caller blocks signals meanwhile: a tracer that dies within leaves a broken program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "lab/attach/remote_call.hpp"
#include "lab/attach/target_process.hpp"
#include "lab/attach/thread_places.hpp"

namespace millpond::attach {

class attachment {
  public:
    // `library`: the recorder's file. Throws failure if the process cannot be attached to.
    attachment(pid_t pid, std::string library);

    // The process joins the recording of that slot file, which is asleep then, and its calls go to the recorder.
    void begin(const std::string& partial, bool places_frees);
    // The calls go to the program's own malloc again.
    void end();
    // Gives the recorder's memory back; the recording is asleep. Returns false if a thread stayed inside the recorder
    // for some seconds: then its memory stays, too.
    bool release();

    const target_process& process() const { return process_; }
    // The longest time so far for which a thread was stopped.
    std::chrono::microseconds longest_stop() const { return longest_stop_; }

  private:
    struct entries {
        std::uint64_t is_at_rest = 0, join = 0, enable = 0, disable = 0, leave = 0;
    };
    using action = std::function<bool(remote_call&)>;

    void end_former();
    std::uint64_t load(remote_call& in, const thread_places& places);
    // Returns the places of the recorder's functions in the process; all 0 if it has not loaded the recorder.
    entries find_entries() const;
    bool with_safe_thread(const thread_places& places, const action& act);
    bool with_all_stopped(const thread_places& places, unsigned avoided, pid_t stopped,
                          const std::function<void()>& act);
    void note_stop(std::chrono::steady_clock::time_point since);

    const target_process process_;
    const std::string library_;
    entries offsets_;  // in the library's file
    std::chrono::microseconds longest_stop_{0};
};

}  // namespace millpond::attach
