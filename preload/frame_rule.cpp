// SPDX-License-Identifier: BSL-1.0
#include "preload/frame_rule.hpp"

#include <dlfcn.h>
#include <string.h>

namespace millpond::preload {
namespace {

using machine::frame_pointer;
using machine::stack_pointer;

// Pointer encodings (the low four bits say the format, the next three what it is relative to).
enum : std::uint8_t { enc_absptr = 0x00, enc_udata4 = 0x03, enc_udata8 = 0x04, enc_sdata4 = 0x0b, enc_sdata8 = 0x0c };
enum : std::uint8_t { enc_pcrel = 0x10, enc_datarel_sdata4 = 0x3b, enc_omit = 0xff };
// Operations of DWARF expressions that appear in CFA rules.
enum : std::uint8_t { op_deref = 0x06, op_breg0 = 0x70 };

template <class T>
T load(const std::uint8_t* at) noexcept {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

// Reads call-frame information from first to last; reading past the end yields zeros.
class cursor {
  public:
    cursor(const std::uint8_t* first, const std::uint8_t* last) noexcept : at_(first), end_(last) {}
    [[nodiscard]] bool more() const noexcept { return at_ < end_; }
    [[nodiscard]] const std::uint8_t* at() const noexcept { return at_; }
    void skip(std::uint64_t bytes) noexcept {
        at_ = bytes > static_cast<std::uint64_t>(end_ - at_) ? end_ : at_ + bytes;
    }

    template <class T>
    T fixed() noexcept {
        if (static_cast<std::uint64_t>(end_ - at_) < sizeof(T)) {
            at_ = end_;
            return T{};
        }
        const T value = load<T>(at_);
        at_ += sizeof(T);
        return value;
    }
    std::uint64_t unsigned_leb() noexcept {
        std::uint64_t value = 0;
        for (unsigned shift = 0; more(); shift += 7) {
            const std::uint8_t byte = *at_++;
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 127) << shift;
            if ((byte & 128) == 0) break;
        }
        return value;
    }
    std::int64_t signed_leb() noexcept {
        std::uint64_t value = 0;
        unsigned shift = 0;
        std::uint8_t byte = 0;
        while (more()) {
            byte = *at_++;
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 127) << shift;
            shift += 7;
            if ((byte & 128) == 0) break;
        }
        if (shift < 64 && (byte & 64) != 0) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
    }
    // Reads a pointer in one of the encodings that linkers use; false for others.
    bool pointer(std::uint8_t encoding, std::uint64_t& value) noexcept {
        const auto place = reinterpret_cast<std::uint64_t>(at_);
        switch (encoding & 0x0f) {
            case enc_absptr:
            case enc_udata8:
            case enc_sdata8:
                value = fixed<std::uint64_t>();
                break;
            case enc_udata4:
                value = fixed<std::uint32_t>();
                break;
            case enc_sdata4:
                value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
                break;
            default:
                return false;
        }
        if ((encoding & 0x70) == enc_pcrel) value += place;
        return true;
    }

  private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

// The columns of the CFA table that a step needs.
struct row {
    enum cfa_kinds : std::uint8_t { reg_offset, deref, unsupported };
    std::int64_t cfa_offset = 0;
    std::uint64_t cfa_register = stack_pointer;
    std::int64_t bp_offset = 0;
    cfa_kinds cfa = reg_offset;
    std::uint8_t bp_rule = frame_rule::kept;
    [[no_unique_address]] machine::return_rule returns;
    bool bp_unsupported = false;
    bool no_caller = false;
};

class cfa_program {
  public:
    cfa_program(std::int64_t code_factor, std::int64_t data_factor, std::uint8_t encoding) noexcept
        : code_factor_(code_factor), data_factor_(data_factor), encoding_(encoding) {}

    void set_initial(const row& r) noexcept { initial_ = r; }

    // Runs instructions until the row for `pc` is complete.
    void run(cursor c, std::uint64_t location, std::uint64_t pc, row& r) noexcept {
        depth_ = 0;
        while (c.more()) {
            const auto byte = c.fixed<std::uint8_t>();
            const std::uint8_t low = byte & 63;
            if (!advance(byte, low, c, location)) {
                if (!apply(byte, low, c, r)) {
                    r.cfa = row::unsupported;
                    return;
                }
            } else if (location > pc) {
                return;
            }
        }
    }

