// SPDX-License-Identifier: BSL-1.0
// scan_server: looks through the heap of each recorded process that comes to its end, while that waits for it.
//
//   process, behind its exit handlers: "wanted", waits ─▶ live blocks from FILE.partial ─▶ heap_scan ─▶ notes
//           goes on to end                             ◀─ "ended" ─┘
//
// A process that is not served within 5 s goes on without a scan, and one that waits for 60 s gives up; so a killed
// recorder ends no program. A process that ends otherwise (_exit, a signal, exec) has no scan. It takes as long as the
// finishing pass and the memory to be read, with a temporary trace next to FILE.partial.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "lab/trace/slot_file.h"
#include "lab/trace/slot_reader.hpp"

namespace millpond::record {

class scan_server {
  public:
    // `shared`: the first page of the recording's file at `partial`; must outlive this object.
    scan_server(std::string partial, mpt_slot_file& shared);
    ~scan_server();
    scan_server(const scan_server&) = delete;
    scan_server& operator=(const scan_server&) = delete;

  private:
    void serve_until(const std::stop_token& stop);
    void serve_waiting();
    void serve(const trace::slot_reader& from, const trace::slot_process& process, mpt_slot_process& facts);

    const std::string partial_;
    mpt_slot_file& shared_;
    std::jthread thread_;
};

}  // namespace millpond::record
