// SPDX-License-Identifier: BSL-1.0
// calls: every function of malloc's family and every operator new and delete, with the results that a program may rely
// on.
//
// Prints each answer as 1 (as it must be) or another number, then what it counted. O(1).

#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <new>

#include "marked.hpp"

namespace {

bool aligned(const void* memory, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

// Requests that cannot succeed must fail with ENOMEM and change nothing. The sizes pass through a volatile, so that no
// compiler knows them.
void failures() {
    volatile std::size_t huge = SIZE_MAX / 2;
    volatile std::size_t many = SIZE_MAX / 4;
    errno = 0;
    marked::line("malloc of half the address space fails", std::malloc(huge) == nullptr);
    marked::line("with ENOMEM", errno == ENOMEM);
    errno = 0;
    marked::line("calloc that overflows fails", std::calloc(many, 8) == nullptr);
    marked::line("with ENOMEM", errno == ENOMEM);
    void* volatile kept = marked::allocate(1);  // volatile: a compiler believes that reallocarray has ended it
    errno = 0;
    marked::line("reallocarray that overflows fails", reallocarray(kept, many, 8) == nullptr);
    marked::line("with ENOMEM", errno == ENOMEM);
    marked::line("and the object is still there", static_cast<char*>(static_cast<void*>(kept))[0] == 1);
    marked::release(kept);
    void* untouched = &untouched;
    marked::line("posix_memalign refuses an odd alignment", posix_memalign(&untouched, 3, 100) == EINVAL);
    marked::line("and leaves the pointer", untouched == &untouched);
    marked::line("nothrow new gives null", ::operator new(huge, std::nothrow) == nullptr);
    bool thrown = false;
    try {
        ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    marked::line("new throws", thrown);
}

void c_functions() {
    void* grown = std::realloc(nullptr, marked::bytes(2));
    ++marked::allocations;
    marked::line("realloc of null allocates", grown != nullptr);
    std::memset(grown, 7, marked::bytes(2));
    grown = marked::reallocate(grown, 20);
    marked::line("realloc keeps what was there", static_cast<char*>(grown)[4000] == 7);
    marked::line("usable size is enough", malloc_usable_size(grown) >= marked::bytes(20));
    const volatile std::size_t none = 0;
    ++marked::frees;
    marked::line("realloc to 0 bytes gives null", std::realloc(grown, none) == nullptr);
    marked::line("usable size of null", malloc_usable_size(nullptr) + 1);

    auto* const zeroed = static_cast<char*>(std::calloc(10, 510));
    ++marked::allocations;
    marked::line("calloc zeroes", zeroed[0] == 0 && zeroed[5099] == 0);
    marked::release(zeroed);
    void* const array = reallocarray(nullptr, 10, 520);
    ++marked::allocations;
    marked::release(array);

    void* const least = std::malloc(0);
    marked::line("malloc of 0 bytes gives an object", least != nullptr);
    std::free(least);
    std::free(nullptr);
}

void aligned_functions() {
    for (std::size_t alignment = 16; alignment <= 65536; alignment *= 8) {
        void* memory = nullptr;
        marked::allocations += 3;
        marked::line("posix_memalign", posix_memalign(&memory, alignment, 5100) == 0 && aligned(memory, alignment));
        std::memset(memory, 1, 5100);
        marked::release(memory);
        memory = memalign(alignment, 5200);
        marked::line("memalign", aligned(memory, alignment));
        marked::line("usable size is enough", malloc_usable_size(memory) >= 5200);
        ++marked::reallocations;
        memory = std::realloc(memory, 5900);
        marked::release(memory);
        memory = std::aligned_alloc(alignment, 5300);
        marked::line("aligned_alloc", aligned(memory, alignment));
        marked::release(memory);
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const on_page = valloc(5400);
    ++marked::allocations;
    marked::line("valloc", aligned(on_page, page));
    marked::release(on_page);
    void* const whole_pages = pvalloc(5000);  // rounded up to pages: asked for 5000 all the same
    marked::line("pvalloc",
                 aligned(whole_pages, page) && malloc_usable_size(whole_pages) >= (5000 + page - 1) / page * page);
    std::free(whole_pages);
}

void operators() {
    constexpr std::align_val_t wide{256};
    marked::allocations += 8;
    marked::frees += 8;
    ::operator delete(marked::written(::operator new(5001), 5001));
    ::operator delete(marked::written(::operator new(5002), 5002), std::size_t{5002});
    ::operator delete[](marked::written(::operator new[](5003), 5003));
    ::operator delete[](marked::written(::operator new[](5004), 5004), std::size_t{5004});
    ::operator delete(marked::written(::operator new(5005, std::nothrow), 5005), std::nothrow);
    ::operator delete[](marked::written(::operator new[](5006, std::nothrow), 5006), std::nothrow);
    void* const one = ::operator new(5007, wide);
    marked::line("aligned new", aligned(one, 256));
    ::operator delete(one, std::size_t{5007}, wide);
    void* const several = ::operator new[](5008, wide, std::nothrow);
    marked::line("aligned new[]", aligned(several, 256));
    ::operator delete[](several, wide, std::nothrow);
}

}  // namespace

int main() {
    failures();
    c_functions();
    aligned_functions();
    operators();
    marked::say();
    return 0;
}
