// SPDX-License-Identifier: BSL-1.0
// construction_test: elements get the container's allocator exactly where std::pmr passes it: the same programs over
// both bindings, in every container and for every kind of element.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <optional>
#include <scoped_allocator>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace millpond {
namespace {

const char* const long_text = "a text that is longer than the small buffer of any string";

// The two bindings, with one way to ask whether an allocator reaches a pool.
struct by_base {
    using pool = std::pmr::unsynchronized_pool_resource;
    template <class T>
    using of = std::pmr::polymorphic_allocator<T>;
    template <class T>
    static bool reaches(const of<T>& allocator, const pool& wanted) {
        return allocator.resource() == &wanted;
    }
};

struct by_type {
    using pool = multipool<>;
    template <class T>
    using of = allocator<T, pool>;
    template <class T>
    static bool reaches(const of<T>& allocator, const pool& wanted) {
        return allocator.target() == &wanted;
    }
};

template <class Binding>
using string_of = std::basic_string<char, std::char_traits<char>, typename Binding::template of<char>>;
template <class Binding, class T>
using vector_of = std::vector<T, typename Binding::template of<T>>;
template <class Binding, class K, class V>
using map_of = std::map<K, V, std::less<>, typename Binding::template of<std::pair<const K, V>>>;

// Classes of a user that take the allocator first, last, or of any type.
template <class Binding>
struct leading {
    using allocator_type = typename Binding::template of<std::byte>;
    leading(std::allocator_arg_t, const allocator_type& allocator, const char* words = "") : text(words, allocator) {}
    leading(std::allocator_arg_t, const allocator_type& allocator, const leading& other)
        : text(other.text, allocator) {}
    leading(std::allocator_arg_t, const allocator_type& allocator, leading&& other)
        : text(std::move(other.text), allocator) {}
    leading(const leading&) = default;
    leading(leading&&) = default;
    leading& operator=(const leading&) = default;
    leading& operator=(leading&&) = default;
    string_of<Binding> text;
    friend bool operator<(const leading& a, const leading& b) { return a.text < b.text; }
};

template <class Binding>
struct trailing {
    using allocator_type = typename Binding::template of<char>;
    explicit trailing(const allocator_type& allocator) : text(allocator) {}
    trailing(const char* words, const allocator_type& allocator) : text(words, allocator) {}
    trailing(const trailing& other, const allocator_type& allocator) : text(other.text, allocator) {}
    trailing(trailing&& other, const allocator_type& allocator) : text(std::move(other.text), allocator) {}
    string_of<Binding> text;
    friend bool operator<(const trailing& a, const trailing& b) { return a.text < b.text; }
};

// Expects every string in the element to use `pool`. Returns the number of strings.
template <class Binding>
struct visit {
    const typename Binding::pool& pool;

    int operator()(const string_of<Binding>& text) const {
        EXPECT_TRUE(Binding::reaches(text.get_allocator(), pool));
        return 1;
    }
    int operator()(const leading<Binding>& one) const { return (*this)(one.text); }
    int operator()(const trailing<Binding>& one) const { return (*this)(one.text); }
    template <class Number>
        requires std::is_arithmetic_v<Number>
    int operator()(Number) const {
        return 0;
    }
    template <class First, class Second>
    int operator()(const std::pair<First, Second>& two) const {
        return (*this)(two.first) + (*this)(two.second);
    }
    template <class... Parts>
    int operator()(const std::tuple<Parts...>& parts) const {
        return std::apply([this](const auto&... each) { return (0 + ... + (*this)(each)); }, parts);
    }
    template <class T>
    int operator()(const vector_of<Binding, T>& elements) const {
        EXPECT_TRUE(Binding::reaches(elements.get_allocator(), pool));
        return all(elements);
    }
    template <class K, class V>
    int operator()(const map_of<Binding, K, V>& elements) const {
        EXPECT_TRUE(Binding::reaches(elements.get_allocator(), pool));
        return all(elements);
    }
    template <class Elements>
    int all(const Elements& elements) const {
        int strings = 0;
        for (const auto& each : elements) strings += (*this)(each);
        return strings;
    }
};

template <class Binding>
class construction : public testing::Test {
  protected:
    typename Binding::pool pool_;
    typename Binding::pool elsewhere_;

