// SPDX-License-Identifier: BSL-1.0
#include "lab/record/description.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <time.h>

#include "lab/record/system.hpp"
#include "lab/trace/seal.h"
#include "lab/trace/writer.h"
#include "preload/own_program.hpp"
#include "preload/pages.hpp"
#include "preload/real.hpp"

namespace millpond::record {
namespace {

using build_id = image_facts::build_id;

constexpr std::size_t path_bytes = image_facts::path_bytes;
constexpr std::size_t context_bytes_max = 27;  // three numbers of nine bytes at most

// A whole block that is built here and written at once. There is only one at a time: the caller holds the tree's lock,
// or is about to start the process.
class small_block {
  public:
    small_block(output& out, std::uint8_t kind, std::uint32_t sequence) noexcept : out_(out) {
        mpt_writer w;
        mpt_open_block(&w, memory_, sizeof memory_, 0, sequence, 0);
        header().kind = kind;
        at_ = memory_ + mpt_header_bytes;
    }
    small_block(const small_block&) = delete;
    small_block& operator=(const small_block&) = delete;

    void number(std::uint64_t value) noexcept { at_ = mpt_put(at_, value); }
    void bytes(const void* from, std::size_t count) noexcept {
        number(count);
        memcpy(at_, from, count);
        at_ += count;
    }
    void field(std::uint64_t key, const void* from, std::size_t count) noexcept {
        number(key);
        bytes(from, count);
        ++fields_;
    }
    void field(std::uint64_t key, std::uint64_t value) noexcept {
        std::uint8_t coded[16];
        field(key, coded, static_cast<std::size_t>(mpt_put(coded, value) - coded));
    }
    void finish(std::uint32_t count) noexcept {
        header().stored_bytes = static_cast<std::uint32_t>(at_ - memory_) - mpt_header_bytes;
        out_.append(memory_, mpt_seal_block(&header(), count));
    }
    [[nodiscard]] std::uint32_t fields() const noexcept { return fields_; }

  private:
    mpt_block_header& header() noexcept { return *reinterpret_cast<mpt_block_header*>(memory_); }

    alignas(8) static constinit inline std::uint8_t memory_[mpt_slot_bytes - mpt_slot_head_bytes] = {};

    output& out_;
    std::uint8_t* at_ = nullptr;
    std::uint32_t fields_ = 0;
};

void read_notes(const std::uint8_t* at, std::size_t size, build_id& id) noexcept {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const std::size_t name = (note.n_namesz + 3u) & ~std::size_t{3}, text = (note.n_descsz + 3u) & ~std::size_t{3};
        if (sizeof note + name + text > size) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0 &&
            note.n_descsz <= sizeof id.bytes) {
            memcpy(id.bytes, at + sizeof note + name, note.n_descsz);
            id.size = note.n_descsz;
            return;
        }
        at += sizeof note + name + text;
        size -= sizeof note + name + text;
    }
}

// Returns the build-id of the module at `base` (its ELF header), 0 bytes if it has none.
build_id build_id_at(const void* base, std::uintptr_t bias) noexcept {
    build_id id;
    const auto* const header = static_cast<const ElfW(Ehdr)*>(base);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return id;
    const auto* const segments =
        reinterpret_cast<const ElfW(Phdr)*>(static_cast<const std::uint8_t*>(base) + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum && id.size == 0; ++i)
        if (segments[i].p_type == PT_NOTE)
            read_notes(reinterpret_cast<const std::uint8_t*>(bias + segments[i].p_vaddr), segments[i].p_memsz, id);
    return id;
}

build_id executable_build_id() noexcept {
    build_id id;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            for (unsigned i = 0; i < info->dlpi_phnum; ++i)
                if (info->dlpi_phdr[i].p_type == PT_NOTE)
                    read_notes(reinterpret_cast<const std::uint8_t*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                               info->dlpi_phdr[i].p_memsz, *static_cast<build_id*>(to));
            return 1;  // the executable comes first
        },
        &id);
    return id;
}

}  // namespace

