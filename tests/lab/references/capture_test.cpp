// SPDX-License-Identifier: BSL-1.0
// A capture of a real program: it holds each access once and attributes it correctly.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture_run.hpp"
#include "lab/references/reader.hpp"
#include "marks.hpp"

namespace {

using namespace millpond;
using namespace millpond::references;
using namespace millpond::test;

struct touch {
    unsigned kind, origin, bytes;
    std::uint64_t thread;
    bool operator==(const touch&) const = default;
};

struct allocation {
    std::uint64_t address, flags;
    std::uint32_t context;
    bool freed = false;
};

// The result of one pass over a capture of the marked program.
struct captured {
    std::map<unsigned, std::vector<touch>> touches;   // by mark
    std::map<std::uint64_t, allocation> allocations;  // by the size that was asked for
    std::map<std::uint64_t, std::uint64_t> live;      // address to size
    std::uint64_t instructions = 0, references = 0, calls = 0, unbalanced = 0;
    std::vector<trace::context_node> contexts;
    reference_totals totals;

    captured(const std::string& path, std::uint64_t marks) {
        reader from(path);
        step one;
        bool inside = false;
        while (from.next(one)) {
            for (const millpond_reference& r : one.references)
                if (r.address >= marks && r.address < marks + mark_count * mark_distance)
                    touches[static_cast<unsigned>((r.address - marks) / mark_distance)].push_back(
                        {r.kind, r.origin, r.bytes, one.thread});
            references += one.references.size();
            instructions += one.instructions;
            take(one.event, inside);
        }
        EXPECT_TRUE(from.damages().empty()) << from.damages().front().what;
        contexts = from.trace().contexts();
        totals = from.totals();
    }

    void take(const stream_event& event, bool& inside) {
        const auto& operands = event.operands;
        if (event.record == millpond_record_enter) {
            ++calls;
            unbalanced += inside;
            inside = true;
        } else if (event.record == millpond_record_leave) {
            unbalanced += !inside;
            inside = false;
        } else if (event.record == millpond_record_signal || event.record == millpond_record_thread) {
            inside = event.record == millpond_record_thread && (operands[0] & 1) != 0;
        } else if (event.record == millpond_record_resume) {
            inside = operands[0] != 0;
        } else if (event.record == millpond_record_allocate) {
            allocations[operands[1]] = {operands[0], operands[3], static_cast<std::uint32_t>(operands[2])};
            live[operands[0]] = operands[1];
        } else if (event.record == millpond_record_free) {
            if (const auto found = live.find(operands[0]); found != live.end()) {
                allocations[found->second].freed = true;
                live.erase(found);
            }
        }
    }

    std::vector<touch> of(mark m) const { return touches.contains(m) ? touches.at(m) : std::vector<touch>{}; }
};

std::vector<touch> once(unsigned kind, unsigned origin, unsigned bytes = 1, std::uint64_t thread = 1) {
    return {{kind, origin, bytes, thread}};
}

class of_marked_program : public testing::Test {
  protected:
    // The folder of a capture, the program's output taken apart, and what the trace holds.
    struct run {
        folder at;
        std::uint64_t marks = 0;
        std::optional<captured> trace;

        explicit run(const std::string& arguments = {}, int status = 3, const std::string& options = {},
                     const std::string& program = MARKED_PROGRAM) {
            const command_result ran(capture_command(file(), program + " " + arguments, options));
            EXPECT_EQ(ran.status, status);
            marks = std::stoull(ran.output, nullptr, 16);
            trace.emplace(file(), marks);
        }
        std::string file() const { return at / "trace.mpt"; }
    };

    static void SetUpTestSuite() {
        if (reason_to_skip().empty()) whole = std::make_unique<run>();
    }
    static void TearDownTestSuite() { whole.reset(); }
    void SetUp() override {
        if (whole == nullptr) GTEST_SKIP() << reason_to_skip();
    }

