// SPDX-License-Identifier: BSL-1.0
// supervisor: controls one recording: makes FILE.partial, starts the program under the recorder, and waits for it.
//
//   run() ─▶ FILE.partial, written by all recorded processes ─▶ finishing ─▶ FILE, FILE.PID, FILE.PID.IMAGE
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::record {

struct record_options {
    std::string file;  // the root process's trace
    std::uint64_t bytes_max = 0;
    std::uint64_t ahead_bytes = 0;
    std::uint64_t sample_bytes = 0;  // choose one byte in so many, and follow its block only; 0: record every event
    std::uint64_t sample_seed = 0;   // of the choice; 0: another one in each process
    double ring_minutes = 0;         // of a sampled recording: keep the last minutes only; 0: keep everything
    unsigned mode = 0600;            // permissions of the traces
    bool check_contexts = false;
    double seconds_max = 0;                       // after which the program is asked to stop; 0: never
    bool dies_with_recorder = false;              // the program is killed with us
    std::vector<std::string> scopes;              // functions to observe: names in the executable …
    std::string scopes_file;                      // … and a file that characterise has written (scope_list.hpp)
    bool is_idle = false;                         // it begins asleep; control.hpp wakes it
    bool scans = false;                           // the heap of each process is looked through at its end
    bool places_frees = false;                    // notes of the contexts in which blocks are freed
    bool samples_owners = false;                  // notes of the words at allocations, to find owners
    pid_t attached_pid = 0;                       // a program that runs already, instead of the command
    std::uint64_t scope_entries_max = 1'000'000;  // after this many a function is no longer observed
    std::vector<std::string> command;
};

// The end of the program, as waitpid reports it.
struct process_end {
    int exit_status = 0;
    int signal = 0;
    int stopped_by = 0;                     // the last signal that we sent because the time was up
    std::vector<std::string> modules = {};  // those that the program started with
};

// Returns the file into which the processes of a recording write while they run.
std::string partial_file(const std::string& file);

// Starts the command and waits for it. Throws failure: it never ran, and nothing is left behind.
process_end run(const record_options& options);

}  // namespace millpond::record
