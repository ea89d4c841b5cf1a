// SPDX-License-Identifier: BSL-1.0
// os::faults: the function that is called for a fault, the repeated access, and faults that no function repairs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "millpond/os/faults.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::os {
namespace {

char* closed_page = nullptr;
// The functions that were called, in order. They write it within an access that the compiler cannot analyse.
const char* volatile order_of_calls[4] = {};
volatile int calls = 0;

void note_call(const char* of) {
    order_of_calls[calls] = of;
    calls = calls + 1;
}

void close_a_page() {
    closed_page = static_cast<char*>(pages::reserve(pages::granularity()));
    if (closed_page == nullptr || !pages::commit(closed_page, pages::size())) std::_Exit(2);
    closed_page[0] = 'x';
    if (!pages::protect(closed_page, pages::size())) std::_Exit(2);
}

bool note_first(const fault&) noexcept {
    note_call("first");
    return false;
}

bool open_page(const fault& what) noexcept {
    note_call("opens");
    return what.address == closed_page && pages::commit(closed_page, pages::size());
}

#if defined(__linux__) && defined(__x86_64__)
volatile bool is_a_write_seen = false;
bool note_write(const fault& what) noexcept {
    is_a_write_seen = what.is_write && what.instruction != nullptr && what.register_count > 0;
    return pages::commit(closed_page, pages::size());
}
#endif

// Returns the wait status of a child that runs `act`; signals and handlers are the child's own.
template <class Action>
int status_of(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        action();
        std::_Exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

TEST(faults, repaired_access_goes_on_and_contents_stay) {
    EXPECT_EQ(status_of([] {
                  close_a_page();
                  if (!faults::watch(&open_page)) std::_Exit(3);
                  if (*static_cast<volatile char*>(closed_page) != 'x' || calls != 1) std::_Exit(4);
              }),
              0);
}

TEST(faults, latest_function_is_asked_first) {
    EXPECT_EQ(status_of([] {
                  close_a_page();
                  faults::watch(&open_page);
                  faults::watch(&note_first);
                  *static_cast<volatile char*>(closed_page) = 'y';
                  if (calls != 2 || order_of_calls[0][0] != 'f' || order_of_calls[1][0] != 'o') std::_Exit(3);
              }),
              0);
}

#if defined(__linux__) && defined(__x86_64__)
TEST(faults, writes_are_told_from_reads) {
    EXPECT_EQ(status_of([] {
                  close_a_page();
                  faults::watch(&note_write);
                  *static_cast<volatile char*>(closed_page) = 'y';
                  if (!is_a_write_seen) std::_Exit(3);
              }),
              0);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end such programs in their own way
TEST(faults, unknown_fault_ends_the_program_as_usual) {
    const int status = status_of([] {
        close_a_page();
        faults::watch(&note_first);
        *static_cast<volatile char*>(closed_page) = 'y';
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(faults, signal_that_was_sent_asks_no_function) {
    const int status = status_of([] {
        faults::watch([](const fault&) noexcept -> bool { std::_Exit(5); });
        raise(SIGSEGV);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}
#endif

TEST(faults, unknown_fault_reaches_the_handler_before) {
    const int plain = status_of([] {
        struct sigaction own{};
        own.sa_handler = [](int) { std::_Exit(7); };
        sigaction(SIGSEGV, &own, nullptr);
        close_a_page();
        faults::watch(&note_first);
        *static_cast<volatile char*>(closed_page) = 'y';
    });
    EXPECT_EQ(WEXITSTATUS(plain), 7);
    const int with_facts = status_of([] {
        struct sigaction own{};
        own.sa_flags = SA_SIGINFO;
        own.sa_sigaction = [](int, siginfo_t* what, void*) { std::_Exit(what->si_addr == closed_page ? 8 : 9); };
        sigaction(SIGSEGV, &own, nullptr);
        close_a_page();
        faults::watch(&note_first);
        *static_cast<volatile char*>(closed_page) = 'y';
    });
    EXPECT_EQ(WEXITSTATUS(with_facts), 8);
}

TEST(faults, ignored_signal_that_was_sent_stays_ignored) {
    EXPECT_EQ(status_of([] {
                  signal(SIGSEGV, SIG_IGN);
                  faults::watch(&note_first);
                  raise(SIGSEGV);
              }),
              0);
}

TEST(faults, no_more_functions_than_there_is_room_for) {
    EXPECT_EQ(status_of([] {
                  for (std::size_t i = 0; i < faults::most_functions; ++i) {
                      if (!faults::watch(&note_first)) std::_Exit(3);
                  }
                  if (faults::watch(&note_first)) std::_Exit(4);
              }),
              0);
}

}  // namespace
}  // namespace millpond::os