    // Elements made in every way that a sequence has, from arguments, from nothing and from elements of another pool.
    template <class T, template <class, class> class Sequence, class... Arguments>
    void in_sequence(const Arguments&... arguments) {
        using sequence = Sequence<T, typename Binding::template of<T>>;
        sequence elements(&pool_), others(&elsewhere_);
        elements.emplace_front(arguments...);
        others.emplace_front(arguments...);
        elements.emplace_front();
        elements.push_front(others.front());
        elements.push_front(std::move(others.front()));
        elements.resize(10);
        sequence copy(elements, &elsewhere_), moved(std::move(copy), &pool_);
        elements = moved;
        const visit<Binding> seen{pool_};
        EXPECT_EQ(seen.all(elements), seen.all(moved));
        EXPECT_GE(seen.all(elements), 10);
    }

    template <class T, class... Arguments>
    void in_vector(const Arguments&... arguments) {
        vector_of<Binding, T> elements(&pool_), others(&elsewhere_);
        for (int i = 0; i < 20; ++i) elements.emplace_back(arguments...);  // and moved when it grows
        others.emplace_back(arguments...);
#if !defined(__clang__) || !defined(__GLIBCXX__)
        // There std::vector asks whether a pair could be made without an allocator, and that does not compile.
        elements.emplace(elements.begin(), arguments...);
#endif
        elements.emplace_back();
        elements.push_back(others.front());
        elements.push_back(std::move(others.front()));
        elements.resize(40);
        vector_of<Binding, T> copy(elements, &elsewhere_), moved(std::move(copy), &pool_);
        const visit<Binding> seen{pool_};
        EXPECT_EQ(seen(elements), seen(moved));
        EXPECT_GE(seen(elements), 40);
    }

    // Containers differ in how they call `construct`, and elements in what it does: every container with one element of
    // each kind, and every element in these two, is the product's every path. The whole product compiles twice as long.
    template <class T, class... Arguments>
    void in_array_and_tree(const Arguments&... arguments) {
        in_vector<T>(arguments...);
        in_map<T>(arguments...);
    }

    template <class T, class... Arguments>
    void in_all(const Arguments&... arguments) {
        in_array_and_tree<T>(arguments...);
        in_sequence<T, std::deque>(arguments...);
        in_sequence<T, std::list>(arguments...);
        in_sequence<T, std::forward_list>(arguments...);
    }