  private:
    bool advance(std::uint8_t byte, std::uint8_t low, cursor& c, std::uint64_t& location) const noexcept {
        std::uint64_t delta = 0;
        if ((byte & 0xc0) == 0x40) {
            delta = low;
        } else {
            switch (byte) {
                case 0x01: {
                    if (!c.pointer(encoding_, location)) location = ~std::uint64_t{0};
                    return true;
                }
                case 0x02:
                    delta = c.fixed<std::uint8_t>();
                    break;
                case 0x03:
                    delta = c.fixed<std::uint16_t>();
                    break;
                case 0x04:
                    delta = c.fixed<std::uint32_t>();
                    break;
                default:
                    return false;
            }
        }
        location += delta * static_cast<std::uint64_t>(code_factor_);
        return true;
    }

    // Notes that a function saved a register at this distance from its CFA.
    static void save(std::uint64_t reg, row& r, std::int64_t offset) noexcept {
        if (reg == machine::return_column) r.returns.save(offset);
        if (reg != frame_pointer) return;
        r.bp_rule = frame_rule::at_cfa;
        r.bp_offset = offset;
        r.bp_unsupported = false;
    }

    void restore(std::uint64_t reg, row& r) const noexcept {
        if (reg == machine::return_column) r.returns.restore(initial_.returns);
        if (reg != frame_pointer) return;
        r.bp_rule = initial_.bp_rule;
        r.bp_offset = initial_.bp_offset;
        r.bp_unsupported = initial_.bp_unsupported;
    }

    static void cfa_expression(cursor& c, row& r) noexcept {
        const std::uint64_t bytes = c.unsigned_leb();
        cursor e(c.at(), c.at() + bytes);
        c.skip(bytes);
        const auto op = e.fixed<std::uint8_t>();
        r.cfa = row::unsupported;
        if (op != op_breg0 + frame_pointer && op != op_breg0 + stack_pointer) return;
        r.cfa_register = op - op_breg0;
        r.cfa_offset = e.signed_leb();
        if (e.fixed<std::uint8_t>() == op_deref && !e.more()) r.cfa = row::deref;
    }

    // Reads the place where a realigning function saved the frame pointer: at an offset from its own.
    static void register_expression(cursor& c, row& r) noexcept {
        const std::uint64_t reg = c.unsigned_leb();
        const std::uint64_t bytes = c.unsigned_leb();
        cursor e(c.at(), c.at() + bytes);
        c.skip(bytes);
        if (reg != frame_pointer) return;
        r.bp_unsupported = e.fixed<std::uint8_t>() != op_breg0 + frame_pointer;
        r.bp_rule = frame_rule::at_bp;
        r.bp_offset = e.signed_leb();
        if (e.more()) r.bp_unsupported = true;
    }

