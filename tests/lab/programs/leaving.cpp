// SPDX-License-Identifier: BSL-1.0
// leaving: programs that end inside the function whose objects are alive, and programs that return from it.
//
//   main ─ app::work (frees all, returns) ─ app::work (left from inside, while 2 000 objects live)
//   main ─ app::load (keeps 500 objects) ─ rest::other: kept leaves them · later frees them · touched reads them
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <string_view>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace app {

int held = 0;

[[gnu::noinline]] void nested(int depth) {
    if (depth <= held) std::exit(0);
    if (depth > 1) nested(depth - 1);
    held += depth;  // so that the call is not compiled to a jump
}

void leave(std::string_view how) {
    if (how == "exit") std::exit(0);
    if (how == "_exit") _exit(0);
    if (how == "quick_exit") std::quick_exit(0);
    if (how == "abort") std::abort();
    if (how == "term") std::raise(SIGTERM);
    if (how == "kill") std::raise(SIGKILL);
    if (how == "exec") execl("/bin/true", "true", nullptr);
    if (how == "nested") nested(2000);
    if (how == "other_thread") std::thread([] { std::exit(0); }).join();
    if (how == "pthread_exit") pthread_exit(nullptr);
    if (how == "waiting") pause();
}

[[gnu::noinline]] void work(std::string_view how) {
    std::list<std::string> names;
    for (int i = 0; i < 1000; ++i) names.push_back(std::string(40, 'x'));
    leave(how);
    held += static_cast<int>(names.size());
}

char* kept[500];

[[gnu::noinline]] void load() {
    for (char*& each : kept) each = new char[100]();
    held += kept[7][3];
}

}  // namespace app

namespace rest {

[[gnu::noinline]] void other(std::string_view how) {
    for (int i = 0; i < 200; ++i) {
        std::list<int> more(10, i);
        app::held += more.front();
    }
    for (char* each : app::kept) {
        if (how == "later") delete[] each;
        if (how == "touched") app::held += each[50];
    }
}

}  // namespace rest

int main(int count, char** words) {
    const std::string_view how = count > 1 ? words[1] : "";
    if (how == "kept" || how == "later" || how == "touched") {
        app::load();
        rest::other(how);
    } else if (how == "much") {
        for (int i = 0; i < 300; ++i) app::work("");
    } else if (how == "running") {
        std::thread(app::work, "").join();
        std::thread(app::work, "waiting").detach();
        usleep(200'000);
    } else {
        app::work("");
        app::work(how);
    }
    std::printf("%d\n", app::held);
}
