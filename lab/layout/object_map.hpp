// SPDX-License-Identifier: BSL-1.0
// object_map: finds the live heap object at an address, for any address inside it.
//
//   address ─▶ page │ ids of granules of 8 bytes │ bytes touched │ ─▶ object │ address, bytes, subject │
//                   └ or one id: the page lies wholly inside a large object
//
// Objects should begin at multiples of 8 bytes; otherwise the latest in each granule of 8 bytes is found. A look-up is
// O(1). begin and end are O(log objects + bytes) for small objects, O(log objects + pages touched) for large ones.
// Pages stay after their objects have ended. Memory: at most 2.7 KiB for each page that ever held small objects, 0.7
// KiB for each touched page of large ones: it depends on the heap, not on the length of the run. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace millpond::layout {

struct live_object {
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t subject = 0;
};

class object_map {
  public:
    static constexpr unsigned page_log2 = 12, line_log2 = 6, granule_log2 = 3;
    static constexpr std::uint32_t none = 0;  // no object
    static constexpr std::uint64_t large_bytes = 1 << 16;

    struct page {
        static constexpr unsigned granules = 1u << (page_log2 - granule_log2), lines = 1u << (page_log2 - line_log2);

        std::uint32_t whole = none;
        std::unique_ptr<std::array<std::uint32_t, granules>> ids;
        std::array<std::uint64_t, lines> touched{};  // of live objects: one bit a byte

        std::uint32_t id_at(std::uint64_t address) const {
            if (ids) return (*ids)[address >> granule_log2 & (granules - 1)];
            return whole;
        }
        std::uint64_t& touched_at(std::uint64_t address) { return touched[address >> line_log2 & (lines - 1)]; }
    };
    struct found {
        std::uint32_t id = none;
        page* in = nullptr;  // the page of the address; valid as long as the map
    };

    object_map() : objects_(1) {}

    // Returns the object that contains `address`.
    found find(std::uint64_t address) {
        page* const in = page_of(address);
        if (in == nullptr) return {};
        const std::uint32_t id = in->id_at(address);
        if (id == none || address - objects_[id].address >= objects_[id].bytes) return {};
        return {id, in};
    }
    // Returns the object that ends at most `bytes` before `address`, else the one that begins at most `bytes` after it;
    // else none. O(log objects).
    std::uint32_t near(std::uint64_t address, std::uint64_t bytes) const;
    // Returns the object that begins at `address`, or none.
    std::uint32_t beginning_at(std::uint64_t address) const {
        const auto known = begins_.find(address);
        return known == begins_.end() ? none : known->second;
    }
    // Returns an object that begins at `address` or overlaps the `bytes` from there on, or none.
    std::uint32_t overlapping(std::uint64_t address, std::uint64_t bytes) const;
    const live_object& object(std::uint32_t id) const { return objects_[id]; }

    // Pre: it overlaps no other object. An object that reaches beyond the last address is cut there.
    void begin(live_object object);
    // Removes the object.
    void end(std::uint32_t id) { erase(id); }
    // Calls visit_line(line's address, page, bits of the object's bytes) for each line of the object that may have
    // touched bytes. Call it while the object is still there.
    template <class Visit>
    void end(std::uint32_t id, const Visit& visit_line) {
        for_each_line(id, visit_line);
        erase(id);
    }

    page* page_of(std::uint64_t address) {
        const std::uint64_t number = address >> page_log2;
        known_page& known = known_[number & (known_pages - 1)];
        if (known.number != number) [[unlikely]]
            known = {number, find_page(number)};
        return known.in;
    }

    std::size_t size() const { return begins_.size(); }

  private:
    static constexpr std::size_t known_pages = 1 << 12;
    struct known_page {
        std::uint64_t number = ~std::uint64_t{0};
        page* in = nullptr;
    };

    page* find_page(std::uint64_t number);
    page& make_page(std::uint64_t number);
    void set_ids(std::uint64_t first, std::uint64_t end, std::uint32_t id);
    void clear_ids(std::uint64_t first, std::uint64_t end, std::uint32_t id);
    void erase(std::uint32_t id);

    template <class Visit>
    void lines_between(std::uint64_t first, std::uint64_t last, page& in, const Visit& visit) {
        for (std::uint64_t line = first >> line_log2; line <= last >> line_log2; ++line) {
            const std::uint64_t begin = line << line_log2, final = begin + 63;
            std::uint64_t bits = ~std::uint64_t{0};
            if (first > begin) bits &= ~std::uint64_t{0} << (first - begin);
            if (last < final) bits &= ~std::uint64_t{0} >> (final - last);
            visit(begin, in, bits);
        }
    }

    template <class Visit>
    void for_each_line(std::uint32_t id, const Visit& visit) {
        const live_object& object = objects_[id];
        if (object.bytes == 0) return;
        const std::uint64_t last = object.address + object.bytes - 1;
        const auto in_page = [&](std::uint64_t number) {
            const std::uint64_t begin = number << page_log2, final = begin + (1u << page_log2) - 1;
            if (page* const in = page_of(begin))
                lines_between(object.address > begin ? object.address : begin, last < final ? last : final, *in, visit);
        };
        const std::uint64_t first_page = object.address >> page_log2, last_page = last >> page_log2;
        if (object.bytes < large_bytes) {
            for (std::uint64_t number = first_page; number <= last_page; ++number) in_page(number);
            return;
        }
        in_page(first_page);
        for (const std::uint64_t number : large_.at(object.address).inner_pages) in_page(number);
        if (last_page != first_page) in_page(last_page);
    }

    struct large_object {
        std::uint32_t id;
        std::vector<std::uint64_t> inner_pages;  // inside the object, and touched
    };

    std::vector<live_object> objects_;  // [0] stands for `none`
    std::vector<std::uint32_t> free_ids_;
    std::map<std::uint64_t, std::uint32_t> begins_;
    std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
    std::map<std::uint64_t, large_object> large_;
    std::vector<known_page> known_ = std::vector<known_page>(known_pages);
};

}  // namespace millpond::layout
