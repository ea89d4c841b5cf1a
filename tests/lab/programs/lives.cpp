// SPDX-License-Identifier: BSL-1.0
// lives: threads that end in every order. A random generator draws their actions and those of their destructors.
//
//   lives SEED WAVES         prints the seed and "ok"; a block whose bytes have changed ends it with status 2
//   lives grow KIND COUNT    COUNT threads of one kind one after the other; says whether memory grew with them
//   lives leave SEED         main leaves by pthread_exit while others live
//
// A life never allocates, allocates, or frees what others have allocated. It has thread_local objects, objects of a
// library that is closed again, and keys whose destructors allocate and free in one to six rounds. It returns, leaves
// or is cancelled, joined or detached, on a stack of any size: the C library keeps some. The program forks in between.
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) {}
    unsigned up_to(unsigned limit) {  // 0 … limit
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<unsigned>((state_ >> 33) % (limit + std::uint64_t{1}));
    }
    bool one_in(unsigned parts) { return up_to(parts - 1) == 0; }

  private:
    std::uint64_t state_;
};

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "lives: %s\n", what);
    _exit(2);
}

// ── blocks that know what stands in them ──

struct block {
    std::size_t bytes;
    unsigned char filled;
};

bool makes_large_blocks = true;

block* make(random_numbers& random) {
    constexpr unsigned sizes[] = {24, 40, 100, 500, 3000, 20000, 90000};
    const bool may_be_large = makes_large_blocks && random.one_in(20);
    const std::size_t bytes = sizeof(block) + random.up_to(sizes[random.up_to(may_be_large ? 6 : 4)]);
    auto* const made = static_cast<block*>(std::malloc(bytes));
    if (made == nullptr) fail("no memory");
    made->bytes = bytes;
    made->filled = static_cast<unsigned char>(random.up_to(255));
    std::memset(made + 1, made->filled, bytes - sizeof(block));
    return made;
}

void check_and_free(block* one) {
    if (one == nullptr) return;
    const auto* const bytes = reinterpret_cast<unsigned char*>(one + 1);
    for (std::size_t i = 0; i < one->bytes - sizeof(block); ++i)
        if (bytes[i] != one->filled) fail("a block has changed");
    std::free(one);
}

constexpr unsigned shelf_places = 256;
std::atomic<block*> shelf[shelf_places];  // from which any thread frees what another has made

void act(random_numbers& random, unsigned times, bool allocates) {
    for (unsigned i = 0; i < times; ++i) {
        std::atomic<block*>& place = shelf[random.up_to(shelf_places - 1)];
        if (allocates && random.one_in(2))
            check_and_free(place.exchange(make(random)));
        else
            check_and_free(place.exchange(nullptr));
        if (allocates && random.one_in(4)) check_and_free(make(random));
    }
}

// ── what ends with a thread ──

struct life {
    std::uint64_t seed;
    bool allocates, frees, has_objects, opens_library, cleans_up, is_cancelled, leaves, acts_last;
    unsigned keys, rounds;
};

// The random state of a thread's destructors; it lies on the thread's stack, so that nothing allocates it.
thread_local std::uint64_t end_seed;
thread_local bool end_allocates;

struct object_of_a_thread {
    ~object_of_a_thread() {
        check_and_free(kept);
        random_numbers random(end_seed ^ 1);
        act(random, 3, end_allocates);
    }
    block* kept = nullptr;
};
thread_local object_of_a_thread object;

constexpr unsigned key_count = 60;  // more than the C library has room for in a thread's descriptor
pthread_key_t keys[key_count];

// Destroys a key's value, which is the number of rounds left.
void end_of_key(void* value) {
    const auto rounds = reinterpret_cast<std::uintptr_t>(value);
    random_numbers random(end_seed + rounds * 977);
    act(random, random.up_to(3), end_allocates || rounds == 1);
    if (rounds > 1) pthread_setspecific(keys[random.up_to(key_count - 1)], reinterpret_cast<void*>(rounds - 1));
}

