// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/router.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "lab/trial/call_observer.hpp"
#include "lab/trial/exported_plan.hpp"
#include "lab/trial/pool_totals.hpp"
#include "lab/trial/process_record.hpp"
#include "preload/caller_words.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {
namespace {

constexpr std::size_t range_bytes_max = std::size_t{1} << 40;

pthread_key_t thread_end;
all_pool_counters private_counters{};
routes_view routes;
bool says_statistics = false;

const char* variable(char** environment, const char* name) noexcept {
    const std::size_t length = strlen(name);
    for (; environment != nullptr && *environment != nullptr; ++environment)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
    return nullptr;
}

std::ptrdiff_t offset_of_counters(process_slot* slot) noexcept {
    return reinterpret_cast<char*>(&slot->counted) - reinterpret_cast<char*>(&private_counters);
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

// The key of a call site for one pool: the address with the pool in its upper bits. Two equal keys would only find a
// wrong owner.
std::uintptr_t site_of(std::uint32_t index, std::uintptr_t return_address) noexcept {
    return return_address ^ (static_cast<std::uintptr_t>(index & 0xff) << 39);
}

}  // namespace

void router::start(char** environment) noexcept {
    const int before = errno;
    passes_to_libc_ = real::is_libc();
    const char* const path = variable(environment, control_variable);
    static constinit process_identity identity{};
    control* shared = path != nullptr ? process_record::map_control(path) : nullptr;
    if (path == nullptr) {
        routes = exported_plan::of_this_library();
        if (!routes.empty()) shared = use_exported_plan(identity);
        says_statistics = shared != nullptr && variable(environment, "MILLPOND_STATS") != nullptr;
    } else if (shared != nullptr) {
        process_record::identify(identity);
    }
    if (shared != nullptr && process_record::concerns(*shared, identity)) {
        latest_slot_ = process_record::claim(identity);
        process_record::describe(*latest_slot_);
        if (real::provider_is_bound())
            latest_slot_->malloc_in_executable = 1;
        else if (shared->mode != variant::empty)
            start_variant(shared->mode, shared->routes_path);
    }
    passes_everything_to_libc_ = passes_to_libc_ && !is_active_;
    errno = before;
}

// Reports another build of the plan's program, because its user expects pools. Other programs get no message.
control* router::use_exported_plan(process_identity& identity) noexcept {
    process_record::identify(identity);
    const char* const build = routes.text(routes.header().program_build_id);
    if (strcmp(build, identity.build_id) == 0) return process_record::make_control(build);
    if (strcmp(routes.text(routes.header().program_path), identity.executable) == 0)
        dprintf(STDERR_FILENO,
                "millpond: %s is not the build that the preloaded plan was made for: nothing is pooled\n",
                identity.executable);
    return nullptr;
}

void router::end() noexcept {
    if (!says_statistics || own_words.slot == nullptr) return;  // a child that used no pool has nothing to report
    for (std::size_t i = 0; i < pool_count_; ++i) {
        const pool_totals of = totals_in(*own_words.slot, i);
        dprintf(STDERR_FILENO, "millpond: %s: %llu allocations, %llu frees, %llu bytes held\n",
                routes.text(routes.pools()[i].name), static_cast<unsigned long long>(of.allocations),
                static_cast<unsigned long long>(of.frees()), static_cast<unsigned long long>(of.held_bytes));
    }
}

void router::start_variant(variant mode, const char* routes_path) noexcept {
    if (routes_path[0] != '\0') routes = map_routes(routes_path);
    if (pthread_key_create(&thread_end, &end_thread) != 0) return;
    if (pthread_atfork(nullptr, nullptr, &after_fork_in_child) != 0) return;
    looks_up_ = mode == variant::looked_up || mode == variant::plan || mode == variant::survey;
    if (looks_up_) {
        modules_.start(routes, latest_slot_->identity.executable);
        if (mode == variant::survey) {
            contexts_.set_module_observer(&process_record::note_module);
            process_record::note_loaded_modules(*latest_slot_);
        }
        if (!contexts_.start(routes, modules_)) return;
        context_space_.tree.set_observer(&on_node);
    }
    // looked_up makes no pools: that is its only difference from a plan.
    if (mode != variant::survey && mode != variant::looked_up && !start_pools(mode)) return;
    stops_at_owner_ = looks_up_ && !routes.empty();
    ignores_answer_ = mode == variant::looked_up;
    tells_children_ = madvise(&own_words, sizeof own_words, MADV_WIPEONFORK) == 0;
    adopt_words = &adopt;
    is_active_ = true;
    own_words.slot = latest_slot_;
    own_words.counters_offset = offset_of_counters(latest_slot_);
    own_words.generation = latest_generation_ = 1;
    own_words.small_max = pooled_bytes_max;
    if (mode == variant::plan) call_observer::start(routes, pools_, &name_thread);
}

bool router::start_pools(variant mode) noexcept {
    const bool planned = mode == variant::plan;
    const std::size_t count = planned ? (routes.empty() ? 0 : routes.header().pool_count) : 1;
    if (count > all_pool_counters::pools_max) return false;
    if (!space_.map.place(range_bytes_max)) return false;
    latest_slot_->range_bytes = space_.map.range_bytes();
    pools_ = preload::take_pages<pool>((count + 1) * sizeof(pool));
    if (pools_ == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) {
        const pool_kind kind = planned ? routes.pools()[i].kind : pool_kind::shared;
        const bool huge_pages = planned ? routes.pools()[i].huge_pages != 0 : mode == variant::shared_huge;
        has_instances_ |= kind == pool_kind::instances;
        auto* const its =
            new (pools_ + i) pool(space_, static_cast<std::uint16_t>(i), kind, huge_pages, private_counters.pools + i);
        if (!its->is_complete()) return false;
        own_pools_[i + 1] = its->of_one_thread();
        shared_pools_[i + 1] = its->of_all_threads();
        takers_<false>[i + 1] = taker_of<false>(kind);
        takers_<true>[i + 1] = taker_of<true>(kind);
        putters_[i] = putter_of(kind);
    }
    if (has_instances_) preload::caller_words::keep();
    if (!thread_caches::start(count, &private_counters)) return false;
    preload::holder_lock::before_waiting = &adopt_if_child;
    pool_count_ = count;
    real::make_room = &make_room;
    return true;
}

bool router::make_room(std::size_t) noexcept {
    if (!is_active_) return false;
    thread_caches::flush_this_thread();
    bool has_room = false;
    for (std::size_t i = 0; i < pool_count_; ++i) has_room |= pools_[i].give_up();
    return space_.unmap_free() || has_room;  // the slabs of ended threads' arenas are free there, too
}

void router::on_node(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    contexts_.on_node(id, parent, return_address);
    process_slot* const slot = own_words.slot;
    if (slot == nullptr) return;  // a signal handler interrupted this call, and its child finishes it
    slot->nodes = id;
    slot->module_count = modules_.found();
    slot->module_misses = modules_.missed();
    memcpy(slot->modules_met, modules_.met(), sizeof slot->modules_met);
}

// Every frame is a child of node 0: the tree is then a table of addresses, as small as the program's code. Answers are
// kept, except for code without a file (`generated`), because other code may be loaded there.
std::uint32_t router::pool_of_owner(const call_site& site) noexcept {
    const auto answer_of = [](std::uintptr_t address, const preload::frame_rule& rule, bool lasts) {
        const std::uint32_t node = context_space_.tree.child(0, address);
        const frame_answer answer = contexts_.answer_of(node);
        if (!lasts || node == 0) return answer;
        if (answer.rests_on == frame_answer::footing::owner)
            owners_.keep(address, ignores_answer_ ? 0 : answer.pool);
        else
            outward_.learn(address, rule);
        return answer;
    };
    return walk_to_owner(site, context_space_.rules, contexts_.answer_of(0), preload::context_tree::generated,
                         answer_of)
        .pool;
}

void* router::allocate_for_owner(std::uint32_t index, std::size_t bytes, std::size_t alignment,
                                 const call_site& site) noexcept {
    using preload::caller_words;
    std::uint64_t position = positions_.match(site_of(index, site.return_address));
    if (position >= owner_cache::no_match) [[unlikely]]
        position = find_position(index, site.return_address);
    const bool is_known = position < caller_words::registers ||
                          (position < caller_words::count && position < caller_words::readable(site));
    const std::uintptr_t owner = is_known ? caller_words::at(static_cast<std::uint32_t>(position), site) : 0;
    return pools_[index].allocate_for(owner, bytes, alignment, thread_.id());
}

// This thread may hold the lock, below a signal handler: then the answer is left for another time.
std::uint32_t router::find_position(std::uint32_t index, std::uintptr_t return_address) noexcept {
    constexpr unsigned none = preload::word_position::count;
    if (!context_space_.tree.lock().try_lock()) return none;
    const module_finder::place place = modules_.find(return_address);
    context_space_.tree.lock().unlock();
    const std::uint32_t position =
        place.module == nullptr ? none : routes.position_of(*place.module, place.file_address, index + 1, none);
    positions_.keep(site_of(index, return_address), static_cast<std::uint8_t>(position));
    return position;
}

void router::start_thread() noexcept {
    adopt_if_child();
    // An earlier thread on this stack could not release its state, because its first event was one of its last.
    if (thread_.generation == thread_state::never)
        for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].end_thread(thread_.id());
    thread_.counters = process_record::claim_line(*own_words.slot, thread_.id());
    thread_.generation = own_words.generation;
    if (looks_up_ && !stops_at_owner_ && !thread_.has_finder) {
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
    call_observer::frame_continues(UINTPTR_MAX);
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].end_thread(thread_.id());
    if (thread_.generation == own_words.generation) process_record::release_line(*own_words.slot, thread_.counters);
    thread_.generation = thread_state::never;
}

