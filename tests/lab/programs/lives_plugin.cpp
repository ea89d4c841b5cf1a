// SPDX-License-Identifier: BSL-1.0
// A library that lives.cpp opens and closes while objects of it still wait for the end of their thread.
#include <cstdlib>

namespace {

struct object_of_a_thread {
    object_of_a_thread() : kept(std::malloc(100)), other(std::malloc(3000)) {}
    ~object_of_a_thread() {
        std::free(kept);
        std::free(std::malloc(50));
        std::free(other);
    }
    object_of_a_thread(const object_of_a_thread&) = delete;
    object_of_a_thread& operator=(const object_of_a_thread&) = delete;
    void* kept;
    void* other;
};
thread_local object_of_a_thread object;
thread_local char room[5000];  // dynamic thread-local storage, which the C library allocates and frees

}  // namespace

extern "C" [[gnu::visibility("default")]] void lives_plugin_touch() {
    room[0] = static_cast<char>(room[0] + (object.kept != nullptr));
}
