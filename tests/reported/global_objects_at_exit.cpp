// SPDX-License-Identifier: BSL-1.0
// Report: jemalloc/jemalloc 609, osrf/osrf_testing_tools_cpp 3
// Situation: static and thread_local objects of the program and of a library free and allocate while the process
//   ends, in the reverse order of their construction.
// Holds: all destructors run.
// Build: $CXX -O1 -g -std=c++20 -shared -fPIC -DPLUGIN $SOURCE -o libglobal_objects.so
// Build: $CXX -O1 -g -std=c++20 $SOURCE -o program ./libglobal_objects.so
#include <unistd.h>
#include <cstdio>
#include <map>
#include <string>
struct keeper {
    const char* name;
    std::map<int, std::string> texts;
    explicit keeper(const char* given) : name(given) {
        for (int i = 0; i < 100; ++i) texts[i] = std::string(30, 'x');
    }
    ~keeper() {
        texts.erase(50);
        std::string line = std::string("the end of ") + name + ", which is long enough for the heap\n";
        if (write(1, line.data(), line.size()) < 0) _exit(9);
    }
};
#ifdef PLUGIN
static keeper library_keeper("the library's object");
keeper& library() { return library_keeper; }
#else
keeper& library();
static keeper first("the first object");
static thread_local keeper own("the thread's object");
int main() {
    static keeper local("main's object");
    own.texts[1] = "touched";
    library().texts[2] = "touched";
    std::atexit([] { delete new std::string(100, 'y'); });
}
#endif
