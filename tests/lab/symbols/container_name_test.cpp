// SPDX-License-Identifier: BSL-1.0
// container_name: containers found from functions of libstdc++ and libc++, in both spellings, called or inlined.
#include "lab/symbols/container_name.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millpond::symbols {
namespace {

using functions = std::vector<std::string>;

std::string named(const functions& inside) {
    const auto found = name_container(inside);
    if (!found) return "nothing";
    return found->element_of.empty() ? found->type : found->type + " in " + found->element_of;
}

struct row {
    const char* expected;
    functions inside;  // from the innermost outward
};

class names_containers : public testing::TestWithParam<row> {};

TEST_P(names_containers, read_as_a_user_writes_them) { EXPECT_EQ(named(GetParam().inside), GetParam().expected); }

#define PAIR "std::pair<int const, shop::order>"
#define TREE "std::_Rb_tree<int, " PAIR ", std::_Select1st<" PAIR " >, std::less<int>, std::allocator<" PAIR " > >"
#define SET_TREE                                                                                    \
    "std::_Rb_tree<shop::order, shop::order, std::_Identity<shop::order>, std::less<shop::order>, " \
    "std::allocator<shop::order> >"
#define PMR_TREE                                         \
    "std::_Rb_tree<int, " PAIR ", std::_Select1st<" PAIR \
    " >, std::less<int>, "                               \
    "std::pmr::polymorphic_allocator<" PAIR " > >"
#define HASH(traits)                                                             \
    "std::_Hashtable<int, " PAIR ", std::allocator<" PAIR                        \
    " >, std::__detail::_Select1st, "                                            \
    "std::equal_to<int>, std::hash<int>, std::__detail::_Mod_range_hashing, "    \
    "std::__detail::_Default_ranged_hash, std::__detail::_Prime_rehash_policy, " \
    "std::__detail::_Hashtable_traits<" traits "> >"
#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define NODE_ALLOCATOR "std::__new_allocator<std::_Rb_tree_node<" PAIR " > >::allocate(unsigned long, void const*)"
#define CXX1_VALUE "std::__1::__value_type<int, shop::order>"
#define CXX1_TREE                                                                     \
    "std::__1::__tree<" CXX1_VALUE ", std::__1::__map_value_compare<int, " CXX1_VALUE \
    ", std::__1::less<int>, true>, std::__1::allocator<" CXX1_VALUE " > >"
#define CXX1_STRING "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >"

INSTANTIATE_TEST_SUITE_P(
    libstdcxx, names_containers,
    testing::Values(
        row{"nothing", {}}, row{"nothing", {"operator new(unsigned long)"}},
        row{"nothing", {"std::__new_allocator<int>::allocate(unsigned long, void const*)"}},
        row{"std::vector<shop::order>",
            {"void std::vector<shop::order, std::allocator<shop::order> >::_M_realloc_insert<shop::order>("
             "__gnu_cxx::__normal_iterator<shop::order*, std::vector<shop::order> >, shop::order&&)"}},
        row{"std::vector<bool>", {"std::_Bvector_base<std::allocator<bool> >::_M_allocate(unsigned long)"}},
        row{"std::deque<int>", {"std::_Deque_base<int, std::allocator<int> >::_M_initialize_map(unsigned long)"}},
        row{"std::queue<int>",
            {"std::_Deque_base<int, std::allocator<int> >::_M_allocate_node()",
             "std::queue<int, std::deque<int, std::allocator<int> > >::push(int const&)"}},
        row{"std::list<int>", {"std::__cxx11::_List_base<int, std::allocator<int> >::_M_get_node()"}},
        row{"std::forward_list<int>", {"std::_Fwd_list_base<int, std::allocator<int> >::_M_get_node()"}},
        row{"std::map<int, shop::order>", {NODE_ALLOCATOR}},
        row{"std::map<int, shop::order>", {NODE_ALLOCATOR, TREE "::_M_emplace_hint_unique<int>(int)"}},
        row{"std::multimap<int, shop::order>", {NODE_ALLOCATOR, TREE "::_M_emplace_equal<int>(int)"}},
        row{"std::multimap<int, shop::order>",
            {TREE "::_M_get_node()",
             "std::multimap<int, shop::order, std::less<int>, std::allocator<" PAIR " > >::insert(" PAIR "&&)"}},
        row{"std::set<shop::order>", {SET_TREE "::_M_insert_unique<shop::order>(shop::order&&)"}},
        row{"std::multiset<shop::order>", {SET_TREE "::_M_insert_equal<shop::order>(shop::order&&)"}},
        row{"std::map<int, shop::order, std::greater<int>>",
            {"std::_Rb_tree<int, " PAIR ", std::_Select1st<" PAIR " >, std::greater<int>, std::allocator<" PAIR
             " > >::_M_get_node()"}},
        row{"std::map<int, shop::order, std::less<void>>",
            {"std::map<int, shop::order, std::less<void>, std::allocator<" PAIR " > >::operator[](int const&)"}},
        row{"std::pmr::map<int, shop::order>", {PMR_TREE "::_M_get_node()"}},
        row{"std::unordered_map<int, shop::order>", {HASH("false, false, true") "::_M_insert_unique_node(int)"}},
        row{"std::unordered_multimap<int, shop::order>", {HASH("false, false, false") "::_M_insert_multi_node(int)"}},
        row{"std::string", {STRING "::_M_create(unsigned long&, unsigned long)"}},
        row{"std::string in std::map<int, std::string>",
            {STRING "::_M_create(unsigned long&, unsigned long)", STRING "::basic_string(" STRING " const&)",
             "std::pair<int const, " STRING " >::pair<int, true>(int&&, " STRING " const&)",
             "std::map<int, " STRING ", std::less<int>, std::allocator<std::pair<int const, " STRING
             " > > >::emplace<int>(int&&)"}},
        row{"std::stringstream",
            {STRING "::reserve(unsigned long)",
             "std::__cxx11::basic_stringbuf<char, std::char_traits<char>, std::allocator<char> >::overflow(int)"}},
        row{"std::string",
            {"std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> >::str() const"}},
        row{"std::shared_ptr<shop::order>",
            {"std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<shop::order, std::allocator<void> >("
             "shop::order*&, std::_Sp_alloc_shared_tag<std::allocator<void> >)",
             "std::shared_ptr<shop::order> std::make_shared<shop::order>()"}},
        row{"std::unique_ptr<shop::order>",
            {"std::__detail::_MakeUniq<shop::order>::__single_object std::make_unique<shop::order>()"}},
        row{"std::function<int()>",
            {"std::_Function_base::_Base_manager<work(int)::{lambda()#1}>::_M_create(std::_Any_data&)",
             "std::function<int ()>::function<work(int)::{lambda()#1}, void>(work(int)::{lambda()#1}&&)"}},
        row{"std::string",
            {STRING " std::operator+<char, std::char_traits<char>, std::allocator<char> >(" STRING "&&, " STRING
                    "&&)"}},
        row{"std::any", {"std::any::_Manager_external<shop::order>::_S_create(std::any::_Storage&)"}},
        row{"std::regex",
            {"std::vector<std::__detail::_State<char>, std::allocator<std::__detail::_State<char> > "
             ">::_M_allocate(int)",
             "std::__detail::_NFA<std::__cxx11::regex_traits<char> >::_M_insert_state(std::__detail::_State<char>)",
             "std::__cxx11::basic_regex<char, std::__cxx11::regex_traits<char> >::_M_compile(char const*)"}},
        row{"std::future<int>",
            {"std::__new_allocator<std::_Sp_counted_ptr_inplace<std::__future_base::_Deferred_state<work, int>, "
             "std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long)"}},
        // A pointer to a base, made of a pointer to the object.
        row{"std::shared_ptr<shop::item>",
            {"std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<shop::order*>(shop::order*)",
             "std::shared_ptr<shop::item>::shared_ptr<shop::order, void>(shop::order*)"}},
        // Functions that compilers have folded into one because their code is the same.
        row{"std::vector<double>",
            {"std::_Vector_base<long, std::allocator<long> >::_M_allocate(unsigned long)",
             "void std::vector<double, std::allocator<double> >::_M_realloc_insert<double>(double*, double&&)"}},
        row{"std::list<shop::order>",
            {"std::__new_allocator<std::__detail::_Hash_node<" PAIR ", false> >::allocate(unsigned long, void const*)",
             "std::__cxx11::_List_base<shop::order, std::allocator<shop::order> >::_M_get_node()"}}));

INSTANTIATE_TEST_SUITE_P(
    libcxx, names_containers,
    testing::Values(
        row{"std::map<int, shop::order>", {CXX1_TREE "::__construct_node<int>(int&&)"}},
        row{"std::multimap<int, shop::order>", {CXX1_TREE "::__emplace_multi<int>(int&&)"}},
        row{"std::set<int>",
            {"std::__1::__tree<int, std::__1::less<int>, std::__1::allocator<int> "
             ">::__emplace_unique_key_args<int>()"}},
        row{"std::unordered_map<int, shop::order>",
            {"std::__1::__hash_table<std::__1::__hash_value_type<int, shop::order>, "
             "std::__1::__unordered_map_hasher<int, "
             "std::__1::__hash_value_type<int, shop::order>, std::__1::hash<int>, std::__1::equal_to<int>, true>, "
             "std::__1::__unordered_map_equal<int, std::__1::__hash_value_type<int, shop::order>, "
             "std::__1::equal_to<int>, std::__1::hash<int>, true>, "
             "std::__1::allocator<std::__1::__hash_value_type<int, shop::order> > >::__rehash<true>(unsigned long)"}},
        row{"std::list<int>", {"std::__1::__list_imp<int, std::__1::allocator<int> >::__create_node()"}},
        row{"std::deque<int>",
            {"std::__1::__split_buffer<int*, std::__1::allocator<int*>&>::__split_buffer(unsigned long)",
             "std::__1::deque<int, std::__1::allocator<int> >::__add_back_capacity()"}},
        row{"std::vector<int>",
            {"std::__1::__split_buffer<int, std::__1::allocator<int>&>::__split_buffer(unsigned long)",
             "std::__1::vector<int, std::__1::allocator<int> >::__push_back_slow_path<int>(int&&)"}},
        row{"std::string", {CXX1_STRING "::__grow_by_and_replace(unsigned long)"}},
        row{"std::pmr::list<int>",
            {"std::__1::list<int, std::__1::pmr::polymorphic_allocator<int> >::push_back(int const&)"}},
        row{"std::shared_ptr<shop::order>",
            {"std::__1::allocator<std::__1::__shared_ptr_emplace<shop::order, std::__1::allocator<shop::order> > "
             ">::allocate(unsigned long)"}},
        row{"std::function<int()>",
            {"std::__1::__function::__value_func<int ()>::__value_func<work(int)::$_0>(work(int)::$_0&&)"}}));

TEST(names_containers, elements_that_allocate_stand_in_their_container) {
    EXPECT_EQ(named({"std::_Vector_base<long, std::allocator<long> >::_M_allocate(unsigned long)",
                     "std::vector<long, std::allocator<long> >::vector(std::vector<long> const&)",
                     "std::vector<std::vector<long>, std::allocator<std::vector<long> > >::push_back(long)"}),
              "std::vector<long> in std::vector<std::vector<long>>");
}

TEST(written_type, drops_defaults_and_finds_aliases) {
    EXPECT_EQ(written_type("std::vector<" STRING ", std::allocator<" STRING " > >"), "std::vector<std::string>");
    EXPECT_EQ(written_type("std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, "
                           "std::pmr::polymorphic_allocator<char> >, std::pmr::polymorphic_allocator<int> >"),
              "std::pmr::vector<std::pmr::string>");
    EXPECT_EQ(written_type("std::priority_queue<int, std::vector<int, std::allocator<int> >, std::less<int> >"),
              "std::priority_queue<int>");
    EXPECT_EQ(
        written_type("shop::box<std::map<int, int, std::less<int>, std::allocator<std::pair<const int, int> > > >"),
        "shop::box<std::map<int, int>>");
}

TEST(comparable_type, ignores_spellings_of_different_compilers) {
    EXPECT_EQ(comparable_type("std::vector<char const*>"), comparable_type("std::vector<const char *>"));
    EXPECT_EQ(comparable_type("std::array<int, 4ul>"), comparable_type("std::array<int, 4>"));
    EXPECT_NE(comparable_type("std::vector<constant>"), comparable_type("std::vector<ant>"));
}

}  // namespace
}  // namespace millpond::symbols
