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
#include <vector>

#include "lab/attach/remote_call.hpp"
#include "lab/attach/target_process.hpp"
#include "lab/attach/thread_places.hpp"

namespace millpond::attach {

class attachment {
  public:
    // `libraries`: the recorders' files. The first is used; what is left of a recording by any of them is ended. Throws
    // failure if the process cannot be attached to.
    attachment(pid_t pid, const std::vector<std::string>& libraries);

    // The process joins the recording of that slot file, which is asleep then, and its calls go to the recorder.
    void begin(const std::string& partial, bool places_frees);
    // The calls go to the program's own malloc again.
    void end() { end(recorders_.front()); }
    // Gives the recorder's memory back; the recording is asleep. Returns false if a thread stayed inside the recorder
    // for some seconds: then its memory stays, too.
    bool release() { return release(recorders_.front()); }

    const target_process& process() const { return process_; }
    // The longest time so far for which a thread was stopped.
    std::chrono::microseconds longest_stop() const { return longest_stop_; }

  private:
    struct entries {
        std::uint64_t is_at_rest = 0, join = 0, enable = 0, disable = 0, leave = 0;
    };
    struct recorder {
        std::string library;
        entries offsets;  // in the file
    };
    using action = std::function<bool(remote_call&)>;

    static recorder read(const std::string& library);
    void end_former(const recorder& of);
    void end(const recorder& of);
    bool release(const recorder& of);
    std::uint64_t load(remote_call& in, const thread_places& places);
    // Returns the places of a recorder's functions in the process; all 0 if it has not loaded that recorder.
    entries find_entries(const recorder& of) const;
    bool with_safe_thread(const thread_places& places, const action& act);
    bool with_all_stopped(const thread_places& places, unsigned avoided, pid_t stopped,
                          const std::function<void()>& act);
    void note_stop(std::chrono::steady_clock::time_point since);

    const target_process process_;
    std::vector<recorder> recorders_;  // the first is used
    std::chrono::microseconds longest_stop_{0};
};

}  // namespace millpond::attach
