// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/named_events.hpp"

namespace millpond::measure {
namespace {

// Demand loads that were filled from memory. On Zen the last level is an uncore unit, which cannot count for one
// process.
constexpr const char* llc_misses[] = {
    "MEM_LOAD_RETIRED:L3_MISS",
    "MEM_LOAD_UOPS_RETIRED:L3_MISS",
    "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM",
    "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT",
    "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
};
// Stores that retired, or that the core sent to its first level.
constexpr const char* stores[] = {"MEM_INST_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_STORES",
                                  "LS_DISPATCH:STORE_DISPATCH"};
// Demand loads that the level before the last missed.
constexpr const char* llc_loads[] = {"MEM_LOAD_RETIRED:L2_MISS", "MEM_LOAD_UOPS_RETIRED:L2_MISS"};
// Cycles in which nothing is executed while a load waits that missed the first level. There is no substitute: similar
// events, such as all stalls, would count something else under this name.
constexpr const char* l1d_stall_cycles[] = {"CYCLE_ACTIVITY:STALLS_L1D_MISS", "CYCLE_ACTIVITY:STALLS_L1D_PENDING",
                                            "MEMORY_ACTIVITY:STALLS_L1D_MISS"};
// Cycles in which nothing is executed.
constexpr const char* stalled_cycles[] = {"CYCLE_ACTIVITY:STALLS_TOTAL", "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE"};
// Loads whose page is in no level of the TLB.
constexpr const char* page_walks[] = {
    "DTLB_LOAD_MISSES:WALK_COMPLETED",
    "L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_COALESCED_PAGE_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_1G_L2_MISS",
};

constexpr named_event all[] = {
    {instructions_event, "perf::PERF_COUNT_HW_INSTRUCTIONS", "instructions retired"},
    {cycles_event, "perf::PERF_COUNT_HW_CPU_CYCLES", "cycles of the core, at whatever clock"},
    {{"l1d_loads", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS), true},
     "perf::PERF_COUNT_HW_CACHE_L1D:READ:ACCESS",
     "loads"},
    {{"stores", PERF_TYPE_HW_CACHE,
      cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS), true},
     "perf::PERF_COUNT_HW_CACHE_L1D:WRITE:ACCESS",
     "stores",
     stores},
    {l1d_misses_event, "perf::PERF_COUNT_HW_CACHE_L1D:READ:MISS", "loads that the first level of cache misses"},
    {{"llc_loads", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
     "perf::PERF_COUNT_HW_CACHE_LL:READ:ACCESS",
     "loads that reach the last level of cache",
     llc_loads},
    {{"llc_misses", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS)},
     "perf::PERF_COUNT_HW_CACHE_LL:READ:MISS",
     "loads that the last level of cache misses",
     llc_misses},
    {{"stalled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
     "perf::PERF_COUNT_HW_STALLED_CYCLES_BACKEND",
     "cycles in which the back end waits",
     stalled_cycles},
    {{"l1d_stall_cycles", named_event::no_type},
     "",
     "cycles in which nothing is executed while a load waits that the first level of cache missed",
     l1d_stall_cycles},
    {branch_misses_event, "perf::PERF_COUNT_HW_BRANCH_MISSES", "branches that were predicted wrongly"},
    {dtlb_misses_event, "perf::PERF_COUNT_HW_CACHE_DTLB:READ:MISS", "loads that the data TLB misses"},
    {{"page_walks", named_event::no_type}, "", "walks through the page tables for a load", page_walks},
};

}  // namespace

std::span<const named_event> named_events() noexcept { return all; }

const named_event* find_named_event(std::string_view name) noexcept {
    for (const named_event& each : all) {
        if (each.generic.name == name) return &each;
    }
    return nullptr;
}

}  // namespace millpond::measure