    static inline std::unique_ptr<run> whole;  // without bounds
};

TEST_F(of_marked_program, each_access_is_captured_once_with_kind_and_bytes) {
    const captured& c = *whole->trace;
    EXPECT_EQ(c.of(stored), once(millpond_store, millpond_of_program));
    EXPECT_EQ(c.of(loaded), once(millpond_load, millpond_of_program));
    EXPECT_EQ(c.of(modified), once(millpond_modify, millpond_of_program));
    EXPECT_EQ(c.of(wide), once(millpond_store, millpond_of_program, 16));
}

TEST_F(of_marked_program, accesses_within_the_allocator_are_its_own) {
    const captured& c = *whole->trace;
    ASSERT_EQ(c.of(in_new).size(), 5u);
    for (const touch& t : c.of(in_new)) EXPECT_EQ(t.origin, millpond_of_allocator);
    EXPECT_EQ(c.of(in_new_after_handler), once(millpond_store, millpond_of_allocator));
    EXPECT_EQ(c.of(after_new), once(millpond_store, millpond_of_program));
    EXPECT_EQ(c.unbalanced, 0u);
}

TEST_F(of_marked_program, a_call_that_is_left_has_ended_where_the_program_goes_on) {
    const captured& c = *whole->trace;
    for (const mark m : {after_interrupted, after_throw, after_jump, after_signal_jump, after_tail_call})
        EXPECT_EQ(c.of(m), once(millpond_store, millpond_of_program)) << m;
}

TEST_F(of_marked_program, signal_handlers_are_the_programs) {
    const captured& c = *whole->trace;
    ASSERT_EQ(c.of(in_handler).size(), 2u);
    for (const touch& t : c.of(in_handler)) EXPECT_EQ(t.origin, millpond_of_program);
}

TEST_F(of_marked_program, threads_and_children_are_told_apart) {
    const captured& c = *whole->trace;
    EXPECT_EQ(c.of(in_thread), once(millpond_store, millpond_of_program, 1, 2));
    EXPECT_TRUE(c.of(in_child).empty());
    EXPECT_EQ(c.of(after_fork), once(millpond_store, millpond_of_program));
    unsigned children = 0;
    for (const auto& entry : std::filesystem::directory_iterator(whole->at.path())) {
        if (entry.path().filename() == "trace.mpt") continue;
        const captured child(entry.path(), whole->marks);
        EXPECT_EQ(child.of(in_child), once(millpond_store, millpond_of_program));
        EXPECT_TRUE(child.of(stored).empty());
        EXPECT_TRUE(child.of(after_fork).empty());
        ++children;
    }
    EXPECT_EQ(children, 1u);
}

TEST_F(of_marked_program, memory_of_system_calls_comes_in_pieces_of_lines) {
    const captured& c = *whole->trace;
    const touch piece{millpond_store, millpond_of_system, 64, 1};
    EXPECT_EQ(c.of(read_by_system), std::vector<touch>(mark_distance / 64, piece));
    EXPECT_EQ(c.of(written_to_system), once(millpond_load, millpond_of_system));
}

TEST_F(of_marked_program, heap_events_have_sizes_alignments_and_contexts) {
    captured c = *whole->trace;
    for (const unsigned bytes :
         {size_of_malloc, size_of_realloc, size_of_calloc, size_of_posix_memalign, size_of_aligned_alloc}) {
        ASSERT_TRUE(c.allocations.contains(bytes)) << bytes;
        EXPECT_TRUE(c.allocations[bytes].freed) << bytes;
        EXPECT_NE(c.allocations[bytes].context, 0u) << bytes;
        EXPECT_LT(c.allocations[bytes].context, c.contexts.size()) << bytes;
    }
    EXPECT_EQ(c.allocations[size_of_realloc].flags, millpond_flag_realloc);
    EXPECT_EQ(c.allocations[size_of_calloc].flags, millpond_flag_zeroed);
    EXPECT_EQ(c.allocations[size_of_posix_memalign].flags, 8u << millpond_flag_alignment_shift);
    EXPECT_EQ(c.allocations[size_of_aligned_alloc].flags, 6u << millpond_flag_alignment_shift);
}

// The words below the first function (the number and the places of the arguments) are no frame.
TEST_F(of_marked_program, stacks_end_at_the_first_function) {
    const captured& c = *whole->trace;
    ASSERT_GT(c.contexts.size(), 1u);
    for (size_t i = 1; i < c.contexts.size(); ++i) EXPECT_NE(c.contexts[i].module, 0u) << i;
}

TEST_F(of_marked_program, heap_readers_find_the_same_events) {
    trace::reader heap(whole->file());
    std::map<std::uint64_t, unsigned> sizes;
    heap.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            if (batch[i].op == trace::operation::allocate || batch[i].op == trace::operation::realloc_allocate)
                ++sizes[batch[i].bytes];
    });
    EXPECT_TRUE(heap.damages().empty());
    for (const unsigned bytes : {size_of_malloc, size_of_realloc, size_of_calloc}) EXPECT_EQ(sizes[bytes], 1u);
}

// A subsystem without a name is called by its module, under the name that the dynamic linker loads.
TEST_F(of_marked_program, libraries_have_the_name_of_their_link) {
    trace::reader heap(whole->file());
    std::vector<std::string> found;
    for (const trace::module_record& module : heap.modules())
        if (module.path.find("/libstdc++.so") != std::string::npos)
            found.push_back(std::filesystem::path(module.path).filename());
    EXPECT_EQ(found, std::vector<std::string>{"libstdc++.so.6"});
}

