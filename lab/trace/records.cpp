// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/records.hpp"

namespace millpond::trace {

namespace {

constexpr std::uint32_t cut_stack = 1;  // offset of module 0: the stack was cut here
constexpr std::uint32_t modules_max = 1u << 20;

std::string to_hex(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

std::string from_hex(std::string_view text) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10) & 15; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
    return bytes;
}

// Calls visit(key, value) for each entry of a process or end payload.
template <typename Visit>
void for_each_entry(std::span<const std::uint8_t> payload, Visit&& visit) {
    field_cursor cursor(payload);
    while (!cursor.done()) {
        const std::uint64_t key = cursor.number();
        visit(key, cursor.string());
    }
}

}  // namespace

void take_process(std::span<const std::uint8_t> payload, process_record& process) {
    for_each_entry(payload, [&](std::uint64_t key, std::string_view value) {
        field_cursor numbers(value);
        switch (key) {
            case mpt_key_pid:
                process.pid = numbers.number();
                break;
            case mpt_key_parent:
                process.parent_pid = numbers.number();
                break;
            case mpt_key_executable:
                process.executable = value;
                break;
            case mpt_key_build_id:
                process.build_id = value;
                break;
            case mpt_key_argument:
                process.arguments.emplace_back(value);
                break;
            case mpt_key_clock:
                process.start_ticks = numbers.number();
                process.start_ns = numbers.number();
                break;
            case mpt_key_provider:
                process.malloc_provider = value;
                break;
            case mpt_key_image:
                process.image = numbers.number();
                break;
            case mpt_key_first_tick:
                process.first_tick = numbers.number();
                break;
            case mpt_key_recording:
                process.recording = numbers.number();
                break;
            case mpt_key_sample:
                process.sample_bytes = numbers.number();
                break;
            case mpt_key_cut:
                process.cut_tick = numbers.number();
                break;
            default:
                break;
        }
    });
}

void take_end(std::span<const std::uint8_t> payload, process_record& process) {
    process.ended = true;
    for_each_entry(payload, [&](std::uint64_t key, std::string_view value) {
        field_cursor numbers(value);
        switch (key) {
            case mpt_end_status:
                process.exit_status = static_cast<int>(numbers.number());
                break;
            case mpt_end_signal:
                process.signal = static_cast<int>(numbers.number());
                break;
            case mpt_end_clock:
                process.end_ticks = numbers.number();
                process.end_ns = numbers.number();
                break;
            case mpt_end_lost:
                process.events_lost = numbers.number();
                break;
            case mpt_end_clean:
                process.clean = numbers.number() != 0;
                break;
            case mpt_end_stopped:
                process.stopped_early = numbers.number();
                break;
            case mpt_end_reason:
                process.stop_reason.assign(value.begin(), value.end());
                break;
            case mpt_end_sampled:
                process.aliasing_sampled = numbers.number();
                break;
            case mpt_end_aliased:
                process.aliasing_differed = numbers.number();
                break;
            case mpt_end_aliased_deep:
                process.aliasing_differed_deep = numbers.number();
                break;
            case mpt_end_failed:
                process.allocations_failed = numbers.number();
                break;
            default:
                break;
        }
    });
}

void take_modules(std::span<const std::uint8_t> payload, std::uint32_t count, std::vector<module_record>& modules) {
    field_cursor cursor(payload);
    for (std::uint32_t i = 0; i < count; ++i) {
        module_record module{};
        module.id = cursor.small_number();
        module.bias = cursor.number();
        module.first = cursor.number();
        module.last = cursor.number();
        module.path = cursor.string();
        module.build_id = to_hex(cursor.string());
        module.load_tick = cursor.number();
        module.unload_tick = cursor.number();
        if (module.id == 0 || module.id > modules_max) throw trace_error("a module's id is impossible");
        for (std::uint32_t id = static_cast<std::uint32_t>(modules.size()); id < module.id; ++id)
            modules.push_back({.id = id + 1,
                               .bias = 0,
                               .first = 0,
                               .last = 0,
                               .path = {},
                               .build_id = {},
                               .load_tick = 0,
                               .unload_tick = 0});
        modules[module.id - 1] = std::move(module);
    }
}

void take_contexts(std::span<const std::uint8_t> payload, const mpt_block_header& header, std::uint64_t ids_max,
                   std::vector<context_node>& contexts) {
    const std::uint64_t first = header.first, past = first + header.count;
    if (first == 0 || past < first || past > ids_max) throw trace_error("a context's id is impossible");
    if (contexts.size() < past) contexts.resize(past, {0, 0, cut_stack});
    field_cursor cursor(payload);
    for (std::uint64_t id = first; id < past; ++id) {
        const std::uint64_t parent = id - static_cast<std::uint64_t>(cursor.signed_number());
        const std::uint32_t module = cursor.small_number();
        const std::uint64_t offset = cursor.number();
        if (parent >= ids_max || parent == id) throw trace_error("a context's parent is impossible");
        contexts[id] = {static_cast<std::uint32_t>(parent), module, offset};
    }
}

std::size_t mend_contexts(std::vector<context_node>& contexts) {
    std::size_t cut = 0, forward = 0;
    for (std::size_t id = 1; id < contexts.size(); ++id) {
        if (contexts[id].parent >= contexts.size()) {
            contexts[id].parent = 0;
            ++cut;
        }
        forward += contexts[id].parent > id;
    }
    if (forward == 0) return cut;  // parents in front of their children cannot form a circle
    constexpr std::uint8_t unseen = 0, on_the_way = 1, safe = 2;
    std::vector<std::uint8_t> state(contexts.size(), unseen);
    state[0] = safe;
    std::vector<std::uint32_t> way;
    for (std::uint32_t start = 1; start < contexts.size(); ++start) {
        std::uint32_t id = start;
        for (; state[id] == unseen; id = contexts[id].parent) {
            state[id] = on_the_way;
            way.push_back(id);
        }
        if (state[id] == on_the_way) {
            contexts[way.back()].parent = 0;
            ++cut;
        }
        for (const std::uint32_t passed : way) state[passed] = safe;
        way.clear();
    }
    return cut;
}

void put_module(const module_record& module, field_writer& to) {
    to.number(module.id);
    to.number(module.bias);
    to.number(module.first);
    to.number(module.last);
    to.string(module.path);
    to.string(from_hex(module.build_id));
    to.number(module.load_tick);
    to.number(module.unload_tick);
}

void put_context(std::uint32_t id, const context_node& node, field_writer& to) {
    to.signed_number(static_cast<std::int64_t>(id) - static_cast<std::int64_t>(node.parent));
    to.number(node.module);
    to.number(node.offset);
}

void put_end(const end_record& end, std::uint64_t contexts, field_writer& to) {
    to.entry(mpt_end_status, end.exit_status);
    to.entry(mpt_end_signal, end.signal);
    to.entry(mpt_end_clock, end.end_ticks, end.end_ns);
    to.entry(mpt_end_lost, end.events_lost);
    to.entry(mpt_end_clean, end.clean);
    to.entry(mpt_end_stopped, end.stopped_early);
    to.entry(mpt_end_sampled, end.aliasing_sampled);
    to.entry(mpt_end_aliased, end.aliasing_differed);
    to.entry(mpt_end_contexts, contexts);
    to.entry(mpt_end_failed, end.allocations_failed);
    to.entry(mpt_end_aliased_deep, end.aliasing_differed_deep);
    if (!end.stop_reason.empty()) to.entry(mpt_end_reason, std::string_view(end.stop_reason));
}

}  // namespace millpond::trace
