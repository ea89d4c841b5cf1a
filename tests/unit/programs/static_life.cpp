// SPDX-License-Identifier: BSL-1.0
// static_life: chunk_cache serves constructors before main and destructors after it, and a leak checker stays silent.
#include <cstdio>
#include <cstring>
#include <millpond/millpond.hpp>
#include <vector>

namespace {

// An object that uses the cache in its constructor and its destructor.
struct user {
    explicit user(const char* its_name) : name(its_name) { use(); }
    ~user() {
        use();
        std::printf("%s\n", name);
    }
    static void use() {
        millpond::multipool<> pool;
        std::memset(pool.allocate(100000, 8), 1, 100000);
        std::memset(pool.allocate(100, 8), 1, 100);
    }
    const char* name;
};

user before_everything("made first, destroyed last");
millpond::multipool<> static_pool;
std::vector<int, millpond::allocator<int, millpond::multipool<>>> static_vector(1000, 1, &static_pool);
user after_everything("made last, destroyed first");

}  // namespace

int main() {
    // Never released, yet reachable: what lies in it is no leak.
    static auto* const immortal = new millpond::multipool<>;
    static void* const block = immortal->allocate(24, 8);
    return block == nullptr;
}