    template <class T, class... Arguments>
    void in_map(const Arguments&... arguments) {
        map_of<Binding, int, T> values(&pool_);
        values[1];
        values.try_emplace(2, arguments...);
        values.emplace(std::piecewise_construct, std::forward_as_tuple(3), std::forward_as_tuple(arguments...));
        map_of<Binding, int, T> others(values, &elsewhere_);
        values.insert_or_assign(4, others.at(2));
        values.insert(std::pair<int, T>(5, others.at(2)));
        values.merge(map_of<Binding, int, T>(others, &pool_));
        EXPECT_GE((visit<Binding>{pool_}(values)), 5);
        if constexpr (requires(const T& a) { a < a; }) {
            map_of<Binding, T, string_of<Binding>> keys(&pool_);
            keys.emplace(std::piecewise_construct, std::forward_as_tuple(arguments...), std::forward_as_tuple("x"));
            keys.emplace(values.at(1), long_text);
            EXPECT_GE((visit<Binding>{pool_}(keys)), 2);
        }
    }
};

// std::pmr is the model for our binding in one standard only: in the others this would test the library. libc++'s is no
// model: it does not reach a string in a pair in a pair.
#if __cplusplus > 202002L || defined(_LIBCPP_VERSION)
using bindings = testing::Types<by_type>;
#else
using bindings = testing::Types<by_base, by_type>;
#endif
TYPED_TEST_SUITE(construction, bindings);

TYPED_TEST(construction, strings_propagate) {
    using string = string_of<TypeParam>;
    this->template in_all<string>(long_text);
    this->template in_array_and_tree<string>(100u, 'x');
}

TYPED_TEST(construction, classes_with_an_allocator_propagate) {
    this->template in_vector<leading<TypeParam>>(long_text);
    this->template in_vector<trailing<TypeParam>>(long_text);
    this->template in_map<leading<TypeParam>>(long_text);
}

TYPED_TEST(construction, containers_propagate) {
    using string = string_of<TypeParam>;
    using row = vector_of<TypeParam, string>;
    vector_of<TypeParam, row> rows(&this->pool_);
    rows.emplace_back().emplace_back(long_text);
    rows.emplace_back(10u);
    rows.resize(5);
    rows.insert(rows.begin(), rows.back());
    map_of<TypeParam, string, map_of<TypeParam, int, row>> deep(&this->pool_);
    deep[string(long_text, &this->elsewhere_)][3].emplace_back(long_text);
    deep.try_emplace(string("key", &this->elsewhere_)).first->second[4].emplace_back(long_text);
    const visit<TypeParam> seen{this->pool_};
    EXPECT_EQ(seen(rows), 11);
    EXPECT_EQ(seen(deep), 4);
}

TYPED_TEST(construction, pairs_propagate) {
    using string = string_of<TypeParam>;
    this->template in_all<std::pair<string, int>>(long_text, 7);
    this->template in_array_and_tree<std::pair<int, string>>(std::pair<int, const char*>(7, long_text));
    this->template in_array_and_tree<std::pair<string, std::pair<string, int>>>(
        long_text, std::pair<const char*, int>(long_text, 7));
    this->template in_all<std::pair<string, string>>(std::piecewise_construct, std::make_tuple(100u, 'x'),
                                                     std::make_tuple(long_text));
}

TYPED_TEST(construction, tuples_propagate) {
    using string = string_of<TypeParam>;
    this->template in_all<std::tuple<int, string>>(7, long_text);
    this->template in_array_and_tree<std::tuple<string>>(long_text);
    this->template in_array_and_tree<std::tuple<int, string, string>>(
        std::tuple<int, const char*, const char*>(7, "a", long_text));
    this->template in_array_and_tree<std::tuple<int, string>>(std::pair<int, const char*>(7, long_text));
    this->template in_array_and_tree<std::pair<int, std::tuple<string, int>>>(
        7, std::tuple<const char*, int>(long_text, 7));
    this->template in_array_and_tree<std::tuple<std::tuple<string>, int>>(std::tuple<const char*>(long_text), 7);
}

// A class that can be made without the allocator, so that a tuple compiles even if the allocator does not arrive.
struct indifferent {
    using allocator_type = by_type::of<char>;
    indifferent() = default;
    explicit indifferent(int) {}
    indifferent(int, const allocator_type& given) : allocator(given) {}
    std::optional<allocator_type> allocator;
};

TEST(construction_in_tuples, pairs_pass_the_allocator_on) {
    by_type::pool pool;
    using entry = std::tuple<std::pair<int, indifferent>, int>;
    std::list<entry, by_type::of<entry>> entries(&pool);
    entries.emplace_back(std::pair<int, int>(7, 8), 9);
    const std::optional<indifferent::allocator_type>& arrived = std::get<0>(entries.back()).second.allocator;
    ASSERT_TRUE(arrived.has_value());
    EXPECT_TRUE(by_type::reaches(*arrived, pool));
}

TYPED_TEST(construction, the_free_functions_propagate) {
    using string = string_of<TypeParam>;
    const typename TypeParam::template of<char> allocator(&this->pool_);
    const visit<TypeParam> seen{this->pool_};
    EXPECT_EQ(seen(std::make_obj_using_allocator<string>(allocator, long_text)), 1);
    EXPECT_EQ(seen(std::make_obj_using_allocator<std::pair<string, string>>(allocator, long_text, "b")), 2);
    EXPECT_EQ(seen(std::make_obj_using_allocator<leading<TypeParam>>(allocator, long_text)), 1);
    alignas(string) char memory[sizeof(string)];
    auto* const text =
        std::uninitialized_construct_using_allocator(reinterpret_cast<string*>(memory), allocator, long_text);
    EXPECT_EQ(seen(*text), 1);
    std::destroy_at(text);
}

// The elements' memory comes from the outer pool, the elements' own memory from the inner one.
TEST(scoped_allocators, reach_all_levels_by_type) {
    using string = string_of<by_type>;
    multipool<> outer, inner;
    using scoped = std::scoped_allocator_adaptor<by_type::of<string>, by_type::of<char>>;
    std::vector<string, scoped> texts(scoped(&outer, by_type::of<char>(&inner)));
    texts.emplace_back(long_text);
    texts.resize(3);
    texts.push_back(string("text", &outer));
    EXPECT_EQ(visit<by_type>{inner}.all(texts), 4);

#ifndef _LIBCPP_VERSION
    // uses_allocator_construction_args of libc++ does not see a pair inside a pair.
    using entry = std::pair<const string, std::pair<int, string>>;
    using scoped_entry = std::scoped_allocator_adaptor<by_type::of<entry>, by_type::of<char>>;
    std::map<string, std::pair<int, string>, std::less<>, scoped_entry> entries(
        scoped_entry(&outer, by_type::of<char>(&inner)));
    entries.emplace(std::piecewise_construct, std::forward_as_tuple(long_text), std::forward_as_tuple(1, "a"));
    entries.try_emplace(string("key", &outer), 2, long_text);
    EXPECT_EQ(visit<by_type>{inner}.all(entries), 4);
#endif

    using one_level = std::scoped_allocator_adaptor<by_type::of<string>>;
    std::vector<string, one_level> same(one_level{by_type::of<string>(&outer)});
    same.emplace_back(long_text);
    EXPECT_EQ(visit<by_type>{outer}.all(same), 1);
    std::vector<int, std::scoped_allocator_adaptor<by_type::of<int>>> numbers(
        std::scoped_allocator_adaptor<by_type::of<int>>{by_type::of<int>(&outer)});
    numbers.resize(100);
}

TEST(scoped_allocators, reach_all_levels_by_suballocator) {
    using slots = suballocator<std::allocator<int>>;
    using inner_list = std::list<int, slots>;
    using scoped = std::scoped_allocator_adaptor<suballocator<std::allocator<inner_list>>, slots>;
    const suballocator<std::allocator<inner_list>> outer;
    const slots inner;
    std::list<inner_list, scoped> lists(scoped(outer, inner));
    lists.emplace_back(3u, 7);
    lists.emplace_back();
    for (const inner_list& each : lists) EXPECT_TRUE(each.get_allocator() == inner);
}

TEST(construction_in_pools, allocate_unique_and_wink_out_propagate) {
    multipool<> pool;
    const visit<by_type> seen{pool};
    using string = string_of<by_type>;
    EXPECT_EQ(seen(*allocate_unique<std::tuple<int, string>>(pool, 7, long_text)), 1);
    EXPECT_EQ(seen(*allocate_unique<std::pair<string, string>>(pool, long_text, "b")), 2);
    const wink_out<std::tuple<string, int>, multipool<>> winked(pool, long_text, 7);
    EXPECT_EQ(seen(*winked), 1);
}

}  // namespace
}  // namespace millpond
