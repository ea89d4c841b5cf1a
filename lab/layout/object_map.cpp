// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/object_map.hpp"

#include <algorithm>
#include <iterator>

namespace millpond::layout {

object_map::page* object_map::find_page(std::uint64_t number) {
    const auto known = pages_.find(number);
    if (known != pages_.end() && (known->second->ids || known->second->whole != none)) return known->second.get();
    // The inner pages of a large object are created when they are first looked up.
    const std::uint64_t begin = number << page_log2, last = begin + (1u << page_log2) - 1;
    auto above = large_.upper_bound(begin);
    if (above != large_.begin()) {
        auto& [address, large] = *--above;
        if (address <= begin && last - address < objects_[large.id].bytes) {
            page& made = make_page(number);
            made.whole = large.id;
            large.inner_pages.push_back(number);
            return &made;
        }
    }
    return known == pages_.end() ? nullptr : known->second.get();
}

object_map::page& object_map::make_page(std::uint64_t number) {
    std::unique_ptr<page>& place = pages_[number];
    if (!place) place = std::make_unique<page>();
    known_[number & (known_pages - 1)] = {number, place.get()};
    return *place;
}

void object_map::set_ids(std::uint64_t first, std::uint64_t end, std::uint32_t id) {
    for (std::uint64_t at = first; at < end;) {
        page& in = make_page(at >> page_log2);
        if (!in.ids) {
            in.ids = std::make_unique<std::array<std::uint32_t, page::granules>>();
            in.ids->fill(in.whole);
            in.whole = none;
        }
        const std::uint64_t page_end = ((at >> page_log2) + 1) << page_log2;
        const std::uint64_t until = page_end == 0 ? end : std::min(end, page_end);
        for (; at < until; at = ((at >> granule_log2) + 1) << granule_log2) {
            (*in.ids)[at >> granule_log2 & (page::granules - 1)] = id;
            if ((at >> granule_log2) + 1 == std::uint64_t{1} << (64 - granule_log2)) return;
        }
    }
}

void object_map::clear_ids(std::uint64_t first, std::uint64_t end, std::uint32_t id) {
    for (std::uint64_t at = first; at < end;) {
        page* const in = page_of(at);
        const std::uint64_t page_end = ((at >> page_log2) + 1) << page_log2;
        const std::uint64_t until = page_end == 0 ? end : std::min(end, page_end);
        for (; in != nullptr && in->ids && at < until; at = ((at >> granule_log2) + 1) << granule_log2) {
            std::uint32_t& own = (*in->ids)[at >> granule_log2 & (page::granules - 1)];
            if (own == id) own = none;
            if ((at >> granule_log2) + 1 == std::uint64_t{1} << (64 - granule_log2)) return;
        }
        at = until;
    }
}

std::uint32_t object_map::near(std::uint64_t address, std::uint64_t bytes) const {
    const auto above = begins_.upper_bound(address);
    if (above != begins_.begin()) {
        const auto& [begin, id] = *std::prev(above);
        if (address - begin < objects_[id].bytes + bytes) return id;
    }
    return above != begins_.end() && above->first - address <= bytes ? above->second : none;
}

std::uint32_t object_map::overlapping(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t most = ~std::uint64_t{0} - address;
    const auto above = begins_.lower_bound(address);
    if (above != begins_.end() && (above->first == address || above->first - address < std::min(bytes, most)))
        return above->second;
    if (above == begins_.begin()) return none;
    const live_object& below = objects_[std::prev(above)->second];
    return address - below.address < below.bytes ? std::prev(above)->second : none;
}

void object_map::begin(live_object object) {
    object.bytes = std::min(object.bytes, ~std::uint64_t{0} - object.address);
    std::uint32_t id = static_cast<std::uint32_t>(objects_.size());
    if (free_ids_.empty()) {
        objects_.push_back(object);
    } else {
        id = free_ids_.back();
        free_ids_.pop_back();
        objects_[id] = object;
    }
    begins_[object.address] = id;
    const std::uint64_t end = object.address + object.bytes;
    if (object.bytes < large_bytes) return set_ids(object.address, end, id);
    // Pages inside the object are created when they are touched. Older contents may describe older objects.
    const std::uint64_t first_inner = (object.address + (1u << page_log2) - 1) >> page_log2 << page_log2;
    const std::uint64_t end_inner = end >> page_log2 << page_log2;
    large_.insert_or_assign(object.address, large_object{id, {}});
    set_ids(object.address, first_inner, id);
    set_ids(end_inner, end, id);
    const auto forget = [&](std::uint64_t number, page& old) {
        old.ids.reset();
        old.whole = none;
        known_[number & (known_pages - 1)] = {};
    };
    const std::uint64_t inner_pages = (end_inner - first_inner) >> page_log2;
    if (inner_pages <= pages_.size()) {
        for (std::uint64_t number = first_inner >> page_log2; number < end_inner >> page_log2; ++number) {
            known_[number & (known_pages - 1)] = {};
            if (const auto old = pages_.find(number); old != pages_.end()) forget(number, *old->second);
        }
    } else {
        for (auto& [number, old] : pages_) {
            if (number >= first_inner >> page_log2 && number < end_inner >> page_log2) forget(number, *old);
        }
        std::fill(known_.begin(), known_.end(), known_page{});
    }
}

void object_map::erase(std::uint32_t id) {
    const live_object object = objects_[id];
    const std::uint64_t end = object.address + object.bytes;
    if (object.bytes < large_bytes) {
        clear_ids(object.address, end, id);
    } else {
        const std::uint64_t first_inner = (object.address + (1u << page_log2) - 1) >> page_log2 << page_log2;
        const std::uint64_t end_inner = end >> page_log2 << page_log2;
        clear_ids(object.address, first_inner, id);
        clear_ids(end_inner, end, id);
        const auto large = large_.find(object.address);
        for (const std::uint64_t number : large->second.inner_pages) {
            const auto known = pages_.find(number);
            if (known == pages_.end() || known->second->whole != id) continue;
            known->second->whole = none;
        }
        large_.erase(large);
    }
    const auto known = begins_.find(object.address);
    if (known != begins_.end() && known->second == id) begins_.erase(known);
    objects_[id] = {};
    free_ids_.push_back(id);
}

}  // namespace millpond::layout
