// SPDX-License-Identifier: BSL-1.0
// language_names: the owners of names in other languages, of modules and of any length, and damaged symbols.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "lab/symbols/demangle.hpp"
#include "lab/symbols/owner.hpp"
#include "lab/symbols/rust_name.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::symbols {
namespace {

struct example {
    const char* symbol;
    const char* name;
    const char* owner;
    bool standard;
};

constexpr example examples[] = {
    // Rust, v0
    {"_RNvCsbt0fQicOZbh_4cafe4tree", "cafe::tree", "cafe::tree", false},
    {"_RNvNtCsbt0fQicOZbh_4cafe4menu4tree", "cafe::menu::tree", "cafe::menu", false},
    {"_RNvMNtCs1_4cafe4shopINtB2_4BookmE3add", "cafe::shop::Book<_>::add", "cafe::shop::Book<_>", false},
    {"_RINvMNtCs1_4cafe4shopINtB3_4BookmE3addhEB5_", "cafe::shop::Book<_>::add", "cafe::shop::Book<_>", false},
    {"_RNCNvCs1_4cafe4tree0B3_", "cafe::tree::{closure#0}", "cafe::tree", false},
    {"_RNCNCNvCs1_4cafe4tree00B5_", "cafe::tree::{closure#0}::{closure#0}", "cafe::tree", false},
    {"_RNvXCs1_4cafeNtB2_4BookNtNtCs2_4core3fmt7Display3fmt", "cafe::Book::fmt", "cafe::Book", false},
    {"_RNvXCs1_4cafeShNtB2_6Weight6weight", "<[_] as cafe::Weight>::weight", "<[_] as cafe::Weight>", false},
    {"_RNvMs4_NtCslNYArtu3iFV_5alloc7raw_vecNtB5_11RawVecInner11finish_growCsduwmD7cSIQq_5gimli",
     "alloc::raw_vec::RawVecInner::finish_grow", "alloc::raw_vec::RawVecInner", true},
    {"_RINvNtNtCs1_3std3sys9backtrace28___rust_begin_short_backtraceNCNvCs2_4cafe4main0jEB1d_",
     "cafe::main::{closure#0}", "cafe::main", false},
    {"_RNvXCs1_4cafeNtB2_7CounterNtNtNtCs2_4core5alloc6global11GlobalAlloc5alloc", "cafe::Counter::alloc",
     "cafe::Counter", true},
    {"_RNvCs1_4cafeu8caf_dma3", nullptr, nullptr, false},  // its length is wrong
    {"_RNvCs1_4cafeu9bcher_kva",
     "cafe::b\xc3\xbc"
     "cher",
     "cafe::b\xc3\xbc"
     "cher",
     false},
    // Rust, legacy
    {"_ZN4cafe4tree17h2743d6016f708069E", "cafe::tree", "cafe::tree", false},
    {"_ZN4cafe4shop13Book$LT$T$GT$3add17h26206c4e76140a93E", "cafe::shop::Book<_>::add", "cafe::shop::Book<_>", false},
    {"_ZN4cafe4tree28_$u7b$$u7b$closure$u7d$$u7d$17h004944b1f7652090E", "cafe::tree::{closure}", "cafe::tree", false},
    {"_ZN49_$LT$cafe..Book$u20$as$u20$core..fmt..Display$GT$3fmt17h004944b1f7652090E", "cafe::Book::fmt", "cafe::Book",
     false},
    {"_ZN5alloc3vec12Vec$LT$T$GT$4push17h004944b1f7652090E", "alloc::vec::Vec<_>::push", "alloc::vec::Vec<_>", true},
    {"__rust_alloc", "__rust_alloc", "__rust_alloc", true},
    // D and Swift
    {"_D4shop4Book3addMFiZv", "shop.Book.add", "shop.Book", false},
    {"_D4shop4treeFiZv", "shop.tree", "shop.tree", false},
    {"_D3std5array8appenderFZv", "std.array.appender", "std.array.appender", true},
    {"_Dmain", "D main", "D main", false},
    {"$s4shop4BookC3addyySiF", "shop.Book.add", "shop.Book", false},
    {"$s4shop4treeyyF", "shop.tree", "shop.tree", false},
    {"$sSa6appendyyxnF", "Swift.append", "Swift.append", true},
    // modules of C++: as without them
    {"_ZN4shopW4shopW6orders4book3addEi", "shop::book::add", "shop::book", false},
    // others stay as they are
    {"main.(*Book).Add", "main.(*Book).Add", "main.(*Book).Add", false},
    {"__shop_MOD_add", "__shop_MOD_add", "__shop_MOD_add", false},
    {"_Reset", "_Reset", "_Reset", false},
    {"_DYNAMIC_thing", "_DYNAMIC_thing", "_DYNAMIC_thing", false},
};

TEST(language_names, own_as_the_table_says) {
    for (const example& e : examples) {
        const ownership o = own(e.symbol);
        EXPECT_EQ(o.name, e.name != nullptr ? e.name : e.symbol) << e.symbol;
        EXPECT_EQ(o.owner, e.owner != nullptr ? e.owner : e.symbol) << e.symbol;
        EXPECT_EQ(o.standard, e.standard) << e.symbol;
    }
}

TEST(language_names, damaged_symbols_do_no_harm) {
    std::mt19937_64 random(test::seed());
    for (int i = 0; i < 3000; ++i) {
        std::string symbol = examples[random() % std::size(examples)].symbol;
        for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
            const std::size_t at = random() % symbol.size();
            if (random() % 3 == 0)
                symbol.erase(at, 1 + random() % 3);
            else if (random() % 2 == 0)
                symbol.insert(at, symbol.substr(random() % symbol.size(), random() % 9));
            else
                symbol[at] = "BBIINMXYCRTSE_0129sul\xe9"[random() % 21];
            if (symbol.empty()) symbol = "_R";
        }
        const ownership o = own(symbol);
        EXPECT_FALSE(o.owner.empty()) << symbol;
        EXPECT_LE(o.owner.size(), name_bytes_max) << symbol;
        EXPECT_EQ(own(symbol).name, o.name) << symbol;
    }
}