void* router::allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept {
    // If a class is a multiple of the alignment, its blocks are aligned. The pool looks for such a class.
    if (alignment > max_class_alignment || (alignment & (alignment - 1)) != 0) {
        if (is_active_) ++thread().counters->passed_large;
        return real::allocate_aligned(alignment, bytes);
    }
    if (bytes - 1 >= own_words.small_max && !is_small_in_child(bytes)) return real::allocate_aligned(alignment, bytes);
    const std::size_t usual = alignment_for(bytes);
    const std::size_t wanted = alignment > usual ? alignment : usual;
    if (void* const p = allocate_from(looks_up_ ? pool_of(site) : 1, bytes, wanted, site)) return p;
    if (void* const p = real::allocate_aligned(alignment, bytes)) return p;
    return allocate_wherever(bytes, wanted);
}

void* router::allocate_wherever(std::size_t bytes, std::size_t alignment) noexcept {
    const int before = errno;
    for (std::size_t size = pool::block_bytes(bytes, alignment); size != 0;
         size = pool::block_bytes(size + 1, alignment))
        for (std::size_t i = 0; i < pool_count_; ++i)
            if (void* const p = pools_[i].allocate_if_usable(size, alignment, thread_.id())) return p;
    errno = before;
    return nullptr;
}

