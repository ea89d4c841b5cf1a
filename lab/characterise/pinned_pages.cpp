// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/pinned_pages.hpp"

#include <algorithm>
#include <map>

namespace millpond::characterise {
namespace {

struct page_share {
    std::uint64_t page;
    std::uint32_t subsystem;
    std::uint64_t bytes;
};

std::vector<page_share> by_page(const page_survey& survey, unsigned sample_log2) {
    std::vector<page_share> all;
    all.reserve(survey.used());
    survey.for_each([&](std::uint32_t subsystem, std::uint64_t page, std::uint64_t bytes) {
        if (page_survey::sampled(page, sample_log2)) all.push_back({page, subsystem, bytes});
    });
    std::sort(all.begin(), all.end(), [](const page_share& a, const page_share& b) {
        return a.page != b.page ? a.page < b.page : a.subsystem < b.subsystem;
    });
    return all;
}

// Returns the end of the part of `all` from `at` on that lies on one page.
std::size_t end_of_page(const std::vector<page_share>& all, std::size_t at) {
    std::size_t end = at;
    while (end < all.size() && all[end].page == all[at].page) ++end;
    return end;
}

using sums = std::map<std::pair<std::uint32_t, std::uint32_t>, pinned_pair>;

// Divides the bytes that the holders [then, then_end) of a page at the peak have freed since among its survivors.
void share_out(const std::vector<page_share>& peak, std::size_t then, std::size_t then_end,
               const std::vector<page_share>& later, std::size_t now, std::size_t now_end, sums& into) {
    std::uint64_t living = 0;
    for (std::size_t i = now; i < now_end; ++i) living += later[i].bytes;
    for (std::size_t i = then; i < then_end; ++i) {
        std::uint64_t kept = 0;
        for (std::size_t j = now; j < now_end; ++j) {
            if (later[j].subsystem == peak[i].subsystem) kept = later[j].bytes;
        }
        if (kept >= peak[i].bytes) continue;
        const auto dead = static_cast<double>(peak[i].bytes - kept);
        for (std::size_t j = now; j < now_end; ++j) {
            const double share = living > 0 ? static_cast<double>(later[j].bytes) / static_cast<double>(living)
                                            : 1.0 / static_cast<double>(now_end - now);
            pinned_pair& pair = into[{later[j].subsystem, peak[i].subsystem}];
            pair.by = later[j].subsystem;
            pair.of = peak[i].subsystem;
            pair.bytes += dead * share;
            ++pair.pages;
        }
    }
}

// Returns the share of the touched pages that live objects do not fill. Pages inside one object count as full.
double waste_of(const page_survey& survey) {
    std::uint64_t bytes = 0;
    survey.for_each([&](std::uint32_t, std::uint64_t, std::uint64_t of_page) { bytes += of_page; });
    const auto pages = static_cast<double>(survey.used() << page_survey::page_bytes_log2);
    return std::max(0.0, pages - static_cast<double>(bytes)) * static_cast<double>(1u << survey.sample_log2());
}

}  // namespace

void pinned_pages::add(const page_survey& survey, std::uint64_t tick, std::uint64_t live_bytes) {
    if (!peak_ || live_bytes >= peak_->live_bytes) {
        peak_ = {survey, tick, live_bytes, 0};
        later_.reset();
        return;
    }
    if (survey.used() == 0) return;
    const double waste = waste_of(survey);
    if (!later_ || waste > later_->waste) later_ = {survey, tick, live_bytes, waste};
}

std::vector<pinned_pair> pinned_pages::pairs() const {
    if (!later_) return {};
    const unsigned sample_log2 = std::max(peak_->survey.sample_log2(), later_->survey.sample_log2());
    const std::vector<page_share> peak = by_page(peak_->survey, sample_log2);
    const std::vector<page_share> later = by_page(later_->survey, sample_log2);
    sums found;
    std::size_t then = 0;
    for (std::size_t now = 0, now_end; now < later.size(); now = now_end) {
        now_end = end_of_page(later, now);
        while (then < peak.size() && peak[then].page < later[now].page) ++then;
        if (then == peak.size()) break;
        if (peak[then].page == later[now].page)
            share_out(peak, then, end_of_page(peak, then), later, now, now_end, found);
    }
    std::vector<pinned_pair> all;
    for (const auto& [subsystems, pair] : found)
        all.push_back(
            {pair.by, pair.of, pair.bytes * static_cast<double>(1u << sample_log2), pair.pages << sample_log2});
    std::sort(all.begin(), all.end(), [](const pinned_pair& a, const pinned_pair& b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace millpond::characterise