// A key that acts only in the last round of destructors, after which the C library calls none.
pthread_key_t last_key;

void end_of_last_key(void* value) {
    const auto round = reinterpret_cast<std::uintptr_t>(value);
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(last_key, reinterpret_cast<void*>(round + 1));
        return;
    }
    random_numbers random(end_seed ^ 3);
    act(random, 6, true);
}

void clean_up(void* own_life) {
    if (!static_cast<const life*>(own_life)->cleans_up) return;
    random_numbers random(end_seed ^ 2);
    act(random, 2, end_allocates);
}

const char* plugin_path = nullptr;

void use_plugin() {
    void* const library = dlopen(plugin_path, RTLD_NOW);
    if (library == nullptr) fail(dlerror());
    void* const touch = dlsym(library, "lives_plugin_touch");
    reinterpret_cast<void (*)()>(touch)();
    dlclose(library);
}

void* live(void* word) {
    life mine = *static_cast<life*>(word);
    end_seed = mine.seed;
    end_allocates = mine.allocates;
    random_numbers random(mine.seed);
    pthread_cleanup_push(clean_up, &mine);
    if (mine.has_objects) object.kept = mine.allocates ? make(random) : nullptr;
    if (mine.opens_library) use_plugin();
    if (mine.allocates || mine.frees) act(random, random.up_to(20), mine.allocates);
    if (mine.acts_last) pthread_setspecific(last_key, reinterpret_cast<void*>(std::uintptr_t{1}));
    for (unsigned i = 0; i < mine.keys; ++i)
        pthread_setspecific(keys[random.up_to(key_count - 1)],
                            reinterpret_cast<void*>(std::uintptr_t{1} + random.up_to(mine.rounds)));
    if (random.one_in(3)) sched_yield();
    if (mine.is_cancelled)
        for (;;) pause();
    if (mine.leaves) pthread_exit(nullptr);
    pthread_cleanup_pop(1);
    return nullptr;
}

// Draws a life. A quiet thread has no events of its own, only those of the C library at its end.
life draw(random_numbers& random, bool is_quiet) {
    life one{};
    one.seed = (std::uint64_t{random.up_to(~0u)} << 32) | random.up_to(~0u);
    one.is_cancelled = random.one_in(is_quiet ? 20 : 6);
    one.acts_last = random.one_in(10);
    if (is_quiet) return one;
    one.allocates = random.one_in(2);
    one.frees = random.one_in(2);
    one.has_objects = random.one_in(3);
    one.opens_library = random.one_in(12);
    one.cleans_up = random.one_in(2);
    one.leaves = random.one_in(4);
    one.keys = random.one_in(2) ? random.up_to(6) : 0;
    one.rounds = random.up_to(5);
    return one;
}

// ── waves of threads ──

constexpr unsigned wave_max = 20;
// The lives of all threads; detached threads read theirs even after main has returned.
std::vector<life>& lives = *new std::vector<life>;

struct started {
    pthread_t name;
    bool is_detached, is_cancelled;
};

started start(life& one, random_numbers& random, bool may_detach) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    constexpr std::size_t stacks[] = {64 << 10, 256 << 10, 1 << 20, 8 << 20, 40 << 20};
    pthread_attr_setstacksize(&attributes, random.one_in(3) ? stacks[random.up_to(4)] : std::size_t{8} << 20);
    const bool is_detached = may_detach && !one.is_cancelled && random.one_in(2);
    pthread_attr_setdetachstate(&attributes, is_detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    started made{0, is_detached, one.is_cancelled};
    if (pthread_create(&made.name, &attributes, live, &one) != 0) fail("no thread");
    pthread_attr_destroy(&attributes);
    return made;
}

void run_wave(random_numbers& random, bool may_detach) {
    started wave[wave_max];
    const unsigned count = 1 + random.up_to(wave_max - 1);
    const bool is_quiet = random.one_in(2);
    for (unsigned i = 0; i < count; ++i) {
        lives.push_back(draw(random, is_quiet && !random.one_in(8)));
        wave[i] = start(lives.back(), random, may_detach);
        if (random.one_in(5)) act(random, 10, true);
    }
    for (unsigned i = 0; i < count; ++i) {
        if (wave[i].is_detached) continue;
        if (wave[i].is_cancelled) pthread_cancel(wave[i].name);
        pthread_join(wave[i].name, nullptr);
    }
}

