// SPDX-License-Identifier: BSL-1.0
// owner: a table of demangled names as compilers write them, and properties of any name.
#include "lab/symbols/owner.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "lab/symbols/allocation_names.hpp"
#include "lab/symbols/demangled_name.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::symbols {
namespace {

enum class passes { no, standard, allocation };

struct example {
    const char* demangled;
    const char* name;
    const char* owner;
    owner_kind kind;
    passes on = passes::no;
};

constexpr owner_kind type = owner_kind::type, function = owner_kind::function;

constexpr example examples[] = {
    // classes, namespaces, free functions
    {"a::b::f(int)", "a::b::f", "a::b", type},
    {"f(int)", "f", "f", function},
    {"main", "main", "main", function},
    {"ns::f()", "ns::f", "ns", type},
    {"cls::cls()", "cls::cls", "cls", type},
    {"cls::~cls()", "cls::~cls", "cls", type},
    {"a::b::c::d::e(a::x, b::y) const", "a::b::c::d::e", "a::b::c::d", type},
    {"cls::f() const &", "cls::f", "cls", type},
    {"cls::f() &&", "cls::f", "cls", type},
    {"cls::f() volatile", "cls::f", "cls", type},
    {"f(int (*)(char), int (&) [3])", "f", "f", function},
    {"f(void (a::b::*)(int))", "f", "f", function},
    {"f(std::function<void (int)>)", "f", "f", function},
    // anonymous namespaces are transparent
    {"(anonymous namespace)::f(int)", "f", "f", function},
    {"(anonymous namespace)::cls::f()", "cls::f", "cls", type},
    {"a::(anonymous namespace)::f()", "a::f", "a", type},
    {"a::(anonymous namespace)::cls::f()", "a::cls::f", "a::cls", type},
    {"a::f((anonymous namespace)::x)", "a::f", "a", type},
    {"a::box<(anonymous namespace)::x>::f()", "a::box<x>::f", "a::box<x>", type},
    // ABI tags
    {"f[abi:cxx11](int)", "f", "f", function},
    {"a::f[abi:cxx11]() const", "a::f", "a", type},
    {"a::b[abi:v2]::f()", "a::b::f", "a::b", type},
    // template arguments: a function's are dropped, a class's are kept; return types are dropped
    {"int f<int>(int)", "f", "f", function},
    {"int ns::f<int, 3ul>(int)", "ns::f", "ns", type},
    {"void ns::cls<int>::f<char>(char)", "ns::cls<int>::f", "ns::cls<int>", type},
    {"ns::cls<int>::cls(int)", "ns::cls<int>::cls", "ns::cls<int>", type},
    {"ns::cls<int>::~cls()", "ns::cls<int>::~cls", "ns::cls<int>", type},
    {"unsigned long ns::f<int>(int)", "ns::f", "ns", type},
    {"a::b<int> const& ns::f<int>(int)", "ns::f", "ns", type},
    {"std::vector<int, std::allocator<int> >* ns::f<int>()", "ns::f", "ns", type},
    {"std::vector<int, std::allocator<int> >& ns::cls::f<int>(int const&)", "ns::cls::f", "ns::cls", type},
    {"std::enable_if<((sizeof (int))>(3)), int>::type ns::f<int>(int)", "ns::f", "ns", type},
    {"decltype(auto) ns::f<int>(int)", "ns::f", "ns", type},
    {"decltype (auto) ns::f<int>(int)", "ns::f", "ns", type},
    {"decltype ((declval<int>)()) ns::f<int>(int)", "ns::f", "ns", type},
    {"auto ns::f<int>(int)", "ns::f", "ns", type},
    {"void (*f<int>(int))(char)", "f", "f", function},
    {"f<void (ns::*)(int)>(void (ns::*)(int))", "f", "f", function},
    {"ns::cls<(ns::e)1>::f()", "ns::cls<(ns::e)1>::f", "ns::cls<(ns::e)1>", type},
    {"ns::cls<(5>3)>::f()", "ns::cls<(5>3)>::f", "ns::cls<(5>3)>", type},
    {"ns::cls<&(ns::g(int))>::f()", "ns::cls<&(ns::g(int))>::f", "ns::cls<&(ns::g(int))>", type},
    {"ns::cls<char, std::char_traits<char> >::f()", "ns::cls<char>::f", "ns::cls<char>", type},
    {"a<b<c<int> > >::f()", "a<b<c<int>>>::f", "a<b<c<int>>>", type},
    // what defaults is left out
    {"cache<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::f()",
     "cache<std::string>::f", "cache<std::string>", type},
    {"cache<std::vector<int, std::allocator<int> > >::f()", "cache<std::vector<int>>::f", "cache<std::vector<int>>",
     type},
    {"cache<std::map<int, x, std::less<int>, std::allocator<std::pair<int const, x> > > >::f()",
     "cache<std::map<int, x>>::f", "cache<std::map<int, x>>", type},
    {"cache<std::unordered_set<int, std::hash<int>, std::equal_to<int>, std::allocator<int> > >::f()",
     "cache<std::unordered_set<int>>::f", "cache<std::unordered_set<int>>", type},
    {"cache<std::unique_ptr<x, std::default_delete<x> > >::f()", "cache<std::unique_ptr<x>>::f",
     "cache<std::unique_ptr<x>>", type},
    {"cache<std::vector<int, mine<int> > >::f()", "cache<std::vector<int, mine<int>>>::f",
     "cache<std::vector<int, mine<int>>>", type},
    {"cache<std::__1::vector<int, std::__1::allocator<int> > >::f()", "cache<std::vector<int>>::f",
     "cache<std::vector<int>>", type},
    {"sorted<std::less<int> >::f()", "sorted<std::less<int>>::f", "sorted<std::less<int>>", type},
    // operators and conversions
    {"ns::operator<(ns::a const&, ns::a const&)", "ns::operator<", "ns", type},
    {"bool ns::operator< <int>(ns::a<int> const&, ns::a<int> const&)", "ns::operator<", "ns", type},
    {"ns::operator<<(std::ostream&, ns::a)", "ns::operator<<", "ns", type},
    {"std::ostream& ns::operator<< <int>(std::ostream&, int)", "ns::operator<<", "ns", type},
    {"ns::a::operator<=>(ns::a const&) const", "ns::a::operator<=>", "ns::a", type},
    {"ns::a::operator()(int) const", "ns::a::operator()", "ns::a", type},
    {"ns::a::operator[](unsigned long)", "ns::a::operator[]", "ns::a", type},
    {"ns::a::operator->() const", "ns::a::operator->", "ns::a", type},
    {"ns::a::operator->*(int)", "ns::a::operator->*", "ns::a", type},
    {"ns::a::operator=(ns::a&&)", "ns::a::operator=", "ns::a", type},
    {"ns::a::operator,(int)", "ns::a::operator,", "ns::a", type},
    {"ns::a::operator bool() const", "ns::a::operator bool", "ns::a", type},
    {"ns::a::operator unsigned long() const", "ns::a::operator unsigned long", "ns::a", type},
    {"ns::a::operator std::vector<int, std::allocator<int> >() const", "ns::a::operator std::vector<int>", "ns::a",
     type},
    {"ns::a::operator newtype() const", "ns::a::operator newtype", "ns::a", type},
    {"ns::operator\"\"_kb(unsigned long long)", "ns::operator\"\"_kb", "ns", type},
    {"operator==(a const&, a const&)", "operator==", "operator==", function},
    // lambdas and local classes belong to the owner of the function around them
    {"ns::f(int)::{lambda()#1}::operator()() const", "ns::f::{lambda#1}::operator()", "ns", type},
    {"f(int)::{lambda(int, char)#2}::operator()(int, char) const", "f::{lambda#2}::operator()", "f", function},
    {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()", "main", function},
    {"ns::cls::f(int) const::{lambda()#1}::operator()() const", "ns::cls::f::{lambda#1}::operator()", "ns::cls", type},
    {"auto ns::f<int>(int)::{lambda(auto:1)#1}::operator()<char>(char) const", "ns::f::{lambda#1}::operator()", "ns",
     type},
    {"f(int)::{lambda()#1}::operator()() const::{lambda()#1}::operator()() const",
     "f::{lambda#1}::operator()::{lambda#1}::operator()", "f", function},
    {"f(int)::local::method()", "f::local::method", "f", function},
    {"ns::cls::f()::local<int>::method()", "ns::cls::f::local<int>::method", "ns::cls", type},
    {"ns::cls::{lambda(int)#1}::operator()(int) const", "ns::cls::{lambda#1}::operator()", "ns::cls", type},
    {"ns::cls::{unnamed type#1}::f()", "ns::cls::{unnamed#1}::f", "ns::cls", type},
    // what is not quite a function
    {"non-virtual thunk to a::b::f()", "a::b::f", "a::b", type},
    {"virtual thunk to a::b::~b()", "a::b::~b", "a::b", type},
    {"guard variable for ns::f()::x", "ns::f::x", "ns", type},
    {"f(int) [clone .cold]", "f", "f", function},
    {"core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place", "core::ptr", type},
    // the standard library passes on …
    {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<int>::push_back", "std::vector<int>",
     type, passes::standard},
    {"std::__cxx11::list<x, std::allocator<x> >::f()", "std::list<x>::f", "std::list<x>", type, passes::standard},
    {"void std::sort<int*>(int*, int*)", "std::sort", "std", type, passes::standard},
    {"__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", "__gnu_cxx::new_allocator<int>::allocate",
     "__gnu_cxx::new_allocator<int>", type, passes::standard},
    {"operator new(unsigned long)", "operator new", "operator new", function, passes::standard},
    {"operator delete[](void*)", "operator delete[]", "operator delete[]", function, passes::standard},
    {"cls::operator new(unsigned long)", "cls::operator new", "cls", type, passes::standard},
    {"_start", "_start", "_start", function, passes::standard},
    // … unless a lambda may have been inlined into it
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<ns::f(int)::{lambda()#1}> > >::_M_run()",
     "ns::f::{lambda#1}::operator()", "ns", type},
    {"std::_Function_handler<void (), a::b::f(int) const::{lambda()#2}>::_M_invoke(std::_Any_data const&)",
     "a::b::f::{lambda#2}::operator()", "a::b", type},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()",
     "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int>>>::_M_run",
     "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int>>>", type, passes::standard},
    // functions that only allocate pass on too
    {"xmalloc", "xmalloc", "xmalloc", function, passes::allocation},
    {"Perl_safesysrealloc", "Perl_safesysrealloc", "Perl_safesysrealloc", function, passes::allocation},
    {"pool_allocator<int>::allocate(unsigned long)", "pool_allocator<int>::allocate", "pool_allocator<int>", type,
     passes::allocation},
    {"ns::my_resource::do_allocate(unsigned long, unsigned long)", "ns::my_resource::do_allocate", "ns::my_resource",
     type, passes::allocation},
    {"ns::checked_malloc(unsigned long)", "ns::checked_malloc", "ns", type, passes::allocation},
    {"parser::allocate(int)", "parser::allocate", "parser", type},
};

TEST(owner, is_that_of_the_table) {
    EXPECT_GE(std::size(examples), 80u);
    for (const example& e : examples) {
        const ownership o = own_demangled(e.demangled);
        EXPECT_EQ(o.name, e.name) << e.demangled;
        EXPECT_EQ(o.owner, e.owner) << e.demangled;
        EXPECT_EQ(kind_name(o.kind), kind_name(e.kind)) << e.demangled;
        EXPECT_EQ(o.standard, e.on != passes::no) << e.demangled;
        EXPECT_EQ(o.allocation, e.on == passes::allocation) << e.demangled;
    }
}

TEST(owner, a_part_or_copy_has_the_owner_of_the_whole) {
    for (const char* suffix :
         {".cold", ".part.0", ".constprop.3", ".isra.0", ".part.1.cold", ".constprop.0.isra.0", ".lto_priv.17",
          ".llvm.8234718923", "@@VERSION_1", "@plt", "._omp_fn.0", ".localalias"}) {
        EXPECT_EQ(own(std::string("_ZN1a1b1fEv") + suffix).owner, "a::b") << suffix;
        EXPECT_EQ(own(std::string("plain_c") + suffix).name, "plain_c") << suffix;
    }
    EXPECT_EQ(without_suffixes("main.main"), "main.main");  // other languages use dots too
}

TEST(owner, a_symbol_has_the_owner_of_its_demangled_name) {
    EXPECT_EQ(own("_ZNSt6vectorIiSaIiEE9push_backERKi").standard, true);
    EXPECT_EQ(own("_ZN4shop10order_book3addERKNS_5orderE").owner, "shop::order_book");
    EXPECT_EQ(own("_Znwm").standard, true);
    EXPECT_EQ(own("_Znot_a_mangled_name").name, "_Znot_a_mangled_name");
}

TEST(allocation_names, are_those_that_only_allocate) {
    for (const char* name :
         {"malloc",           "xmalloc",      "sqlite3_malloc64", "sqlite3Malloc", "sqlite3DbMallocRawNN",
          "g_malloc0",        "g_malloc_n",   "g_strdup",         "g_memdup2",     "Perl_safesysmalloc",
          "Perl_savepvn",     "emalloc_real", "CRYPTO_zalloc",    "luaM_realloc_", "PyType_GenericAlloc",
          "_PyObject_GC_New", "xasprintf",    "pool_alloc",       "xmemalign",     "_obstack_newchunk",
          "png_calloc",       "xmlStrndup",   "reallocarray"})
        EXPECT_TRUE(is_allocation_function(name)) << name;
    for (const char* name : {"main", "parse", "new_node", "allocator_init", "sqlite3BtreeOpen", "alloc_table_insert",
                             "malloc_stats", "grow", "Perl_sv_grow", "strdup_all_lines", "free", ""})
        EXPECT_FALSE(is_allocation_function(name)) << name;
}

TEST(demangled_name, any_text_is_taken_apart_without_harm) {
    std::mt19937_64 random(test::seed());
    const std::string pieces[] = {"<",
                                  ">",
                                  "(",
                                  ")",
                                  "::",
                                  "operator",
                                  " ",
                                  "{lambda(",
                                  "#1}",
                                  "[abi:x",
                                  "]",
                                  "~",
                                  "decltype",
                                  "a",
                                  "std",
                                  ",",
                                  "const",
                                  "->",
                                  "&",
                                  "*",
                                  "{",
                                  "}",
                                  "auto",
                                  "int",
                                  "__cxx11::",
                                  "(anonymous namespace)",
                                  "basic_string",
                                  "main",
                                  "h0123456789abcdef"};
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (std::uint64_t n = random() % 24; n > 0; --n) text += pieces[random() % std::size(pieces)];
        const ownership o = own_demangled(text);
        if (text.empty()) continue;
        EXPECT_FALSE(o.owner.empty()) << text;
        EXPECT_EQ(own_demangled(text).owner, o.owner) << text;
    }
}

TEST(demangled_name, names_of_any_depth_are_taken_apart) {
    for (const std::size_t depth : {10, 255, 256, 257, 5000}) {
        const std::string deep = "a" + std::string(depth, '<') + "int" + std::string(depth, '>') + "::f()";
        EXPECT_FALSE(own_demangled(deep).owner.empty());
    }
}

}  // namespace
}  // namespace millpond::symbols