void image_facts::gather() noexcept {
    executable_length = preload::own_program(executable, path_bytes);
    id = executable_build_id();
    own_malloc = preload::real::in_executable();
    provider = own_malloc ? executable : preload::real::provider_path();
    arguments = preload::take_pages<char>(argument_bytes_max);
    if (arguments == nullptr) return;
    // The buffer first holds the process's status.
    const std::size_t bytes = file("/proc/self/status", O_RDONLY).read(arguments, argument_bytes_max - 1);
    arguments[bytes] = 0;
    static constexpr char field[] = "\nSeccomp:\t";
    const char* const state = strstr(arguments, field);
    filtered = state != nullptr && state[sizeof field - 1] != '0';
    memset(arguments, 0, bytes);
    argument_bytes = file("/proc/self/cmdline", O_RDONLY).read(arguments, argument_bytes_max - 1);
}

bool description::start(output& out, const image_facts& image) noexcept {
    out_ = &out;
    image_ = &image;
    modules_ = preload::take_pages<loaded_module>(sizeof(loaded_module) * modules_max);
    if (modules_ == nullptr) return false;
    write_process();
    contexts_ = out.take_slot();
    open_contexts(1);
    return static_cast<bool>(contexts_);
}

void description::abandon() noexcept {
    if (modules_ != nullptr) preload::give_pages(modules_, sizeof(loaded_module) * modules_max);
    if (contexts_ && !out_->is_mapped_ahead()) preload::give_pages(contexts_.begin, mpt_slot_bytes);
    while (path_chunk* const last = path_chunks_) {
        path_chunks_ = last->before;
        preload::give_pages(last, path_chunk_bytes);
    }
    path_room_ = 0;
    modules_ = nullptr;
    contexts_ = {};
}

void description::write_process() noexcept {
    static constexpr char hex[] = "0123456789abcdef";
    small_block block(*out_, mpt_process, 0);
    const image_facts& image = *image_;
    out_->count().own_malloc = image.own_malloc ? 1 : 0;
    block.field(mpt_key_pid, out_->count().pid);
    block.field(mpt_key_parent, static_cast<std::uint64_t>(system_call(SYS_getppid)));
    block.field(mpt_key_executable, image.executable, image.executable_length);
    char text[2 * sizeof image.id.bytes];
    for (std::size_t i = 0; i < image.id.size; ++i) {
        text[2 * i] = hex[image.id.bytes[i] >> 4];
        text[2 * i + 1] = hex[image.id.bytes[i] & 15];
    }
    block.field(mpt_key_build_id, text, 2 * image.id.size);
    for (const char* at = image.arguments; at < image.arguments + image.argument_bytes; at += strlen(at) + 1)
        block.field(mpt_key_argument, at, strlen(at));
    struct timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    std::uint8_t pair[32];
    const std::uint64_t now = ticks();
    std::uint8_t* end = mpt_put(pair, now);
    end = mpt_put(end, static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec));
    block.field(mpt_key_clock, pair, static_cast<std::size_t>(end - pair));
    block.field(mpt_key_first_tick, out_->count().start_ticks);
    block.field(mpt_key_provider, image.provider, strlen(image.provider));
    if (const std::uint64_t sample_bytes = out_->shared().sample_bytes; sample_bytes != 0)
        block.field(mpt_key_sample, sample_bytes);
    block.finish(block.fields());
}

const char* description::keep(const char* path) noexcept {
    const std::size_t bytes = strnlen(path, path_bytes - 1) + 1;
    if (path_room_ < bytes) {
        auto* const fresh = preload::take_pages<path_chunk>(path_chunk_bytes);
        path_room_ = fresh == nullptr ? 0 : path_chunk_bytes - sizeof(path_chunk);
        if (fresh == nullptr) return "";
        fresh->before = path_chunks_;
        path_chunks_ = fresh;
        paths_ = reinterpret_cast<char*>(fresh + 1);
    }
    char* const kept = paths_;
    memcpy(kept, path, bytes - 1);
    kept[bytes - 1] = 0;
    paths_ += bytes;
    path_room_ -= bytes;
    return kept;
}

