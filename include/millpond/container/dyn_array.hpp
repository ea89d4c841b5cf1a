// SPDX-License-Identifier: BSL-1.0
// dyn_array: a std::vector whose elements stay in place as it grows. It reserves addresses once and commits them in
// steps.
//
//   data() ├─ elements ─┼─ ready ─┤── committed: capacity() ──┤▒▒▒▒ reserved: max_size() ▒▒▒▒┤ guard page ┤
//          begin()      end()  ▲ the next step of memory, populated before it is written
//
// Use it for arrays that grow large, or without a known bound. No push_back copies everything, no two copies are in
// memory at once, and no last third is half empty. Pointers, references and iterators stay valid until the element is
// erased, so push_back(array[0]) is safe and parts of the array may be handed out while it grows. Do not use it for
// many small arrays: each costs a reservation (microseconds, and 64 KiB with the default steps); use std::vector over a
// multipool for those. Keep an array and clear() it rather than make one for each use.
//
// push_back: a comparison, a construction, an addition; a system call or two each 64 KiB; never O(size()). insert,
// erase: O(elements behind). reserve: commits, so later growth up to there cannot be refused. Everything else as
// std::vector, with its guarantees: strong for push_back, emplace_back, append_range, insert at the end, resize,
// reserve, copying; basic for insert and assign elsewhere. erase_if: if the predicate throws, the elements chosen
// before are erased; if a move throws, the number of elements is unchanged. A copy of an array reserves as much as the
// original.
// Errors: std::length_error above max_size(), std::bad_alloc if memory is refused; then nothing has changed. try_
// functions return null or false instead. An array made without a size reserves addresses with its first element. In
// checked mode the program ends on a use of elements that do not exist, writes behind the last one, and changes by two
// threads at once. Not thread-safe. Ownership: elements and addresses are the array's.
//
// Example:
//     millpond::dyn_array<int> squares;  // with (std::size_t{1} << 30): at most so many elements
//     squares.push_back(0);
//     const int* first = &squares[0];
//     for (int i = 1; i < 1000; ++i) squares.push_back(i * i);
//     assert(first == &squares[0] && squares.back() == 999 * 999);
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/one_at_a_time.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../core/out_of_memory.hpp"
#include "detail/element_order.hpp"
#include "detail/refused.hpp"
#include "detail/stepped_reservation.hpp"
#include "detail/watched_tail.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class T, class Pages = os::pages>
class dyn_array {
    static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                  "T must be an object type without const");

  public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    // Effects: none; the first element reserves 64 GiB of addresses (256 MiB if pointers have 32 bits), or half as many
    // and so on.
    dyn_array() noexcept = default;

    // Effects: reserves addresses for `most` elements, or half as many and so on; max_size() returns the result.
    // Throws: std::length_error if the size of so many elements overflows, std::bad_alloc if not one can be reserved.
    explicit dyn_array(size_type most, commit_steps steps = {}) : dyn_array(std::nothrow, most, steps) {
        if (most > most_elements) detail::too_long("dyn_array: the size of so many elements overflows");
        if (most != 0 && most_ == 0) out_of_memory(most * sizeof(T), alignof(T));
    }

    // The same without exceptions: max_size() is 0 if nothing could be reserved or the size of `most` elements
    // overflows.
    dyn_array(std::nothrow_t, size_type most, commit_steps steps = {}) noexcept
        : memory_(most <= most_elements ? most * sizeof(T) : 0, alignof(T), steps) {
        most_ = std::min(most, memory_.room() / sizeof(T));
        if (most_ == 0) return;
        begin_ = end_ = reinterpret_cast<T*>(memory_.begin());
        note_ready();
        tail_.close(begin_, ready_end());
    }

    // Effects: reserves as much as `other`, and copies its elements.
    dyn_array(const dyn_array& other)
        : dyn_array(other.is_unreserved() ? dyn_array() : dyn_array(other.most_, other.memory_.steps())) {
        append_range(other);
    }

    // Effects: takes over the elements in place; `other` is then like an array made without a size.
    dyn_array(dyn_array&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)),
          end_(std::exchange(other.end_, nullptr)),
          limit_(std::exchange(other.limit_, nullptr)),
          most_(std::exchange(other.most_, usual_most)),
          memory_(std::move(other.memory_)),
          tail_(std::move(other.tail_)) {}  // NOLINT(performance-move-const-arg): not trivial in checked mode

    // Effects: uses the existing memory if it is enough, else reserves as much as `other`.
    dyn_array& operator=(const dyn_array& other) {
        if (this == &other) return *this;
        if (other.size() <= most_) {
            assign_range(other);
        } else {
            dyn_array(other).swap(*this);
        }
        return *this;
    }

    dyn_array& operator=(dyn_array&& other) noexcept {
        dyn_array(std::move(other)).swap(*this);
        return *this;
    }

    dyn_array& operator=(std::initializer_list<T> values) {
        assign_range(values);
        return *this;
    }

    ~dyn_array() {
        tail_.look(end_, ready_end());
        destroy_all(begin_, end_);
    }

    void swap(dyn_array& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(limit_, other.limit_);
        std::swap(most_, other.most_);
        memory_.swap(other.memory_);
        std::swap(tail_, other.tail_);
    }
    friend void swap(dyn_array& a, dyn_array& b) noexcept { a.swap(b); }

    [[nodiscard]] iterator begin() noexcept { return begin_; }
    [[nodiscard]] const_iterator begin() const noexcept { return begin_; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin_; }
    [[nodiscard]] iterator end() noexcept { return end_; }
    [[nodiscard]] const_iterator end() const noexcept { return end_; }
    [[nodiscard]] const_iterator cend() const noexcept { return end_; }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end_); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end_); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin_); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin_); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] size_type size() const noexcept { return static_cast<size_type>(end_ - begin_); }
    // Returns: the most elements that it can ever hold: those with addresses, or those to be requested.
    [[nodiscard]] size_type max_size() const noexcept { return most_; }
    // Returns: the elements that have memory: up to there no growth is refused.
    [[nodiscard]] size_type capacity() const noexcept { return std::min(memory_.committed() / sizeof(T), most_); }

    [[nodiscard]] T* data() noexcept { return begin_; }
    [[nodiscard]] const T* data() const noexcept { return begin_; }
    [[nodiscard]] T& operator[](size_type at) noexcept { return expect_element(at), begin_[at]; }
    [[nodiscard]] const T& operator[](size_type at) const noexcept { return expect_element(at), begin_[at]; }
    [[nodiscard]] T& front() noexcept { return (*this)[0]; }
    [[nodiscard]] const T& front() const noexcept { return (*this)[0]; }
    [[nodiscard]] T& back() noexcept { return expect_any(), end_[-1]; }
    [[nodiscard]] const T& back() const noexcept { return expect_any(), end_[-1]; }
    // Throws: std::out_of_range.
    [[nodiscard]] T& at(size_type index) { return *checked(index); }
    [[nodiscard]] const T& at(size_type index) const { return *checked(index); }

    // Effects: appends an element. Its arguments may be elements of this array, which stay where they are.
    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }

    template <class... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        if (end_ == limit_) [[unlikely]]
            make_room();
        return construct_at_end(std::forward<Arguments>(arguments)...);
    }

    // Returns: the new element, or null if there is no room or memory for it. Throws what its construction throws.
    [[nodiscard]] T* try_push_back(const T& value) noexcept(std::is_nothrow_copy_constructible_v<T>) {
        return try_emplace_back(value);
    }
    [[nodiscard]] T* try_push_back(T&& value) noexcept(std::is_nothrow_move_constructible_v<T>) {
        return try_emplace_back(std::move(value));
    }
    template <class... Arguments>
    [[nodiscard]] T* try_emplace_back(Arguments&&... arguments) noexcept(
        std::is_nothrow_constructible_v<T, Arguments...>) {
        if (end_ == limit_ && !try_make_room()) [[unlikely]]
            return nullptr;
        return std::addressof(construct_at_end(std::forward<Arguments>(arguments)...));
    }

    void pop_back() noexcept {
        expect_any();
        const detail::one_at_a_time::visit here(busy_, "the dyn_array");
        std::destroy_at(end_ - 1);
        end_now(end_ - 1);
    }

    // Effects: removes all elements and keeps the memory; shrink_to_fit gives it back.
    void clear() noexcept { truncate(begin_); }

    // Effects: commits memory for `elements`, so that capacity() is at least that. Pages get memory when they are
    // written.
    void reserve(size_type elements) {
        if (!try_reserve(elements)) refuse(elements);
    }
    // Returns: false if that fails; then nothing has changed.
    [[nodiscard]] bool try_reserve(size_type elements) noexcept {
        if (elements == 0) return true;
        return elements <= most_ && try_reserve_addresses() && elements <= most_ &&
               memory_.commit(elements * sizeof(T));
    }

    // Effects: returns the memory behind the last element, by pages, to the system.
    void shrink_to_fit() noexcept {
        const detail::one_at_a_time::visit here(busy_, "the dyn_array");
        tail_.look(end_, ready_end());
        memory_.shrink(size() * sizeof(T));
        note_ready();
        tail_.close(end_, ready_end());  // memory that the system did not take back reads as zero
    }

    void resize(size_type elements) {
        if (elements <= size()) return truncate(begin_ + elements);
        append_many(elements - size(), [](T* from, size_type n) { std::uninitialized_value_construct_n(from, n); });
    }
    void resize(size_type elements, const T& value) {
        if (elements <= size()) return truncate(begin_ + elements);
        append_copies(elements - size(), value);
    }

    // Effects: appends the elements of a range, which may be part of this array.
    template <std::ranges::input_range Range>
    void append_range(Range&& range) {
        append(std::ranges::begin(range), std::ranges::end(range));
    }

    template <std::ranges::input_range Range>
    void assign_range(Range&& range) {
        assign(std::ranges::begin(range), std::ranges::end(range));
    }
    // `first` and `last` must not be of this array.
    template <std::input_iterator First, std::sentinel_for<First> Last>
    void assign(First first, Last last) {
        if constexpr (std::forward_iterator<First>) reserve(count(first, last));
        T* to = begin_;
        for (; to != end_ && first != last; ++to, ++first) *to = *first;
        first == last ? truncate(to) : append(std::move(first), std::move(last));
    }
    void assign(std::initializer_list<T> values) { assign_range(values); }
    void assign(size_type elements, const T& value) {
        T copy(value);
        reserve(elements);
        std::fill(begin_, begin_ + std::min(elements, size()), copy);
        resize(elements, copy);
    }

    // Returns: the position of the first new element. The arguments may refer to elements of this array.
    template <class... Arguments>
    iterator emplace(const_iterator where, Arguments&&... arguments) {
        T* const at = mutable_at(where);
        if (at == end_) return std::addressof(emplace_back(std::forward<Arguments>(arguments)...));
        if (end_ == limit_) [[unlikely]]
            make_room();
        T value(std::forward<Arguments>(arguments)...);
        T* const last = end_ - 1;
        construct_at_end(std::move(*last));
        std::move_backward(at, last, last + 1);
        *at = std::move(value);
        return at;
    }
    iterator insert(const_iterator where, const T& value) { return emplace(where, value); }
    iterator insert(const_iterator where, T&& value) { return emplace(where, std::move(value)); }
    iterator insert(const_iterator where, size_type elements, const T& value) {
        return append_and_rotate(where, [&] { append_copies(elements, value); });
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    iterator insert(const_iterator where, First first, Last last) {
        return append_and_rotate(where, [&] { append(std::move(first), std::move(last)); });
    }
    iterator insert(const_iterator where, std::initializer_list<T> values) { return insert_range(where, values); }
    template <std::ranges::input_range Range>
    iterator insert_range(const_iterator where, Range&& range) {
        return insert(where, std::ranges::begin(range), std::ranges::end(range));
    }

    // Returns: the element behind the last one erased.
    iterator erase(const_iterator where) {
        detail::watched_tail::expect(where < end_, "an element behind the last one is erased");
        return erase(where, where + 1);
    }
    iterator erase(const_iterator first, const_iterator last) {
        T* const to = mutable_at(first);
        detail::watched_tail::expect(first <= last, "a range ends before it begins");
        if (first != last) truncate(std::move(mutable_at(last), end_, to));
        return to;
    }

    // Effects: asks for huge pages from now on, or for none; memory then comes 2 MiB at a time.
    // commit_steps::huge_pages asks before the first element. Returns: false if the system has no such advice.
    bool advise_huge(bool wanted) noexcept { return try_reserve_addresses() && memory_.advise_huge(wanted); }

    [[nodiscard]] friend bool operator==(const dyn_array& a, const dyn_array& b)
        requires std::equality_comparable<T>
    {
        return std::equal(a.begin_, a.end_, b.begin_, b.end_);
    }

    // Compares as std::vector does: by operator< if the elements have no operator<=>.
    [[nodiscard]] friend auto operator<=>(const dyn_array& a, const dyn_array& b)
        requires detail::is_ordered_somehow<T>
    {
        return detail::compare_in_order(a.begin_, a.end_, b.begin_, b.end_);
    }

  private:
    static constexpr size_type most_elements = detail::max_bytes / sizeof(T);
    // The size reserved for an array that was made without a size.
    static constexpr size_type usual_bytes = size_type{1} << (sizeof(void*) >= 8 ? 36 : 28);
    static constexpr size_type usual_most = std::max<size_type>(1, usual_bytes / sizeof(T));

    // The memory for elements that may be written from end_ on; at the end of the scope the unused part is poisoned
    // again.
    class open_tail {
      public:
        open_tail(dyn_array& array, size_type elements) noexcept
            : array_(array), behind_(array.end_ + elements), here_(array.busy_, "the dyn_array") {
            array.tail_.look(array.end_, behind_);
            if constexpr (detail::memory_checker) detail::unpoison(array_.end_, elements * sizeof(T));
        }
        open_tail(const open_tail&) = delete;
        open_tail& operator=(const open_tail&) = delete;
        ~open_tail() {
            array_.tail_.close(array_.end_, behind_);
            if constexpr (detail::memory_checker) {
                detail::poison(array_.end_, static_cast<size_type>(behind_ - array_.end_) * sizeof(T));
            }
        }

      private:
        dyn_array& array_;
        T* behind_;
        [[no_unique_address]] detail::one_at_a_time::visit here_;
    };

    // Removes what was appended, unless it is told to keep it.
    class append_guard {
      public:
        explicit append_guard(dyn_array& array) noexcept : array_(array), size_(array.size()) {}
        append_guard(const append_guard&) = delete;
        append_guard& operator=(const append_guard&) = delete;
        ~append_guard() {
            if (!kept_) array_.truncate(array_.begin_ + size_);
        }
        void keep() noexcept { kept_ = true; }

      private:
        dyn_array& array_;
        size_type size_;
        bool kept_ = false;
    };

    // Effects: destroys the elements from `from` on.
    void truncate(T* from) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the dyn_array");
        destroy_all(from, end_);
        end_now(from);
    }

    // Effects: makes `from` the end; the elements behind are destroyed already.
    void end_now(T* from) noexcept {
        detail::poison(from, static_cast<size_type>(end_ - from) * sizeof(T));
        tail_.remove(from, end_);
        end_ = from;
    }

    // A function of its own for destructors that do something: inlined into a large function, gcc moves the branch of a
    // destructor far away, and the loop crosses cache lines, which took a third cycle an element.
    static void destroy_all(T* from, T* to) noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) destroy_each(from, to);
    }
    [[gnu::noinline]] static void destroy_each(T* from, T* to) noexcept { std::destroy(from, to); }

    template <class... Arguments>
    T& construct_at_end(Arguments&&... arguments) noexcept(std::is_nothrow_constructible_v<T, Arguments...>) {
        const open_tail slot(*this, 1);
        T* const made = std::construct_at(end_, std::forward<Arguments>(arguments)...);
        end_ = made + 1;
        return *made;
    }

    // Effects: appends so many elements, which `construct` makes part by part, or none.
    template <class Construct>
    void append_many(size_type elements, Construct construct) {
        reserve_more(elements);
        append_guard added(*this);
        while (elements != 0) {
            if (end_ == limit_) make_room();
            const size_type part = std::min(elements, static_cast<size_type>(limit_ - end_));
            const open_tail slots(*this, part);
            construct(end_, part);
            end_ += part;
            elements -= part;
        }
        added.keep();
    }
    void append_copies(size_type elements, const T& value) {
        append_many(elements, [&](T* from, size_type n) { std::uninitialized_fill_n(from, n, value); });
    }

    template <class First, class Last>
    void append(First first, Last last) {
        if constexpr (std::forward_iterator<First>) reserve_more(count(first, last));
        append_guard added(*this);
        while (first != last) {
            if (end_ == limit_) make_room();
            const open_tail slots(*this, part_of(first, last));
            if constexpr (std::same_as<std::iter_difference_t<First>, difference_type>) {
                auto part = std::ranges::uninitialized_copy(std::move(first), last, end_, limit_);
                end_ = part.out;
                first = std::move(part.in);
            } else {  // some standard libraries do not compile a copy between two difference types
                for (; end_ != limit_ && first != last; ++first, ++end_) std::construct_at(end_, *first);
            }
        }
        added.keep();
    }

    // Returns: the number of elements of the range that may be made in one go; for a single-pass range, as many as are
    // ready.
    template <class First, class Last>
    size_type part_of([[maybe_unused]] const First& first, [[maybe_unused]] const Last& last) const {
        const auto room = static_cast<size_type>(limit_ - end_);
        if constexpr (std::random_access_iterator<First> && std::sized_sentinel_for<Last, First>) {
            return std::min(room, count(first, last));
        } else {
            return room;
        }
    }

    template <class Append>
    iterator append_and_rotate(const_iterator where, Append append) {
        T* const at = mutable_at(where);
        T* const middle = end_;
        append();
        std::rotate(at, middle, end_);
        return at;
    }

    // Effects: makes room for so many more elements. Throws: before anything has begun.
    void reserve_more(size_type elements) {
        if (elements > most_ - size()) refuse(most_ + 1);
        reserve(size() + elements);
    }

    [[gnu::noinline, gnu::cold]] void make_room() {
        if (!try_make_room()) refuse(size() + 1);
    }
    [[gnu::noinline, gnu::cold]] bool try_make_room() noexcept {
        if (!try_reserve_addresses()) return false;
        char* const ready_before = ready_end();
        if (size() == most_ || !memory_.advance((size() + 1) * sizeof(T))) return false;
        note_ready();
        tail_.close(ready_before, ready_end());
        return true;
    }
    [[nodiscard]] bool is_unreserved() const noexcept { return begin_ == nullptr && most_ != 0; }
    // Effects: reserves addresses, if there are none yet. Returns: false if that fails; then nothing has changed.
    [[nodiscard]] bool try_reserve_addresses() noexcept {
        if (!is_unreserved()) [[likely]]
            return most_ != 0;
        dyn_array made(std::nothrow, most_, memory_.steps());
        if (made.most_ == 0) return false;
        swap(made);
        return true;
    }
    [[nodiscard]] char* ready_end() const noexcept {
        return begin_ == nullptr ? nullptr : reinterpret_cast<char*>(begin_) + memory_.ready();
    }
    void note_ready() noexcept { limit_ = begin_ + std::min(memory_.ready() / sizeof(T), most_); }

    [[noreturn, gnu::noinline, gnu::cold]] void refuse(size_type elements) const {
        if (elements > most_) detail::too_long("dyn_array: more elements than max_size()");
        out_of_memory(elements * sizeof(T), alignof(T));
    }

    template <class First, class Last>
    static size_type count(const First& first, const Last& last) {
        return static_cast<size_type>(std::ranges::distance(first, last));
    }
    T* mutable_at(const_iterator where) noexcept {
        detail::watched_tail::expect(begin_ <= where && where <= end_, "an iterator lies outside");
        return begin_ + (where - begin_);
    }
    void expect_element(size_type at) const noexcept {
        detail::watched_tail::expect(at < size(), "an element behind the last one is used");
    }
    void expect_any() const noexcept { detail::watched_tail::expect(!empty(), "an element of an empty array is used"); }
    T* checked(size_type index) const {
        if (index >= size()) detail::no_such_element("dyn_array: at() behind the last element");
        return begin_ + index;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* limit_ = nullptr;  // end of the ready memory
    size_type most_ = usual_most;
    detail::stepped_reservation<Pages> memory_;
    [[no_unique_address]] detail::watched_tail tail_;
    [[no_unique_address]] detail::one_at_a_time busy_;
};

