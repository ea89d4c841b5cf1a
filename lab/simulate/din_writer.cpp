// SPDX-License-Identifier: BSL-1.0
// Writes references as lines of text, 64 KiB at a time.
#include "lab/simulate/din_writer.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace millpond::simulate {

void din_writer::write_line(char label, const millpond_reference& r) {
    std::array<char, 48> line{};
    const int length = std::snprintf(line.data(), line.size(), "%c %llx %x\n", label,
                                     static_cast<unsigned long long>(r.address), static_cast<unsigned>(r.bytes));
    text_.append(line.data(), static_cast<std::size_t>(length));
}

void din_writer::take(const millpond_reference* batch, std::size_t count) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    for (std::size_t i = 0; i < count; ++i) {
        if (batch[i].kind != millpond_store) write_line('0', batch[i]);
        if (batch[i].kind != millpond_load) write_line('1', batch[i]);
        if (text_.size() < piece) continue;
        file_.write(text_);
        text_.clear();
    }
}

void din_writer::commit() {
    file_.write(text_);
    file_.commit();
}

}  // namespace millpond::simulate