TEST_F(of_marked_program, headers_count_what_is_read) {
    reader_options without_system;
    without_system.with_system = false;
    const captured& c = *whole->trace;
    reader from(whole->file(), without_system);
    step one;
    std::uint64_t references = 0;
    while (from.next(one)) references += one.references.size();
    EXPECT_EQ(c.totals.instructions, c.instructions);
    EXPECT_GT(c.references, references);
    EXPECT_LE(references, c.totals.references + c.totals.references / 100);  // wide accesses come in pieces
    EXPECT_GE(references, c.totals.references);
}

TEST_F(of_marked_program, each_image_of_a_process_has_a_trace) {
    const run ran("exec", 0);
    EXPECT_EQ(ran.trace->of(after_fork), once(millpond_store, millpond_of_program));
    bool found = false;
    for (const auto& entry : std::filesystem::directory_iterator(ran.at.path())) {
        reader from(entry.path());
        found = found || from.trace().process().executable.ends_with("/true");
    }
    EXPECT_TRUE(found);
}

TEST_F(of_marked_program, a_crash_leaves_everything_up_to_it) {
    const run ran("crash", 128 + SIGSEGV);
    EXPECT_EQ(ran.trace->of(stored), once(millpond_store, millpond_of_program));
    EXPECT_EQ(ran.trace->of(after_fork), once(millpond_store, millpond_of_program));
}

TEST_F(of_marked_program, bounds_select_what_is_captured) {
    const captured& all = *whole->trace;
    const run first_run({}, 3, "--instructions 50000");
    const captured& first = *first_run.trace;
    EXPECT_GE(first.instructions, 50000u);
    EXPECT_LT(first.instructions, 51000u);
    EXPECT_TRUE(first.of(after_fork).empty());
    const run later_run({}, 3, "--from 50000");
    const captured& later = *later_run.trace;
    EXPECT_NEAR(static_cast<double>(later.instructions), static_cast<double>(all.instructions - 50000), 2000);
    EXPECT_EQ(later.of(after_fork), once(millpond_store, millpond_of_program));
    const run from_main_run({}, 3, "--skip-start");
    const captured& from_main = *from_main_run.trace;
    EXPECT_LT(from_main.instructions, all.instructions / 2);
    EXPECT_EQ(from_main.of(stored), once(millpond_store, millpond_of_program));
    EXPECT_TRUE(from_main.allocations.contains(size_of_malloc));
    const run sampled_run({}, 3, "--sample 1000/10000");
    const captured& sampled = *sampled_run.trace;
    EXPECT_NEAR(static_cast<double>(sampled.instructions) / static_cast<double>(all.instructions), 0.1, 0.02);
    EXPECT_TRUE(sampled.allocations.contains(size_of_malloc));  // of the heap nothing is left out
}

TEST_F(of_marked_program, a_window_is_all_that_is_done_within_a_function) {
    for (const std::string program : {MARKED_PROGRAM, MARKED_STATIC}) {
        const run all_run({}, 3, {}, program);
        const captured& all = *all_run.trace;
        const run windowed_run({}, 3, "--window endings_of_new", program);
        const captured& windowed = *windowed_run.trace;
        for (unsigned m = 0; m < mark_count; ++m) {
            const bool within = m >= in_new && m <= after_signal_jump;
            EXPECT_EQ(windowed.of(mark{m}), within ? all.of(mark{m}) : std::vector<touch>{}) << program << m;
        }
        EXPECT_LT(windowed.instructions, all.instructions - 1000);
        EXPECT_EQ(windowed.calls, all.calls);  // of the heap nothing is left out
        EXPECT_TRUE(windowed.allocations.contains(size_of_malloc));
    }
    const run never_run({}, 3, "--window no_function_of_this_name");
    EXPECT_EQ(never_run.trace->references, 0u);
    EXPECT_TRUE(never_run.trace->allocations.contains(size_of_malloc));
}

TEST_F(of_marked_program, a_window_is_open_while_any_thread_is_in_it) {
    const run all_run({}, 3);
    const captured& all = *all_run.trace;
    const run windowed_run({}, 3, "--window entered_by_two");
    const captured& windowed = *windowed_run.trace;
    for (unsigned m = 0; m < mark_count; ++m) {
        const bool within = m >= second_in_window && m <= last_in_window;
        EXPECT_EQ(windowed.of(mark{m}), within ? all.of(mark{m}) : std::vector<touch>{}) << m;
    }
    EXPECT_FALSE(windowed.of(beside_window).empty()) << "what the other thread does meanwhile is in the window";
}

