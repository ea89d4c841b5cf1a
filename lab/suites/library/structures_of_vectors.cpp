// SPDX-License-Identifier: BSL-1.0
// Structures of vectors: vector_string, vector_int, and the price of an allocator for a vector of 64 numbers.
#include "structures.hpp"

namespace millpond::library {
namespace {

struct text_vector : leaf_kind {
    template <class C>
    using structure = vector_of<C, text_of<C>>;
};
struct number_vector : leaf_kind {
    template <class C>
    using structure = vector_of<C, int>;
};
struct whole_number_vector : number_vector {
    static constexpr bool counts_structures = true;
};

// Not reserved: it grows to 1, 2, 4 … 64 elements, in seven sizes of blocks.
template <class C>
class growing_pass final : public frame::pass {
  public:
    growing_pass(std::uint64_t elements, leaves& from) : elements_(elements), leaves_(from) {}
    std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < repetitions; ++i) sum = grow_once();
        return sum;
    }

  private:
    [[gnu::noinline]] std::uint64_t grow_once() {
        leaves_.reset();
        typename C::pool pool;
        vector_of<C, int> numbers(C::template bind<int>(pool));
        for (std::uint64_t i = 0; i < elements_; ++i) numbers.push_back(leaves_.next_number());
        return use<touches_leaves>(numbers);
    }

    std::uint64_t elements_;
    leaves& leaves_;
};

template <class C>
struct growing_runner {
    static outcome run(const point& asked) {
        leaves from(asked.count("size"), asked.seed());
        growing_pass<C> work(asked.count("size"), from);
        return measure_passes(work, 1, asked.count("units"));
    }
};

}  // namespace

const workload vector_string = structure_workload<structure_runner<text_vector>::of, 1 << 12>("vector_string", "leaf");
const workload vector_int =
    structure_workload<structure_runner<number_vector>::of, 1 << 6, 1 << 22>("vector_int", "leaf");
const workload vector_int_64 =
    structure_workload<structure_runner<whole_number_vector>::of, 64, 1 << 16>("vector_int_64", "vector");
const workload vector_int_growing = structure_workload<growing_runner, 64, 1 << 16>("vector_int_growing", "vector");

}  // namespace millpond::library