std::string template_symbol(const std::string& before, std::size_t types, const std::string& after) {
    std::string symbol = "_Z" + before + "IJ";
    for (std::size_t i = 0; i < types; ++i) symbol += "30a_type_with_a_long_name_" + std::to_string(1000 + i);
    return symbol + "EE" + after;
}

TEST(language_names, long_symbols_are_read_and_cut) {
    EXPECT_EQ(own(template_symbol("11manufacture", 3000, "PSt6vectorIlSaIlEEi")).owner, "manufacture");
    const std::string member = template_symbol("N4shop4book", 3000, "3addEi");
    const ownership o = own(member);
    EXPECT_TRUE(o.owner.starts_with("shop::book<a_type_with_a_long_name_1000")) << o.owner;
    EXPECT_TRUE(o.name.ends_with("::add")) << o.name;
    EXPECT_LE(o.owner.size(), name_bytes_max);
    EXPECT_EQ(own(template_symbol("N4shop4book", 3000, "4trimEv")).owner, o.owner);
    EXPECT_NE(own(template_symbol("N4shop4book", 3001, "3addEi")).owner, o.owner);
    EXPECT_EQ(own(template_symbol("NSt4bookE", 0, "") + std::string(2000, '.')).owner.empty(), false);
}

TEST(language_names, cut_names_stay_distinct_and_whole) {
    std::mt19937_64 random(test::seed());
    for (int i = 0; i < 2000; ++i) {
        std::string name;
        while (name.size() < 2 * name_bytes_max) name += random() % 2 == 0 ? "\xc3\xa9" : "x";
        const std::string cut = cut_name(name);
        EXPECT_LE(cut.size(), name_bytes_max);
        EXPECT_EQ(cut.find("\xc3 "), std::string::npos) << "half a character";
        name[name_bytes_max] = 'y';
        EXPECT_NE(cut_name(name), cut);
    }
    EXPECT_EQ(cut_name("short"), "short");
}

}  // namespace
}  // namespace millpond::symbols
