/* SPDX-License-Identifier: BSL-1.0
 * slot_file: the layout of FILE.partial, into which all processes of a recording write their blocks while they run.
 *
 *   │ slot 0: mpt_slot_file │ slot 1 │ slot 2 │ …                       sparse; slot n begins at n * slot_bytes
 *                             │        └ mpt_slot │ open block of a thread
 *                             └ mpt_slot │ mpt_slot_process │ sealed block │ sealed block │ …    first of a process
 *
 * Every slot belongs to one process, by the number of that process's first slot. A slot holds sealed blocks (their
 * checksum is set) and behind them at most one open block, whose `stored_bytes` covers what is whole. All writers map
 * the file and share it, so nothing is lost when one is killed; the counters are changed by atomic operations.
 *
 * A ring (trace_ring.hpp) drops slots from before a cut. What it carries over lies in slots of its own, which count
 * from the moment at which `carried` of the process names the first one; from then on the dropped ones do not.
 * Freestanding C11. */
#ifndef MILLPOND_LAB_TRACE_SLOT_FILE_H
#define MILLPOND_LAB_TRACE_SLOT_FILE_H

#include "lab/trace/format.h"

enum {
    mpt_slot_file_magic = 0x4654504D, /* "MPTF" */
    mpt_slot_magic = 0x5354504D,      /* "MPTS" */
    mpt_slot_file_version = 3,        /* 2: events whose context is told by steps; 3: rings */
    mpt_slot_bytes = 65536,
    mpt_slot_head_bytes = 64, /* of mpt_slot */
    mpt_slots_ahead = 4096,   /* by which the file is longer than what is used, so that slots can be mapped */
    /* The slot that has its room from the start: on a full disk the finishing pass begins there. */
    mpt_spare_slot = mpt_slots_ahead - 1,
    mpt_refusals_max = 200
};

/* The reason why a process stopped recording; else an errno. */
enum mpt_stop {
    mpt_stop_limit = 1,
    mpt_stop_ahead = 105, /* ENOBUFS: the memory mapped ahead is used up */
    mpt_stop_asked = 201, /* no errno: the end of a stretch, in a trace */
    mpt_stop_filter = 202 /* no errno: a stretch that begins after the process forbade itself system calls */
};

/* The turns of a recording that sleeps and wakes: 1 asleep, 2 the first stretch, 3 asleep, … A stretch that follows
 * another at once skips the number between. 0: a recording that never sleeps. */
enum { mpt_asleep = 1 };

/* The steps of a scan at the end of a process, which it waits for. */
enum mpt_scan_state {
    mpt_scan_none = 0,
    mpt_scan_wanted = 1,
    mpt_scan_begun = 2,
    mpt_scan_ended = 3,
    mpt_scan_given_up = 4 /* the process waits no longer */
};

/* The reasons why single events were lost while a process continued to record. */
enum mpt_lost {
    mpt_lost_memory,  /* nothing could be mapped for a thread's events */
    mpt_lost_handler, /* a signal handler interrupted the recorder where there was no other place to write to */
    mpt_lost_fork,    /* a signal handler forked inside the recorder, and the child went on there */
    mpt_lost_causes
};

/* A process that could not start to record. */
typedef struct mpt_refusal {
    uint64_t pid;
    uint32_t error; /* errno */
    uint32_t unused;
} mpt_refusal;

typedef struct mpt_slot_file {
    uint32_t magic;
    uint32_t version;
    uint32_t slot_bytes;
    uint32_t check_interval; /* one event in this many, on average, is compared with an uncached walk */
    uint64_t recording;      /* random, the same in all traces of this recording */
    uint64_t replaces;       /* the recording whose traces this one replaces; 0: none */
    uint64_t slots;          /* taken so far, slot 0 among them; atomic */
    uint64_t slots_ready;    /* for which the file is long enough, and a page more; atomic */
    uint64_t slots_max;
    uint64_t bytes_max;    /* of sealed blocks; 0: no limit */
    uint64_t bytes_sealed; /* atomic */
    uint64_t ahead_bytes;  /* mapped when a process image starts, for programs that forbid system calls; 0: none */
    uint32_t limit_reached;
    uint32_t mode; /* permissions of the traces */
    int64_t root_pid;
    uint64_t refusals; /* atomic; the first mpt_refusals_max are kept */
    mpt_refusal refused[mpt_refusals_max];
    uint32_t turn;          /* atomic; odd (mpt_asleep): nothing is recorded now */
    uint32_t images;        /* atomic; process images that have loaded the recorder */
    uint32_t stopped;       /* the turn of the last stretch that was ended by request */
    uint32_t stretches;     /* the number in the name of the last trace */
    uint32_t scans;         /* 1: each process waits at its end until its heap has been looked through */
    uint32_t scan_requests; /* atomic, a futex: processes that wait so, so far */
    uint32_t attached;      /* 1: of a program that ran already; its one stretch is FILE itself */
    uint32_t unused;
    uint64_t sample_bytes; /* of a sampled recording: bytes for each one chosen, on average; 0: every event */
    uint64_t sample_seed;  /* of the random numbers that choose; 0: another one in each process */
    uint64_t ring_ns;      /* the time that a ring keeps; 0: everything is kept */
} mpt_slot_file;

typedef struct mpt_slot {
    uint32_t magic;
    uint32_t first_block; /* offset in the slot */
    uint64_t process;     /* number of the first slot of the process */
    uint64_t closed_tick; /* of a ring: atomic; since then nothing is written here; 0: something may be */
    uint64_t cut_tick;    /* of a slot that is carried over a cut: its time; else 0 */
    uint64_t cut_slots;   /* of the first one: the number of them, which are adjacent */
    uint64_t unused[3];
} mpt_slot;

/* Behind the mpt_slot of a process's first slot. */
typedef struct mpt_slot_process {
    uint64_t pid;
    uint64_t start_ticks;
    uint64_t start_ns; /* CLOCK_BOOTTIME */
    uint64_t events_lost;
    uint64_t allocations_failed;
    uint64_t aliasing_sampled;
    uint64_t aliasing_differed;
    uint64_t aliasing_differed_deep;
    uint32_t stopped;    /* 0, or why its recording ended early (mpt_stop, errno) */
    uint32_t exited;     /* 1: the process came to its end by itself */
    uint32_t own_malloc; /* 1: malloc is linked into the executable, so that its calls are not seen */
    uint32_t finished;   /* 1: its trace has been written */
    char unfinished[8];  /* end of the name of a file with the only copy of the first blocks (finish.hpp); or empty */
    uint64_t lost_by[mpt_lost_causes]; /* atomic; of events_lost, those that `stopped` does not explain */
    uint64_t turn;                     /* of its stretch */
    uint32_t mapped_ahead; /* 1: its slots lie in memory that serves again: finished ones are emptied, not released */
    uint32_t scan;         /* atomic, a futex; mpt_scan_state */
    /* While a scan is wanted: the address of the last piece of memory in which the recorder keeps words of the program.
     * It begins with the address of the piece before (0: none) and its bytes. */
    uint64_t own_memory;
    uint64_t carried; /* atomic; the first slot that is carried over the last cut of a ring; 0: none */
} mpt_slot_process;

#endif
