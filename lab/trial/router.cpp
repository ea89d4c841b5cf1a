// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/router.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include "lab/trial/process_record.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {
namespace {

constexpr std::size_t reservation_bytes_max = std::size_t{1} << 40;
constexpr std::size_t nodes_max = std::size_t{32} << 20;
constexpr std::size_t nodes_max_limited = std::size_t{1} << 20;

pthread_key_t thread_end;
routes_view routes;

const char* variable(char** environment, const char* name) noexcept {
    const std::size_t length = strlen(name);
    for (; environment != nullptr && *environment != nullptr; ++environment)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
    return nullptr;
}

std::size_t address_limit() noexcept {
    rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

routes_view map_routes(const char* path) noexcept {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const off_t bytes = lseek(file, 0, SEEK_END);
    void* const mapped =
        bytes > 0 ? mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    return mapped == MAP_FAILED ? routes_view{} : routes_view(mapped, static_cast<std::size_t>(bytes));
}

}  // namespace

void router::start(char** environment) noexcept {
    const int before = errno;
    passes_to_libc_ = real::is_libc();
    const char* const path = variable(environment, control_variable);
    control* const shared = path != nullptr ? process_record::map_control(path) : nullptr;
    static constinit process_identity identity{};
    if (shared != nullptr) process_record::identify(identity);
    if (shared != nullptr && process_record::concerns(*shared, identity)) {
        slot_ = process_record::claim(identity);
        process_record::describe(*slot_);
        if (shared->mode != variant::empty) start_variant(shared->mode, shared->routes_path);
    }
    errno = before;
}

void router::start_variant(variant mode, const char* routes_path) noexcept {
    if (routes_path[0] != '\0') routes = map_routes(routes_path);
    if (pthread_key_create(&thread_end, &end_thread) != 0) return;
    if (pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child) != 0) return;
    const bool looks_up = mode == variant::looked_up || mode == variant::plan || mode == variant::survey;
    if (looks_up) {
        modules_.start(routes, slot_->identity.executable);
        if (mode == variant::survey) {
            contexts_.set_module_observer(&process_record::note_module);
            process_record::note_loaded_modules(*slot_);
        }
        if (!contexts_.start(routes, modules_, address_limit() == SIZE_MAX ? nodes_max : nodes_max_limited)) return;
        context_space_.tree.set_observer(&on_node);
    }
    if (mode != variant::survey && !start_pools(mode)) return;
    looks_up_ = looks_up;
    ignores_answer_ = mode == variant::looked_up;
    small_max_ = pooled_bytes_max;
}

// Where addresses are limited, most of them stay with the program: what finds no room in a pool goes to its allocator.
std::size_t router::reservation_bytes() noexcept {
    const std::size_t limit = address_limit();
    rlimit data;
    const std::size_t data_limit =
        getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY ? data.rlim_cur : SIZE_MAX;
    const std::size_t smaller = limit < data_limit ? limit : data_limit;
    return smaller / 4 < reservation_bytes_max ? smaller / 4 : reservation_bytes_max;
}

bool router::start_pools(variant mode) noexcept {
    const bool planned = mode == variant::plan;
    const std::size_t count = planned ? (routes.empty() ? 0 : routes.header().pool_count) : 1;
    if (count > process_slot::pools_max) return false;
    if (!space_.map.reserve(reservation_bytes())) return false;
    slot_->reserved_bytes = space_.map.reserved_bytes();
    pools_ = preload::take_pages<pool>((count + 1) * sizeof(pool));
    if (pools_ == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) {
        const bool synchronized = !planned || routes.pools()[i].synchronized != 0;
        const bool huge_pages = planned ? routes.pools()[i].huge_pages != 0 : mode == variant::shared_huge;
        new (pools_ + i) pool(space_, static_cast<std::uint16_t>(i), synchronized, huge_pages, slot_->pools + i);
    }
    pool_count_ = count;
    return true;
}

void router::on_node(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    contexts_.on_node(id, parent, return_address);
    slot_->nodes = id;
    slot_->module_count = modules_.found();
    slot_->module_misses = modules_.missed();
}

void router::start_thread() noexcept {
    thread_.counters = process_record::claim_line(*slot_);
    if (looks_up_ && !thread_.has_finder) {
        new (thread_.finder_storage) preload::context_finder(context_space_);
        thread_.has_finder = true;
    }
    const int before = errno;
    pthread_setspecific(thread_end, &thread_);
    errno = before;
}

void router::end_thread(void*) noexcept {
    if (thread_.has_finder) {
        thread_.has_finder = false;
        thread_.finder().~context_finder();
    }
    process_record::release_line(*slot_, thread_.counters);
    thread_.counters = nullptr;
}

void* router::allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept {
    // A block of a class that is a multiple of the alignment is aligned by itself; that is what the pool looks for.
    if (bytes - 1 >= small_max_ || alignment > max_class_alignment || (alignment & (alignment - 1)) != 0) {
        count(&thread_counters::passed_large);
        return real::allocate_aligned(alignment, bytes);
    }
    const std::size_t usual = alignment_for(bytes);
    if (void* const p = allocate_small(bytes, alignment > usual ? alignment : usual, site)) return p;
    return real::allocate_aligned(alignment, bytes);
}

void* router::reallocate(void* old, std::size_t bytes, const call_site&) noexcept {
    const preload::slab_owner owner = space_.map.owner_of(old);
    if (owner.block_bytes == 0) return real::reallocate(old, bytes);
    const std::size_t held = owner.block_bytes;
    // A block that would be mostly empty is worth a move, unless it is small anyway.
    const bool fits = bytes <= held;
    if (fits && (bytes >= held / 4 || held <= 128)) return old;
    void* fresh = nullptr;
    if (bytes - 1 < small_max_) fresh = pools_[owner.pool].allocate(bytes, alignment_for(bytes), thread_.id());
    if (fresh == nullptr && fits) return old;
    if (fresh == nullptr) fresh = real::allocate(bytes);
    if (fresh == nullptr) return nullptr;
    memcpy(fresh, old, fits ? bytes : held);
    pools_[owner.pool].deallocate(old, held, thread_.id());
    return fresh;
}

void router::after_unload() noexcept {
    if (!looks_up_) return;
    {
        const preload::spin_guard guard(context_space_.tree.lock());
        modules_.forget();
    }
    constexpr std::uintptr_t pseudo_addresses_last = 3;
    context_space_.forget(pseudo_addresses_last, UINTPTR_MAX);
}

// All locks are held over a fork, in the order in which allocations take them.
void router::before_fork() noexcept {
    context_space_.tree.lock().lock();
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].before_fork();
    space_.lock.lock();
}

void router::after_fork_in_parent() noexcept {
    space_.lock.unlock();
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].after_fork();
    context_space_.tree.lock().unlock();
}

void router::after_fork_in_child() noexcept {
    process_slot* const parent = slot_;
    slot_ = process_record::claim_for_child(*parent);
    space_.lock.reset();
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].in_child(thread_.id(), slot_->pools + i);
    if (thread_.counters != nullptr) thread_.counters = process_record::claim_line(*slot_);
    context_space_.tree.lock().unlock();
}

}  // namespace millpond::trial