void* router::reallocate(void* old, std::size_t bytes, const call_site& site) noexcept {
    const preload::slab_owner owner = space_.map.owner_of(old);
    if (owner.block_bytes == 0) return real::reallocate(old, bytes);
    if (own_words.small_max == 0) [[unlikely]]
        adopt_if_child();
    const std::size_t held = pools_[owner.pool].usable_bytes(old, owner);
    // A block that would be mostly empty is moved, unless it is small.
    const bool fits = bytes <= held;
    if (fits && (bytes >= held / 4 || held <= 128)) return old;
    void* fresh = nullptr;
    if (bytes - 1 < pooled_bytes_max)
        fresh = pools_[owner.pool].allocate(bytes, alignment_for(bytes), name_thread(), site.stack);
    if (fresh == nullptr && fits) return old;
    if (fresh == nullptr) fresh = real::allocate(bytes);
    if (fresh == nullptr && bytes <= pooled_bytes_max) fresh = allocate_wherever(bytes, alignment_for(bytes));
    if (fresh == nullptr) return nullptr;
    memcpy(fresh, old, fits ? bytes : held);
    pools_[owner.pool].deallocate(old, owner, thread_.id(), site.stack);
    return fresh;
}

void router::after_unload() noexcept {
    if (!looks_up_) return;
    adopt_if_child();
    {
        const preload::spin_guard guard(context_space_.tree.lock());
        modules_.forget();
    }
    constexpr std::uintptr_t pseudo_addresses_last = 3;
    context_space_.forget(pseudo_addresses_last, UINTPTR_MAX);
    positions_.clear();
    outward_.clear();
    owners_.clear();  // last, so that no look-up fills it with the forgotten answers
}

void router::after_fork_in_child() noexcept {
    // A signal handler may have come first and adopted.
    if (!tells_children_) own_words = {};
    adopt_if_child();
}

// Signals are blocked meanwhile, so that no handler of this thread finds the adoption incomplete. Other threads wait
// for a few system calls.
void router::adopt() noexcept {
    const int before = errno;
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    if (__atomic_exchange_n(&own_words.adopting, 1, __ATOMIC_ACQUIRE) == 0)
        adopt_alone();
    else
        while (__atomic_load_n(&own_words.generation, __ATOMIC_ACQUIRE) == 0) sched_yield();
    pthread_sigmask(SIG_SETMASK, &usual, nullptr);
    errno = before;
}

void router::adopt_alone() noexcept {
    // The thread that the child was copied with is its first. Only if that thread adopts are its own calls known.
    const bool is_first = syscall(SYS_gettid) == syscall(SYS_getpid);
    const preload::holder_lock::thread_id survivor = is_first ? preload::slab_space::this_thread() : 0;
    space_.lock.retire_unless_held_by(survivor);
    thread_caches::retire_unless_held_by(survivor);
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].retire_unless_of(is_first ? thread_.id() : 0, survivor);
    // The tree is consistent at every step, and an interrupted call of this thread continues as the only one. But the
    // modules' remembered answers may be incomplete.
    if (!context_space_.tree.lock().try_lock() && !thread_.finding) modules_.forget();
    context_space_.tree.lock().unlock();
    latest_slot_ = process_record::claim_for_child(*latest_slot_);
    own_words.slot = latest_slot_;
    own_words.counters_offset = offset_of_counters(latest_slot_);
    for (std::size_t i = 0; i < pool_count_; ++i) pools_[i].report_inherited();
    thread_caches::report_inherited();
    __atomic_store_n(&own_words.generation, ++latest_generation_, __ATOMIC_RELEASE);
    __atomic_store_n(&own_words.small_max, pooled_bytes_max, __ATOMIC_RELEASE);
}

}  // namespace millpond::trial