// Runs the child, a copy in which other threads stopped anywhere; it starts threads of its own.
void run_child(random_numbers& random) {
    const pid_t child = fork();
    if (child < 0) fail("no child");
    if (child == 0) {
        random_numbers own(random.up_to(~0u));
        for (std::atomic<block*>& place : shelf) place = nullptr;  // half made, some of them
        for (unsigned i = 0; i < 2; ++i) run_wave(own, false);
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) fail("a child died");
}

void run_waves(std::uint64_t seed, unsigned waves) {
    random_numbers random(seed);
    lives.reserve(std::size_t{waves} * wave_max + std::size_t{64} * wave_max);
    for (unsigned i = 0; i < waves; ++i) {
        run_wave(random, true);
        if (random.one_in(10)) run_child(random);
        if (random.one_in(4)) usleep(random.up_to(1500));  // detached threads end meanwhile
    }
}

// ── memory ──

long resident_kib() {
    long whole = 0, resident = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &whole, &resident) != 2) fail("no statm");
    std::fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

life life_of(const std::string& kind) {
    life one{};
    one.seed = 7;
    if (kind == "busy")
        one.allocates = one.frees = one.has_objects = one.cleans_up = true, one.keys = 5, one.rounds = 2;
    if (kind == "frees") one.frees = true;
    if (kind == "keys") one.keys = 8, one.rounds = 5;
    if (kind == "last") one.acts_last = true;
    if (kind == "library") one.opens_library = true;
    return one;
}

void run_some(life& one, unsigned count, random_numbers& random) {
    constexpr unsigned at_once = 8;
    for (unsigned i = 0; i < count; i += at_once) {
        pthread_t names[at_once];
        for (unsigned k = 0; k < at_once; ++k) {
            if (one.frees && !one.allocates) act(random, 4, true);
            if (pthread_create(&names[k], nullptr, live, &one) != 0) fail("no thread");
        }
        for (const pthread_t name : names) pthread_join(name, nullptr);
    }
}

// Checks the growth of memory. A few pages may come late, as may the states of more simultaneous threads than before:
// that happens a few times. Memory that grows with ended threads grows in every span of them.
int grow(const std::string& kind, unsigned count) {
    life one = life_of(kind);
    makes_large_blocks = false;
    random_numbers random(1);
    run_some(one, count / 4, random);
    constexpr int spans = 5;
    const long allowed = 256 + static_cast<long>(count) * 16 / 1024;  // a thread's least possible loss is 16 bytes
    long more[spans];
    for (long& each : more) {
        const long before = resident_kib();
        run_some(one, count, random);
        each = resident_kib() - before;
        if (each <= allowed) {
            std::puts("ok");
            return 0;
        }
    }
    for (const long each : more) std::printf("%ld KiB more after %u threads of kind %s\n", each, count, kind.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "1";
    const std::string here = argv[0];
    plugin_path = (new std::string(here.substr(0, here.find_last_of('/') + 1) + "lives_plugin.so"))->c_str();
    if (pthread_key_create(&last_key, end_of_last_key) != 0) fail("no key");
    for (pthread_key_t& each : keys)
        if (pthread_key_create(&each, end_of_key) != 0) fail("no key");
    if (mode == "grow" && argc == 4) return grow(argv[2], static_cast<unsigned>(std::atoi(argv[3])));
    const bool leaves = mode == "leave" && argc == 3;
    const auto seed = static_cast<std::uint64_t>(std::atoll(leaves ? argv[2] : mode.c_str()));
    run_waves(seed, leaves ? 4 : argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 30);
    std::printf("seed %llu ok\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    if (leaves) pthread_exit(nullptr);
    return 0;
}