    bool apply(std::uint8_t byte, std::uint8_t low, cursor& c, row& r) noexcept {
        if ((byte & 0xc0) == 0x80) {  // offset
            const auto offset = static_cast<std::int64_t>(c.unsigned_leb()) * data_factor_;
            save(low, r, offset);
            return true;
        }
        if ((byte & 0xc0) == 0xc0) {
            restore(low, r);
            return true;
        }
        switch (byte) {
            case 0x00:
                return true;
            case 0x05: {  // offset_extended
                const std::uint64_t reg = c.unsigned_leb();
                const auto offset = static_cast<std::int64_t>(c.unsigned_leb()) * data_factor_;
                save(reg, r, offset);
                return true;
            }
            case 0x06:
                restore(c.unsigned_leb(), r);
                return true;
            case 0x07:  // undefined
                if (c.unsigned_leb() == machine::return_column) r.no_caller = true;
                return true;
            case 0x08:  // same_value
                if (c.unsigned_leb() == frame_pointer) r.bp_rule = frame_rule::kept;
                return true;
            case 0x09:  // register
                if (c.unsigned_leb() == frame_pointer) r.bp_unsupported = true;
                c.unsigned_leb();
                return true;
            case 0x0a:
                if (depth_ < stack_rows) stack_[depth_] = r;
                ++depth_;
                return true;
            case 0x0b:
                if (depth_ == 0) return true;
                --depth_;
                if (depth_ < stack_rows) r = stack_[depth_];
                return true;
            case 0x0c:
                r.cfa_register = c.unsigned_leb();
                r.cfa_offset = static_cast<std::int64_t>(c.unsigned_leb());
                r.cfa = row::reg_offset;
                return true;
            case 0x0d:
                r.cfa_register = c.unsigned_leb();
                r.cfa = row::reg_offset;
                return true;
            case 0x0e:
                r.cfa_offset = static_cast<std::int64_t>(c.unsigned_leb());
                return true;
            case 0x0f:
                cfa_expression(c, r);
                return true;
            case 0x10:
                register_expression(c, r);
                return true;
            case 0x11: {  // offset_extended_sf
                const std::uint64_t reg = c.unsigned_leb();
                const std::int64_t offset = c.signed_leb() * data_factor_;
                save(reg, r, offset);
                return true;
            }
            case 0x12:
                r.cfa_register = c.unsigned_leb();
                r.cfa_offset = c.signed_leb() * data_factor_;
                r.cfa = row::reg_offset;
                return true;
            case 0x13:
                r.cfa_offset = c.signed_leb() * data_factor_;
                return true;
            case 0x14:  // val_offset
            case 0x15:
                if (c.unsigned_leb() == frame_pointer) r.bp_unsupported = true;
                c.unsigned_leb();
                return true;
            case 0x16: {  // val_expression
                if (c.unsigned_leb() == frame_pointer) r.bp_unsupported = true;
                c.skip(c.unsigned_leb());
                return true;
            }
            case 0x2d:  // AARCH64_negate_ra_state: return addresses are always stripped
                return true;
            case 0x2e:
                c.unsigned_leb();
                return true;  // GNU_args_size
            default:
                return false;
        }
    }

    static constexpr unsigned stack_rows = 8;
    std::int64_t code_factor_;
    std::int64_t data_factor_;
    std::uint8_t encoding_;
    row initial_;
    row stack_[stack_rows];
    unsigned depth_ = 0;
};

// Returns the frame description entry that covers pc, by the sorted table of .eh_frame_hdr; null if none does.
const std::uint8_t* find_entry(const std::uint8_t* header, std::uint64_t pc) noexcept {
    // Version 1, any frame pointer encoding of four bytes, count as udata4, table of data-relative sdata4 pairs: the
    // form that every linker writes.
    if (header == nullptr || header[0] != 1 || header[2] != enc_udata4 || header[3] != enc_datarel_sdata4)
        return nullptr;
    const auto count = load<std::uint32_t>(header + 8);
    const std::uint8_t* const table = header + 12;
    const auto relative = static_cast<std::int64_t>(pc - reinterpret_cast<std::uint64_t>(header));
    std::uint32_t low = 0, high = count;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (load<std::int32_t>(table + std::size_t{8} * middle) <= relative)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? nullptr : header + load<std::int32_t>(table + std::size_t{8} * (low - 1) + 4);
}

frame_rule rule_of(const row& r) noexcept {
    frame_rule rule{0, 0, frame_rule::unknown, frame_rule::kept};
    if (r.no_caller) {
        rule.kind = frame_rule::outermost;
        return rule;
    }
    const bool bp = r.cfa_register == frame_pointer;
    const bool fits = r.returns.fits() && r.cfa_offset == static_cast<std::int32_t>(r.cfa_offset) &&
                      r.bp_offset == static_cast<std::int16_t>(r.bp_offset);
    if (r.cfa == row::unsupported || r.bp_unsupported || !fits || (!bp && r.cfa_register != stack_pointer)) return rule;
    if (r.cfa == row::deref)
        rule.kind = bp ? frame_rule::through_bp : frame_rule::through_sp;
    else
        rule.kind = bp ? frame_rule::from_bp : frame_rule::from_sp;
    rule.cfa_offset = static_cast<std::int32_t>(r.cfa_offset);
    rule.bp_offset = static_cast<std::int16_t>(r.bp_offset);
    rule.bp_rule = r.bp_rule;
    rule.returns = r.returns;
    return rule;
}

// The contents of the common information entry: factors, encoding, whether frames are a signal's; false for an unknown
// augmentation.
struct common_entry {
    std::int64_t code_factor = 1, data_factor = 1;
    std::uint8_t encoding = enc_absptr;
    bool signal = false, augmented = false;

