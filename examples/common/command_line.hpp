// SPDX-License-Identifier: BSL-1.0
// The shared part of the example programs: their options, and random numbers that are the same on every machine.
//
//   request_server --repeats N --seed S        every example; prints a checksum that depends only on N and S
//   request_server_changed --wink-out          some: the changed form, with destructors left out as well
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>

namespace examples {

class dice {
  public:
    explicit dice(std::uint64_t seed) : state_(seed * 2 + 1) {}

    std::uint32_t below(std::uint32_t limit) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(((state_ >> 32) * limit) >> 32);
    }

  private:
    std::uint64_t state_;
};

struct options {
    std::uint32_t repeats;
    std::uint64_t seed = 1;
    std::uint32_t threads = 1;
    bool wink_out = false;
};

// The options of a program besides --repeats and --seed.
enum class extras : std::uint8_t { none, threads, wink_out, both };

template <typename Number>
bool read_number(const char* text, Number& number) {
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc{} && stop == end;
}

// Returns: false, after printing the usage, if the arguments are wrong.
inline bool read_options(int argc, char** argv, options& chosen, extras known = extras::none) {
    const bool takes_threads = known == extras::threads || known == extras::both;
    const bool takes_wink_out = known == extras::wink_out || known == extras::both;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (takes_wink_out && option == "--wink-out") {
            chosen.wink_out = true;
            continue;
        }
        const char* const value = ++i < argc ? argv[i] : "";
        const bool is_read = (option == "--repeats" && read_number(value, chosen.repeats)) ||
                             (option == "--seed" && read_number(value, chosen.seed)) ||
                             (takes_threads && option == "--threads" && read_number(value, chosen.threads) &&
                              chosen.threads >= 1 && chosen.threads <= 64);
        if (!is_read) {
            std::fprintf(stderr, "usage: %s [--repeats N] [--seed N]%s%s\n", argv[0],
                         takes_threads ? " [--threads 1..64]" : "", takes_wink_out ? " [--wink-out]" : "");
            return false;
        }
    }
    return true;
}

inline void print_checksum(std::uint64_t checksum) {
    std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum));
}

}  // namespace examples
