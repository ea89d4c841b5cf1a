// SPDX-License-Identifier: BSL-1.0
// model_page: the page of models and figures: 4 KiB on every machine.
//
//   a trace of any kernel ─▶ touched pages, LRU distances, translations in pages of 4 KiB ─▶ figures that compare
//
// Use it where pages are the unit of a figure. Memory of this process has pages of os::pages::size() instead.
#pragma once

namespace millpond::program {

inline constexpr unsigned model_page_log2 = 12;
inline constexpr unsigned long model_page_bytes = 1UL << model_page_log2;

}  // namespace millpond::program