    bool read(cursor& c) noexcept {
        c.skip(1);  // version
        const char* augmentation = reinterpret_cast<const char*>(c.at());
        c.skip(strlen(augmentation) + 1);
        code_factor = static_cast<std::int64_t>(c.unsigned_leb());
        data_factor = c.signed_leb();
        c.unsigned_leb();  // the return address's register
        if (*augmentation == 0) return true;
        if (*augmentation != 'z') return false;
        augmented = true;
        const std::uint64_t bytes = c.unsigned_leb();
        cursor data(c.at(), c.at() + bytes);
        c.skip(bytes);
        std::uint64_t ignored = 0;
        for (++augmentation; *augmentation != 0; ++augmentation) {
            if (*augmentation == 'R')
                encoding = data.fixed<std::uint8_t>();
            else if (*augmentation == 'L')
                data.skip(1);
            else if (*augmentation == 'S')
                signal = true;
            else if (*augmentation != 'P' || !data.pointer(data.fixed<std::uint8_t>(), ignored))
                return false;  // the rest cannot be read, and may matter
        }
        return true;
    }
};

// The frame description entry that covers an address, with the contents of its common entry.
struct description {
    cursor program{nullptr, nullptr}, common_program{nullptr, nullptr};  // behind the heads
    common_entry shared;
    std::uint64_t first = 0, bytes = 0;  // the code that it covers

    // Returns false if it does not exist or cannot be read.
    bool find(const void* header, std::uint64_t pc) noexcept {
        const std::uint8_t* const entry = find_entry(static_cast<const std::uint8_t*>(header), pc);
        if (entry == nullptr || load<std::uint32_t>(entry) == 0xffffffffu) return false;
        program = cursor(entry + 4, entry + 4 + load<std::uint32_t>(entry));
        const std::uint8_t* const common = program.at() - load<std::uint32_t>(program.at());
        program.skip(4);
        common_program = cursor(common + 8, common + 4 + load<std::uint32_t>(common));
        return shared.read(common_program) && program.pointer(shared.encoding, first) &&
               program.pointer(shared.encoding & 0x0f, bytes) && pc >= first && pc - first < bytes;
    }
};

}  // namespace

frame_rule frame_rule::compute(std::uintptr_t return_address, bool exact) noexcept {
    frame_rule none{0, 0, unknown, kept};
    const std::uint64_t pc = exact ? return_address : return_address - 1;
    dl_find_object object{};
    description found;
    const bool has_module = _dl_find_object(reinterpret_cast<void*>(pc), &object) == 0;
    const bool is_described = has_module && found.find(object.dlfo_eh_frame, pc);
    if (!is_described && !machine::is_signal_return(return_address)) {
        if (!has_module) none.kind = no_module;
        return none;
    }
    if (!is_described || found.shared.signal) {
        none.kind = signal;
        return none;
    }
    if (found.shared.augmented) found.program.skip(found.program.unsigned_leb());

    row r;
    cfa_program program(found.shared.code_factor, found.shared.data_factor, found.shared.encoding);
    program.run(found.common_program, 0, ~std::uint64_t{0}, r);
    program.set_initial(r);
    program.run(found.program, found.first, pc, r);
    return rule_of(r);
}

std::uintptr_t frame_rule::end_of_function(std::uintptr_t address) noexcept {
    dl_find_object object{};
    description found;
    const bool is_known = _dl_find_object(reinterpret_cast<void*>(address), &object) == 0 &&
                          found.find(object.dlfo_eh_frame, address) && found.first == address;
    return is_known ? found.first + found.bytes : 0;
}

}  // namespace millpond::preload
