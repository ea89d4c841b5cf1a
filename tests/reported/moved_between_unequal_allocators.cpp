// SPDX-License-Identifier: BSL-1.0
// Report: boostorg/container 145, martinus/unordered_dense 79, boostorg/unordered 214, boostorg/beast 458,
//   boostorg/beast 3036
// Situation: containers are moved, by assignment and by a constructor with an allocator, to an allocator that is
//   unequal and does not follow.
// Holds: every block goes back to the resource that it came from, and the elements are all there.
// Library: yes
#include <cstdio>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
struct owning : std::pmr::memory_resource {
    std::map<void*, std::size_t> blocks;
    bool wrong = false;
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* at = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        blocks[at] = bytes;
        return at;
    }
    void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
        const auto known = blocks.find(at);
        if (known == blocks.end() || known->second != bytes) {
            wrong = true;
            return;
        }
        blocks.erase(known);
        std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
template <class Container, class Fill>
static bool moves_well(Fill fill, std::size_t wanted) {
    owning one, two;
    {
        Container source(&one), target(&two);
        fill(source);
        fill(target);
        target = std::move(source);
        if (target.size() != wanted || target.get_allocator().resource() != &two) return false;
        Container third(std::move(target), &one);
        if (third.size() != wanted || third.get_allocator().resource() != &one) return false;
    }
    return !one.wrong && !two.wrong && one.blocks.empty() && two.blocks.empty();
}
int main() {
    using texts = millpond::vector_tree<std::string, std::pmr::polymorphic_allocator<std::string>>;
    const auto fill = [](auto& container) {
        for (int i = 0; i < 500; ++i) container.push_back("a text of more than fifteen bytes " + std::to_string(i));
    };
    const bool well = moves_well<texts>(fill, 500);
    std::puts(well ? "ok" : "wrong");
    return !well;
}
