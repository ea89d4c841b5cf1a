// SPDX-License-Identifier: BSL-1.0
// thread_places: what a stopped thread of another process is in the middle of, by the functions on its stack.
//
//   stack   malloc ◀ parse ◀ main         allocator
//           _dl_map_object ◀ dlopen       loader
//
// Stacks are unwound by the modules' call-frame information (libdw). Where code has none (generated code), the frames
// behind it are not seen: such code is not called from the functions that matter here. The C library's allocator is the
// range of its exported functions, because its inner ones have no names; a malloc of another module is all of that
// module. Describes the modules of the moment when it is made. Not thread-safe.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/attach/remote_call.hpp"
#include "lab/attach/target_process.hpp"

namespace millpond::attach {

class thread_places {
  public:
    enum place : unsigned {
        loader = 1,     // the dynamic linker, or a function of the C library that holds its locks
        allocator = 2,  // malloc's family
        process = 4,    // fork, the creation and end of threads, exit
        recorder = 8,   // our own library
    };

    // Throws failure if the process has no C library that can be read.
    explicit thread_places(const target_process& of);

    // Returns the places that the stack of a stopped thread goes through. About 50 µs for a few frames.
    unsigned of(pid_t thread) const;

    const libc_functions& libc() const { return libc_; }

  private:
    struct range {
        std::uint64_t first, past;
        unsigned places;
    };
    struct stack_walk {
        const thread_places& self;
        unsigned places = 0;
        bool has_left_libc = false;
    };
    struct session_end {
        void operator()(Dwfl* session) const { dwfl_end(session); }
    };

    void add_libc(const mapped_file& libc, const target_process& of);
    static int note_frame(Dwfl_Frame* frame, void* to);
    unsigned at(std::uint64_t address) const;
    bool is_inside_libc(std::uint64_t address) const;

    std::vector<range> ranges_;
    libc_functions libc_;
    std::uint64_t libc_first_ = 0, libc_past_ = 0;
    std::string root_;
    std::unique_ptr<Dwfl, session_end> session_;
};

}  // namespace millpond::attach