// Effects: erases the elements for which the predicate is true. Returns: their number. Throws: what the predicate
// throws; then the elements chosen before are erased.
template <class T, class Pages, class Predicate>
std::size_t erase_if(dyn_array<T, Pages>& from, Predicate predicate) {
    struct gap_closer {
        dyn_array<T, Pages>& array;
        T* kept;  // behind the last element that stays
        T* next;  // the next element to be tested

        explicit gap_closer(dyn_array<T, Pages>& of) noexcept : array(of), kept(of.begin()), next(of.begin()) {}
        gap_closer(const gap_closer&) = delete;
        gap_closer& operator=(const gap_closer&) = delete;
        ~gap_closer() {
            if constexpr (std::is_nothrow_move_assignable_v<T>) close();
        }
        void keep() noexcept(std::is_nothrow_move_assignable_v<T>) {
            if (kept != next) *kept = std::move(*next);
            ++kept, ++next;
        }
        // Effects: moves the elements not yet tested behind those that stay.
        void close() noexcept(std::is_nothrow_move_assignable_v<T>) {
            if (kept == next) return;
            while (next != array.end()) keep();
            array.erase(kept, array.end());
            kept = next = array.end();
        }
    } gap(from);
    const std::size_t before = from.size();
    while (gap.next != from.end()) predicate(*gap.next) ? void(++gap.next) : gap.keep();
    gap.close();
    return before - from.size();
}
template <class T, class Pages, class Value>
std::size_t erase(dyn_array<T, Pages>& from, const Value& value) {
    return erase_if(from, [&](const T& element) { return element == value; });
}

}  // namespace millpond::inline MILLPOND_ABI