std::uint32_t description::module_of(std::uintptr_t address) noexcept {
    const auto holds = [&](std::uint32_t i) {
        return modules_[i].unload_tick == 0 && address >= modules_[i].first && address < modules_[i].last;
    };
    if (last_module_ < module_count_ && holds(last_module_)) return last_module_ + 1;
    for (std::uint32_t i = 0; i < module_count_; ++i)
        if (holds(i)) return (last_module_ = i) + 1;
    dl_find_object found{};
    if (module_count_ == modules_max || _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return 0;
    const std::uint32_t index = module_count_++;
    loaded_module& m = modules_[index];
    m.first = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
    m.last = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
    m.bias = found.dlfo_link_map->l_addr;
    m.link_map = found.dlfo_link_map;
    m.load_tick = ticks();
    m.unload_tick = 0;
    const build_id id = build_id_at(found.dlfo_map_start, m.bias);
    memcpy(m.build_id, id.bytes, sizeof m.build_id);
    m.build_id_bytes = id.size;
    const char* const path = found.dlfo_link_map->l_name;
    m.path = keep(path == nullptr || *path == 0 ? image_->executable : path);  // the executable has no name there
    write_module(index);
    return (last_module_ = index) + 1;
}

void description::write_module(std::uint32_t index) noexcept {
    const loaded_module& m = modules_[index];
    small_block block(*out_, mpt_modules, module_blocks_++);
    block.number(index + 1);
    block.number(m.bias);
    block.number(m.first);
    block.number(m.last);
    block.bytes(m.path, strlen(m.path));
    block.bytes(m.build_id, m.build_id_bytes);
    block.number(m.load_tick);
    block.number(m.unload_tick);
    block.finish(1);
}

bool description::is_loaded(const loaded_module& m) noexcept {
    dl_find_object found{};
    return _dl_find_object(reinterpret_cast<void*>(m.first), &found) == 0 && found.dlfo_link_map == m.link_map &&
           reinterpret_cast<std::uintptr_t>(found.dlfo_map_start) == m.first;
}

void description::mark_unloaded(std::uint32_t index) noexcept {
    modules_[index].unload_tick = ticks();
    write_module(index);
}

void description::open_contexts(std::uint32_t first) noexcept {
    contexts_in_block_ = 0;
    if (!contexts_) return;
    mpt_writer w;
    mpt_open_block(&w, contexts_.block(), contexts_.block_bytes(), 0, context_blocks_++, first);
    reinterpret_cast<mpt_block_header*>(contexts_.block())->kind = mpt_contexts;
    cursor_ = contexts_.block() + mpt_header_bytes;
}

void description::seal_contexts() noexcept {
    if (!out_->is_live()) {
        cursor_ = contexts_.block() + mpt_header_bytes;
        return;
    }
    auto* const header = reinterpret_cast<mpt_block_header*>(contexts_.block());
    const auto next = static_cast<std::uint32_t>(header->first) + contexts_in_block_;
    if (!out_->write_out(contexts_, mpt_seal_block(header, contexts_in_block_))) {
        out_->leave(contexts_);
        contexts_ = out_->take_slot();
    }
    open_contexts(next);
}

void description::add_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    if (!contexts_) return;
    const bool is_code = return_address > preload::context_tree::frees;
    const std::uint32_t of = is_code ? module_of(return_address) : 0;
    std::uint64_t offset = mpt_offset_generated;
    if (return_address == preload::context_tree::cut) offset = mpt_offset_cut;
    if (return_address == preload::context_tree::frees) offset = mpt_offset_frees;
    if (of != 0) offset = return_address - modules_[of - 1].bias;
    std::uint8_t* to = mpt_put(cursor_, mpt_zigzag(std::int64_t{id} - std::int64_t{parent}));
    cursor_ = mpt_put(mpt_put(to, of), offset);
    ++contexts_in_block_;
    __asm__ volatile("" ::: "memory");  // store the node before the length that covers it
    reinterpret_cast<mpt_block_header*>(contexts_.block())->stored_bytes =
        static_cast<std::uint32_t>(cursor_ - contexts_.block()) - mpt_header_bytes;
    const auto is_full = [&] { return cursor_ + context_bytes_max + 8 > contexts_.begin + contexts_.ready_bytes; };
    if (is_full() && !out_->make_ready(contexts_)) seal_contexts();
}

}  // namespace millpond::record
