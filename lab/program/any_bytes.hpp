// SPDX-License-Identifier: BSL-1.0
// any_bytes: text of any bytes (paths, arguments, symbols) as UTF-8 that leads back to the same bytes.
//
//   bytes   l a t i n E9          ──kept──▶  l a t i n U+10FFE9   ──bytes_of──▶  l a t i n E9
//
// A byte b that is no part of UTF-8 becomes the character U+10FF00 + b, which no one uses: it is the last of the
// private ones. What is UTF-8 stays as it is, so `kept` of kept text is that text. A text that has such characters
// itself (U+10FF80 … U+10FFFF) is not led back to: they are taken for single bytes. Python does the same
// (python/millpond/system/any_bytes.py); json.hpp has it for JSON. Linear. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

#include "lab/program/json.hpp"

namespace millpond::program {

std::string kept(std::string_view bytes);
std::string bytes_of(std::string_view text);

}  // namespace millpond::program