TEST_F(of_marked_program, a_static_program_is_captured_as_well) {
    const run ran({}, 3, {}, MARKED_STATIC);
    captured c = *ran.trace;
    for (const unsigned bytes : {size_of_malloc, size_of_calloc, size_of_posix_memalign})
        EXPECT_TRUE(c.allocations.contains(bytes)) << bytes;
    EXPECT_EQ(c.allocations[size_of_realloc].flags, millpond_flag_realloc);
    for (const mark m : {after_new, after_throw, after_jump, after_signal_jump, after_tail_call})
        EXPECT_EQ(c.of(m), once(millpond_store, millpond_of_program)) << m;
}

TEST_F(of_marked_program, a_preloaded_malloc_is_the_allocator) {
    const std::string environment = std::string("env LD_PRELOAD=") + PRELOADED_MALLOC + " ";
    const folder at;
    const command_result ran(environment + capture_command(at / "trace.mpt", MARKED_PROGRAM));
    ASSERT_EQ(ran.status, 3);
    const captured c(at / "trace.mpt", std::stoull(ran.output, nullptr, 16));
    for (const unsigned bytes : {size_of_malloc, size_of_realloc, size_of_calloc, size_of_posix_memalign})
        EXPECT_TRUE(c.allocations.contains(bytes)) << bytes;
    EXPECT_EQ(c.unbalanced, 0u);
}

TEST_F(of_marked_program, a_kill_leaves_the_blocks_that_were_written) {
    const folder at;
    const std::string command = "exec " + capture_command(at / "trace.mpt", MARKED_PROGRAM + std::string(" kill"));
    FILE* const output = popen(command.c_str(), "r");
    unsigned long long marks = 0;
    int pid = 0;
    ASSERT_EQ(std::fscanf(output, "%llx %d", &marks, &pid), 2);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    const int ended = pclose(output);
    EXPECT_TRUE(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    const captured c(at / "trace.mpt", marks);
    EXPECT_EQ(c.of(after_fork), once(millpond_store, millpond_of_program));
    EXPECT_GT(c.totals.references, 1000000u);
}

// Returns the place where the index of a finished trace begins, which the last eight bytes tell.
std::uint64_t index_offset(const std::string& path) {
    std::ifstream from(path, std::ios::binary);
    std::uint64_t offset = 0;
    from.seekg(-static_cast<std::streamoff>(sizeof offset), std::ios::end);
    from.read(reinterpret_cast<char*>(&offset), sizeof offset);
    return offset;
}

TEST_F(of_marked_program, an_interrupted_capture_is_finished_later) {
    const folder at;
    const std::string file = at / "trace.mpt";
    // Simulates a kill of millpond-references: only the tool writes, and there is no index.
    const std::string partial = file + ".partial.4711.0";
    std::filesystem::copy_file(whole->file(), partial);
    std::filesystem::resize_file(partial, index_offset(partial));
    EXPECT_EQ(command_result(std::string(MILLPOND_REFERENCES) + " --finish " + file).status, 0);
    EXPECT_EQ(captured(file, whole->marks).of(stored), once(millpond_store, millpond_of_program));
    EXPECT_FALSE(std::filesystem::exists(file + ".partial.4711.0"));
    const command_result again(std::string(MILLPOND_REFERENCES) + " --finish " + file + " 2>&1");
    EXPECT_EQ(again.status, 3);
    EXPECT_NE(again.output.find("no unfinished capture"), std::string::npos) << again.output;
}

// The message is one sentence with the package to install.
TEST(without_valgrind, says_which_package_to_install) {
    const folder at;
    const command_result none("PATH=" + at.path().string() + " " + capture_command(at / "t", "/bin/true") + " 2>&1");
    EXPECT_EQ(none.status, 4);
    EXPECT_NE(none.output.find("not installed; install the package valgrind in version"), std::string::npos)
        << none.output;
    std::ofstream(at / "valgrind") << "#!/bin/sh\necho valgrind-3.99.0\n";
    std::filesystem::permissions(at / "valgrind", std::filesystem::perms::owner_all);
    const command_result other("PATH=" + at.path().string() + ":$PATH " + capture_command(at / "t", "/bin/true") +
                               " 2>&1");
    EXPECT_EQ(other.status, 4);
    EXPECT_NE(other.output.find("has version 3.99.0; install the package valgrind in version"), std::string::npos)
        << other.output;
    EXPECT_EQ(std::count(other.output.begin(), other.output.end(), '\n'), 1);
}

}  // namespace
