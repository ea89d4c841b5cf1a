// SPDX-License-Identifier: BSL-1.0
// block_ledger: the records of a checked allocator: every block from its allocation until long after its end.
//
//   add ─▶ live ──give_back──▶ quarantine ──next_out──▶ gone     quarantine: freed, the memory kept, oldest out first
//            └──end_since────▶ pending ────settle─────▶ gone     pending: ended by reset, release or rewind, which
//                                                                themselves wait for settle
//   gone: the memory has another owner; the last 65536 are remembered, to tell what became of a pointer
//
// Part of checked; it does not know the allocator beneath. It reports its findings to misuse_handler.
//
// add, give_back, next_out: O(bytes of the block). end_since, settle, verify: O(blocks and their bytes).
// Not thread-safe: checked locks around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>

#include "../../core/abi.hpp"
#include "../misuse.hpp"
#include "block_record.hpp"
#include "block_report.hpp"
#include "block_table.hpp"
#include "guarded_block.hpp"
#include "lone_block.hpp"
#include "registered_table.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class block_ledger {
  public:
    // `owner`: the allocator, whose address names it in reports.
    block_ledger(const void* owner, std::size_t quarantine_bytes) noexcept
        : known_(owner), quarantine_limit_bytes_(quarantine_bytes) {}

    // The owner holds it around every call.
    [[nodiscard]] std::mutex& mutex() noexcept { return known_.mutex(); }

    // Returns: the number of blocks added so far.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    [[nodiscard]] const record_list& live() const noexcept { return live_; }

    // Returns: the record of the block that starts here, live or not; null if no block does.
    [[nodiscard]] const block_record* find(const void* start) noexcept { return table().find(start); }

    // Effects: makes `whole`, of guarded_block::whole_bytes, a live block described by `record`, which the ledger owns
    // now. Returns: false if there is no memory for the records; then nothing has changed.
    [[nodiscard]] bool add(block_record* record, void* whole, std::size_t bytes, std::size_t alignment,
                           call_site site) noexcept {
        return add(record, whole, guarded_block::whole_bytes(bytes, alignment), nullptr, bytes, alignment, site);
    }

    // Effects: the same for memory of `whole_bytes` or more; with `lone`, the block lies there and the memory is set
    // aside.
    [[nodiscard]] bool add(block_record* record, void* whole, std::size_t whole_bytes, lone_block* lone,
                           std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        if (!table().reserve()) return false;
        char* const first = lone != nullptr ? lone->pages() : static_cast<char*>(whole);
        char* const start = lone != nullptr ? lone->start() : first + guarded_block::front_bytes(alignment);
        const auto front_bytes = static_cast<std::size_t>(start - first);
        if (lone != nullptr) lone->note_allocated(site);
        if (block_record* const former = table().find(start)) forget_former(former);
        *record = {.start = start,
                   .bytes = bytes,
                   .alignment = alignment,
                   .front_bytes = front_bytes,
                   .back_bytes = (lone != nullptr ? lone->pages_bytes() : whole_bytes) - front_bytes - bytes,
                   .beneath = whole,
                   .beneath_bytes = whole_bytes,
                   .lone = lone,
                   .serial = ++serial_,
                   .allocated_at = site,
                   .is_held = true};
        table().insert(record);
        live_.push(record);
        live_bytes_ += bytes;
        guarded_block(*record).set_up();
        return true;
    }

    // Effects: puts the block into quarantine if it is live and is_kept(its bytes, its alignment); reports any misuse.
    // Returns: the block, open again, for the allocator beneath if it is not kept; else null.
    template <class IsKept>
    [[nodiscard]] const block_record* give_back(void* start, std::size_t bytes, std::size_t alignment, call_site site,
                                                IsKept is_kept) noexcept {
        block_record* const record = table().find(start);
        if (record == nullptr) {
            report_foreign(start, bytes, alignment, site);
        } else if (record->ending == block_ending::freed) {
            report_block(misuse_kind::double_free, *record, site, "was given back before");
        } else if (record->ending != block_ending::none) {
            report_block(kind_after(record->ending), *record, site, "was given back although it is gone");
        } else {
            if (record->bytes != bytes)
                report_block(misuse_kind::wrong_size, *record, site, "was given back as one of %zu bytes", bytes);
            if (record->alignment != alignment)
                report_block(misuse_kind::wrong_alignment, *record, site, "was given back as aligned to %zu",
                             alignment);
            end(record, block_ending::freed, site, quarantine_);
            if (!is_kept(record->bytes, record->alignment)) {
                let_go(record, quarantine_, site);
                return record;
            }
            quarantined_bytes_ += record->bytes;
        }
        return nullptr;
    }

    // Returns: a block that leaves the quarantine, open again, for the allocator beneath; null if all may stay. `all`:
    // empty the quarantine.
    [[nodiscard]] const block_record* next_out(bool all, call_site site) noexcept {
        block_record* const record = quarantine_.oldest();
        if (record == nullptr || (!all && may_stay(record))) return nullptr;
        quarantined_bytes_ -= record->bytes;
        let_go(record, quarantine_, site);
        if (gone_.size() > remembered) forget(gone_.oldest(), gone_);
        return record;
    }

    // Effects: ends every block, or for rewound those added after `serial` blocks; they are pending until settle.
    void end_since(std::uint64_t serial, block_ending ending, call_site site) noexcept {
        const bool all = ending != block_ending::rewound;
        while (live_.newest() != nullptr && (all || live_.newest()->serial > serial))
            end(live_.newest(), ending, site, pending_);
        for (block_record* record = quarantine_.oldest(); record != nullptr;) {
            block_record* const next = record->newer;
            if (all || record->serial > serial) {
                quarantined_bytes_ -= record->bytes;
                quarantine_.remove(record);
                pending_.push(record);
            }
            record = next;
        }
    }

    // Returns: true if is_kept(bytes, alignment) holds for every pending block.
    template <class IsKept>
    [[nodiscard]] bool is_all_pending(IsKept is_kept) const noexcept {
        for (const block_record* r = pending_.oldest(); r != nullptr; r = r->newer) {
            if (!is_kept(r->bytes, r->alignment)) return false;
        }
        return true;
    }

    // Effects: forgets the pending blocks. Their memory is open and no longer ours.
    void settle(call_site site) noexcept {
        while (pending_.oldest() != nullptr) let_go(pending_.oldest(), pending_, site);
        while (gone_.size() > remembered) forget(gone_.oldest(), gone_);
    }

    // Effects: moves all blocks of `other` into this ledger; live ones count as older than any here. Precondition:
    // neither has pending blocks.
    void absorb(block_ledger& other) noexcept {
        while (block_record* const record = other.gone_.oldest()) other.forget(record, other.gone_);
        if (!table().reserve()) table().swap(other.table());  // without buckets this ledger is empty
        while (block_record* const record = other.live_.newest()) {
            other.live_.remove(record);
            record->serial = 0;
            take_over(other, record);
            live_.push_oldest(record);
        }
        while (block_record* const record = other.quarantine_.oldest()) {
            other.quarantine_.remove(record);
            record->serial = 0;
            take_over(other, record);
            quarantine_.push(record);
        }
        live_bytes_ += std::exchange(other.live_bytes_, 0);
        quarantined_bytes_ += std::exchange(other.quarantined_bytes_, 0);
    }

    // Effects: checks every guard and every block in quarantine now.
    void verify(call_site site) noexcept {
        for (const block_record* r = live_.oldest(); r != nullptr; r = r->newer) check_guards(*r, site);
        for (const block_record* r = quarantine_.oldest(); r != nullptr; r = r->newer) check_grave(*r, site);
        for (const block_record* r = pending_.oldest(); r != nullptr; r = r->newer) check_grave(*r, site);
    }

    // Effects: reports live blocks as a leak, if there are any.
    void report_live(const char* when, call_site site) noexcept {
        if (live_.size() == 0) return;
        report_block(misuse_kind::leak, *live_.oldest(), site,
                     "is still live %s, the oldest of %zu with %zu bytes in all", when, live_.size(), live_bytes_);
    }

    // Effects: opens the memory of all blocks, live or in quarantine, which is about to go as a whole.
    void open_all(call_site site) noexcept {
        for (record_list* list : {&live_, &quarantine_}) {
            for (block_record* r = list->oldest(); r != nullptr; r = r->newer) {
                if (r->lone != nullptr) {
                    r->lone->end_with_owner(site);
                    r->lone = nullptr;
                } else {
                    guarded_block(*r).give_up();
                }
            }
        }
    }

  private:
    static constexpr std::size_t remembered = 65536;

    // Returns false also for the last block, just freed, if it is larger than the quarantine.
    [[nodiscard]] bool may_stay(const block_record* oldest) const noexcept {
        return quarantined_bytes_ <= quarantine_limit_bytes_ ||
               (oldest == quarantine_.newest() && quarantined_bytes_ / 16 <= quarantine_limit_bytes_ &&
                quarantine_limit_bytes_ != 0);
    }

    // Effects: forgets a block whose memory has been handed out again. If it was still held, other code has reset the
    // allocator beneath: then its records go with the memory.
    void forget_former(block_record* former) noexcept {
        if (!former->is_held) return forget(former, gone_);
        const bool was_live = former->ending == block_ending::none;
        (was_live ? live_bytes_ : quarantined_bytes_) -= former->bytes;
        forget(former, was_live ? live_ : quarantine_);
    }

    // Effects: checks a live block, buries it, and moves it to `to`.
    void end(block_record* record, block_ending ending, call_site site, record_list& to) noexcept {
        check_guards(*record, site);
        live_.remove(record);
        live_bytes_ -= record->bytes;
        record->ending = ending;
        record->ended_at = site;
        if (record->lone != nullptr) {
            record->lone->end(*record);
        } else if (ending == block_ending::freed) {
            guarded_block(*record).bury();
        } else {
            record->fingerprint = guarded_block(*record).close();
        }
        to.push(record);
    }

    void let_go(block_record* record, record_list& from, call_site site) noexcept {
        check_grave(*record, site);
        if (record->lone != nullptr) {
            record->lone->retire();
            record->lone = nullptr;
        } else {
            guarded_block(*record).give_up();
        }
        record->is_held = false;
        from.remove(record);
        gone_.push(record);
    }

    void take_over(block_ledger& other, block_record* record) noexcept {
        if (table().find(record->start) == record) return;  // the tables were swapped
        other.table().remove(record);
        if (block_record* const former = table().find(record->start)) forget_former(former);
        static_cast<void>(table().reserve());
        table().insert(record);
    }

    void forget(block_record* record, record_list& from) noexcept {
        from.remove(record);
        table().remove(record);
        block_table::free_record(record);
    }

    void check_guards(const block_record& record, call_site site) noexcept {
        const std::ptrdiff_t at = guarded_block(record).harmed_guard();
        if (at == guarded_block::unharmed) return;
        report_block(at < 0 ? misuse_kind::underrun : misuse_kind::overrun, record, site,
                     at < 0 ? "was written %td bytes before its start" : "was written at byte %td, behind its end",
                     at < 0 ? -at : at);
    }

    void check_grave(const block_record& record, call_site site) noexcept {
        if (record.lone != nullptr) return;  // a write to it faults
        check_guards(record, site);
        if (record.ending != block_ending::freed) {
            if (guarded_block(record).close() != record.fingerprint)
                report_block(kind_after(record.ending), record, site, "was written although it is gone");
        } else if (const std::ptrdiff_t at = guarded_block(record).harmed_grave(); at != guarded_block::unharmed) {
            report_block(misuse_kind::use_after_free, record, site, "was written at byte %td after it was freed", at);
        }
    }

    void report_foreign(const void* start, std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        block_record elsewhere;
        if (const void* const other = known_.owner_elsewhere(start, elsewhere))
            return report_block(misuse_kind::other_allocator, elsewhere, site,
                                "was given back to the allocator at %p, and belongs to the one at %p", known_.owner(),
                                other);
        misuse found{.kind = misuse_kind::foreign_pointer,
                     .block = start,
                     .bytes = bytes,
                     .alignment = alignment,
                     .detected_at = site};
        if (const block_record* const around = block_around(start)) {
            std::snprintf(found.details, sizeof found.details,
                          "%p was given back, which lies %td bytes inside the block of %zu bytes at %p", start,
                          static_cast<const char*>(start) - around->start, around->bytes,
                          static_cast<const void*>(around->start));
            found.allocated_at = around->allocated_at;
        } else {
            std::snprintf(found.details, sizeof found.details,
                          "%p was given back, but is not a block of the allocator at %p", start, known_.owner());
        }
        misuse_handler(found);
    }

    [[nodiscard]] const block_record* block_around(const void* pointer) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        for (const block_record* r = live_.oldest(); r != nullptr; r = r->newer) {
            if (address - reinterpret_cast<std::uintptr_t>(r->start) < r->bytes) return r;
        }
        return nullptr;
    }

    block_table& table() noexcept { return known_.blocks(); }

    registered_table known_;
    record_list live_, quarantine_, pending_, gone_;
    std::uint64_t serial_ = 0;
    std::size_t live_bytes_ = 0;
    std::size_t quarantined_bytes_ = 0;
    std::size_t quarantine_limit_bytes_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
