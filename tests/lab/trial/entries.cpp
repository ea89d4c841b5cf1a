// SPDX-License-Identifier: BSL-1.0
// entries TIMES: a program whose functions begin in every way that matters for a jump at their entry: with arguments in
// all registers, with addresses relative to rip, with branches, calls, and loops to their second instruction. It calls
// each function TIMES times and prints the results.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace entries {

long level = 3;

// Allocates and frees a block in the arena of the call.
__attribute__((noinline)) long make_and_drop(long number) {
    auto* const block = static_cast<long*>(std::malloc(64));
    block[0] = number;
    __asm__ volatile("" : : "r"(block) : "memory");
    const long result = block[0] + 1;
    std::free(block);
    return result;
}

__attribute__((noinline)) long of_numbers(long a, int b, short c, unsigned char d, long e, long f) {
    return make_and_drop(a) + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

// Takes eight arguments in vector registers, and more on the stack.
__attribute__((noinline)) double of_vectors(double a, double b, double c, double d, double e, double f, double g,
                                            double h, double i) {
    const double sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
    return sum + static_cast<double>(make_and_drop(1));
}

__attribute__((noinline)) long of_many(long a, long b, long c, long d, long e, long f, long g, long h) {
    return make_and_drop(a) ^ b << 1 ^ c << 2 ^ d << 3 ^ e << 4 ^ f << 5 ^ g << 6 ^ h << 7;
}

__attribute__((noinline)) double of_any_number(int count, ...) {
    std::va_list all;
    va_start(all, count);
    double sum = static_cast<double>(make_and_drop(count));
    for (int i = 0; i < count; ++i) sum = sum * 2 + va_arg(all, double);
    va_end(all);
    return sum;
}

__attribute__((noinline)) long with_frame(long bytes) {
    char text[256];
    std::memset(text, static_cast<int>(bytes), sizeof text);
    __asm__ volatile("" : : "r"(text) : "memory");
    return make_and_drop(bytes) + text[bytes % 256];
}

__attribute__((noinline)) long wanted(long number) { return make_and_drop(number) * 5; }

// Functions named after their first instructions; each one except the short one continues to `wanted`.
long global(long number);
long by_loop(long number);
long by_jump(long number);
long by_call(long number);
long branching(long number);
long short_one(long number);

}  // namespace entries

#define FUNCTION(name, code)                                                                                     \
    ".globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n" code "\n.cfi_endproc\n.size " name \
    ", .-" name "\n"
#define HAND_ON "jmp _ZN7entries6wantedEl\n"

__asm__(".text\n"
        // its address is relative to rip
        FUNCTION("_ZN7entries6globalEl", "mov _ZN7entries5levelE(%rip), %rax\nadd %rax, %rdi\n" HAND_ON)
        // the loop leads to what a jump would cover
        FUNCTION("_ZN7entries7by_loopEl", "mov %rdi, %rax\n1: sub $1, %rax\njnz 1b\n" HAND_ON)
            FUNCTION("_ZN7entries7by_jumpEl", "jmp 1f\nnop\n1: " HAND_ON)
                FUNCTION("_ZN7entries7by_callEl",
                         "call 1f\n.cfi_adjust_cfa_offset 8\n1: pop %rax\n.cfi_adjust_cfa_offset -8\n" HAND_ON)
                    FUNCTION("_ZN7entries9branchingEl", "test %edi, %edi\nje 1f\nadd $1, %rdi\n1: " HAND_ON)
                        FUNCTION("_ZN7entries9short_oneEl", "mov %rdi, %rax\nret\n"));

int main(int argc, char** argv) {
    const long times = argc > 1 ? std::atol(argv[1]) : 1;
    for (long i = 1; i <= times; ++i) {
        const auto x = static_cast<double>(i);
        std::printf("%ld ", entries::of_numbers(i, 2, 3, 4, 5 * i, 6));
        std::printf("%.0f ", entries::of_vectors(x, 2, 3 * x, 4, 5, 6 * x, 7, 8, 9 * x));
        std::printf("%ld ", entries::of_many(i, 2 * i, 3, 4, 5, 6, 7 * i, 8));
        std::printf("%.0f ", entries::of_any_number(4, x, 2.0, 3.0 * x, 4.0));
        std::printf("%ld %ld ", entries::global(i), entries::with_frame(i));
        std::printf("%ld %ld ", entries::by_loop(i), entries::by_jump(i));
        std::printf("%ld %ld ", entries::by_call(i), entries::branching(i));
        std::printf("%ld\n", entries::short_one(i));
    }
}
