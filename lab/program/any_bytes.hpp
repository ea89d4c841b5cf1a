// SPDX-License-Identifier: BSL-1.0
// any_bytes: encodes text of any bytes (paths, arguments, symbols) as UTF-8, reversibly.
//
//   bytes   l a t i n E9          ──kept──▶  l a t i n U+10FFE9   ──bytes_of──▶  l a t i n E9
//
// A byte b that is not valid UTF-8 becomes the character U+10FF00 + b, from the unused end of the private range. Valid
// UTF-8 stays unchanged, so `kept` of kept text is that text. Text that contains such characters itself (U+10FF80 …
// U+10FFFF) cannot be restored: they are taken for single bytes. Python does the same
// (python/millpond/system/any_bytes.py); json.hpp has it for JSON. Linear. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

#include "lab/program/json.hpp"

namespace millpond::program {

std::string kept(std::string_view bytes);
std::string bytes_of(std::string_view text);

}  // namespace millpond::program
