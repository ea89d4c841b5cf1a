// SPDX-License-Identifier: BSL-1.0
// running_scopes: the activations that run on one thread, by the places of their return addresses on its stack.
//
//   outer │ 0x7ffe10 → main │      0x7ffd80 → run │      0x7ffc40 → parse │ inner        (the stack grows downward)
//
// An activation has ended when the stack pointer lies above its return address, or when another call has written its
// own return address to that place. Code on another stack than the thread's own (coroutine, alternate signal stack) is
// ignored: on_own_stack. The memory is mapped at the first activation; a new thread starts with zeros.
#pragma once

#include <cstdint>

namespace millpond::probes {

struct running_scope {
    std::uintptr_t place;  // where the return address lies
    std::uintptr_t return_address;
    std::uint64_t scope;
};

class running_scopes {
  public:
    static constexpr unsigned depth_max = 1u << 16;

    // Maps the memory and finds the bounds of the thread's stack; false if that fails. A second call does nothing.
    bool begin() noexcept;
    // Unmaps the memory.
    void end() noexcept;

    [[nodiscard]] bool on_own_stack(std::uintptr_t stack) const noexcept {
        return stack >= stack_first_ && stack < stack_last_;
    }
    [[nodiscard]] unsigned depth() const noexcept { return depth_; }

    bool push(const running_scope& s) noexcept {
        if (depth_ == depth_max) return false;
        stack_[depth_++] = s;
        return true;
    }
    // Drops, innermost first, the activations that have ended if a frame above `stack` runs; reports each to `gone`.
    template <class Gone>
    void drop_below(std::uintptr_t stack, const Gone& gone) noexcept {
        while (depth_ > 0 && stack_[depth_ - 1].place < stack) gone(stack_[--depth_].scope);
    }
    // Drops the activations whose place now holds another call's return address.
    template <class Gone>
    void drop_overwritten(std::uintptr_t place, std::uintptr_t return_address, const Gone& gone) noexcept {
        while (depth_ > 0 && stack_[depth_ - 1].place == place && stack_[depth_ - 1].return_address != return_address)
            gone(stack_[--depth_].scope);
    }
    // Drops, innermost first, those of both kinds: all that must have ended when a frame at `stack` runs.
    template <class Gone>
    void drop_ended(std::uintptr_t stack, const Gone& gone) noexcept {
        while (depth_ > 0) {
            const running_scope& inner = stack_[depth_ - 1];
            const bool is_there = *reinterpret_cast<const std::uintptr_t*>(inner.place) == inner.return_address;
            if (inner.place >= stack && is_there) return;
            gone(stack_[--depth_].scope);
        }
    }
    // Drops the innermost one.
    template <class Gone>
    void drop(const Gone& gone) noexcept {
        gone(stack_[--depth_].scope);
    }
    // Precondition: depth() > 0.
    [[nodiscard]] const running_scope& innermost() const noexcept { return stack_[depth_ - 1]; }
    void forget_all() noexcept { depth_ = 0; }

  private:
    bool find_bounds() noexcept;

    running_scope* stack_;
    unsigned depth_;
    std::uintptr_t stack_first_, stack_last_;
};

}  // namespace millpond::probes
