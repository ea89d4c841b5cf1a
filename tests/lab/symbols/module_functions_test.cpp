// SPDX-License-Identifier: BSL-1.0
// module_functions: the functions of real modules: this program with and without its symbols, and damaged modules.
#include "lab/symbols/module_functions.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lab/symbols/elf_file.hpp"
#include "lab/symbols/frame_entries.hpp"
#include "tests/lab/trace/recording.hpp"
#include "tests/lab/trace/seed.hpp"

// Functions whose names the tests know.
namespace shop {
struct ledger {
    [[gnu::noinline]] int add(int amount);
};
int ledger::add(int amount) {
    asm volatile("" : "+r"(amount));
    return amount + 1;
}
}  // namespace shop

extern "C" [[gnu::noinline]] int plain_function(int value) {
    asm volatile("" : "+r"(value));
    return value * 3;
}

namespace millpond::symbols {
namespace {

const std::string self = "/proc/self/exe";

std::uint64_t bias_of_self() {
    std::uint64_t bias = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
            return 1;  // the program comes first
        },
        &bias);
    return bias;
}

template <typename Function>
std::uint64_t file_address(Function function) {
    return reinterpret_cast<std::uint64_t>(function) - bias_of_self();
}

std::string stripped_copy(const test::scratch_folder& folder, const std::string& options) {
    const std::string copy = folder.path("module_functions_test");
    test::write_file(copy, test::read_file(self));
    const std::string command = "strip " + options + " " + copy;
    return std::system(command.c_str()) == 0 ? copy : std::string();
}

void expect_sorted_and_apart(const module_functions& module) {
    std::uint64_t end = 0;
    for (const function& f : module.all()) {
        EXPECT_LT(f.first, f.past);
        EXPECT_GE(f.first, end);
        EXPECT_FALSE(f.name.empty());
        EXPECT_FALSE(f.owner.empty());
        end = f.past;
    }
}

TEST(module_functions, are_found_by_every_address_inside) {
    const module_functions module(self);
    const std::uint64_t at = file_address(&plain_function);
    const function* found = module.find(at);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, "plain_function");
    EXPECT_EQ(found->owner, "plain_function");
    EXPECT_EQ(found->kind, owner_kind::function);
    EXPECT_TRUE(found->named);
    EXPECT_EQ(module.find(found->past - 1), found);
    EXPECT_NE(module.find(found->past), found);
    EXPECT_EQ(module.find(0), nullptr);
    EXPECT_EQ(module.find(~std::uint64_t{0}), nullptr);
    for (const function& f : module.all()) EXPECT_EQ(module.find((f.first + f.past) / 2), &f);
}

TEST(module_functions, know_the_class_of_a_member) {
    const module_functions module(self);
    bool found = false;
    for (const function& f : module.all()) {
        if (f.name != "shop::ledger::add") continue;
        EXPECT_EQ(f.owner, "shop::ledger");
        EXPECT_EQ(f.kind, owner_kind::type);
        EXPECT_FALSE(f.standard);
        found = true;
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(shop::ledger{}.add(1), 2);
}

TEST(module_functions, lie_apart_and_in_order_in_every_module_of_this_process) {
    std::set<std::string> paths{self};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            if (info->dlpi_name[0] == '/') static_cast<std::set<std::string>*>(to)->insert(info->dlpi_name);
            return 0;
        },
        &paths);
    for (const std::string& path : paths) {
        SCOPED_TRACE(path);
        expect_sorted_and_apart(module_functions(path));
    }
}

TEST(module_functions, without_symbols_have_stable_names_without_addresses) {
    const test::scratch_folder folder;
    const std::string copy = stripped_copy(folder, "--strip-all");
    if (copy.empty()) GTEST_SKIP() << "strip is not installed";
    const module_functions stripped(copy), again(copy), whole(self);
    EXPECT_EQ(stripped.build_id(), whole.build_id());
    ASSERT_GE(whole.build_id().size(), 8u) << "link with --build-id";
    expect_sorted_and_apart(stripped);
    const function* found = stripped.find(file_address(&plain_function));
    ASSERT_NE(found, nullptr);
    EXPECT_FALSE(found->named);
    EXPECT_EQ(found->kind, owner_kind::unnamed);
    std::size_t unnamed = 0;
    for (std::size_t i = 0; i < stripped.all().size(); ++i) {
        const function& f = stripped.all()[i];
        EXPECT_EQ(f.name, again.all()[i].name);
        if (f.named) continue;
        ++unnamed;
        // module_functions_test!fN@BUILD-ID
        const std::string form = "module_functions_test!f" + std::string(f.name.find('@') - 23, '0') + "@";
        ASSERT_EQ(f.name.size(), form.size() + 8) << f.name;
        EXPECT_EQ(f.name.substr(0, 23), form.substr(0, 23));
        EXPECT_EQ(f.name.find_first_not_of("0123456789", 23), form.size() - 1) << f.name;
        EXPECT_EQ(f.name.substr(form.size()), whole.build_id().substr(0, 8));
    }
    EXPECT_GT(unnamed, 10u);
}

TEST(module_functions, have_the_same_extents_without_symbols_as_with_them) {
    const test::scratch_folder folder;
    const std::string copy = stripped_copy(folder, "--strip-all");
    if (copy.empty()) GTEST_SKIP() << "strip is not installed";
    const module_functions stripped(copy), whole(self);
    const function* with = whole.find(file_address(&plain_function));
    const function* without = stripped.find(file_address(&plain_function));
    ASSERT_TRUE(with != nullptr && without != nullptr);
    EXPECT_EQ(with->first, without->first);
    EXPECT_EQ(with->past, without->past);
}

// Returns the number of the executable section that holds an address; the number of sections if it lies in no section.
std::size_t section_of(const std::vector<address_range>& sections, std::uint64_t address) {
    std::size_t i = 0;
    while (i < sections.size() && (address < sections[i].first || address >= sections[i].past)) ++i;
    return i;
}

TEST(module_functions, neighbours_are_close_and_in_the_same_section) {
    const test::scratch_folder folder;
    const std::string copy = stripped_copy(folder, "--strip-all --keep-symbol=plain_function");
    if (copy.empty()) GTEST_SKIP() << "strip is not installed";
    const module_functions module(copy);
    const std::vector<address_range> sections = elf_file(copy).code_sections();
    ASSERT_GT(sections.size(), 1u) << "a .plt and a .text";
    const std::vector<function>& all = module.all();
    std::size_t at = 0;
    while (at < all.size() && all[at].name != "plain_function") ++at;
    ASSERT_LT(at, all.size());
    const std::size_t text = section_of(sections, all[at].first);
    std::size_t near = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].near.empty()) continue;
        ++near;
        EXPECT_EQ(all[i].near, "plain_function");
        EXPECT_FALSE(all[i].named);
        EXPECT_EQ(section_of(sections, all[i].first), text);
        EXPECT_LE(std::max(i, at) - std::min(i, at), 16u);
    }
    EXPECT_GT(near, 2u);
    EXPECT_LE(near, 32u);
    EXPECT_TRUE(all[at].near.empty());
}

TEST(module_functions, functions_of_the_c_library_pass_ownership_on) {
    Dl_info where{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(&std::abort), &where), 0);
    const module_functions libc(where.dli_fname);
    for (const function& f : libc.all()) EXPECT_TRUE(f.standard) << f.name;
}

TEST(module_functions, a_file_that_is_no_module_has_none) {
    const test::scratch_folder folder;
    const std::string path = folder.path("text");
    test::write_file(path, "no module at all");
    EXPECT_THROW(module_functions{path}, std::runtime_error);
    EXPECT_THROW(module_functions{folder.path("nothing")}, std::runtime_error);
    EXPECT_EQ(build_id_of(path), "");
    EXPECT_EQ(build_id_of(folder.path("nothing")), "");
}

TEST(module_functions, survive_damage_anywhere_in_the_file) {
    std::mt19937_64 random(test::seed());
    const test::scratch_folder folder;
    const std::string copy = stripped_copy(folder, "--strip-debug");
    const std::string whole = test::read_file(copy.empty() ? self : copy);
    const std::string path = folder.path("damaged");
    for (int i = 0; i < 40; ++i) {
        std::string bytes = whole;
        if (i % 4 == 0) bytes.resize(random() % bytes.size());
        // Headers lie at both ends of the file, and there damage tells most.
        for (int n = 0; n < 8 && !bytes.empty(); ++n) {
            const std::size_t at = n % 2 ? random() % bytes.size()
                                         : bytes.size() - 1 - random() % std::min<std::size_t>(4096, bytes.size());
            bytes[at] = static_cast<char>(random());
        }
        test::write_file(path, bytes);
        try {
            expect_sorted_and_apart(module_functions(path));
        } catch (const std::runtime_error&) {  // no module any more, and said so
        }
    }
}

TEST(frame_entries, damaged_sections_are_read_within_their_bounds) {
    std::mt19937_64 random(test::seed());
    const elf_file file(self);
    const std::string section(file.section(".eh_frame"));
    ASSERT_FALSE(section.empty());
    EXPECT_GT(decode_frame_entries(section, 0x1000, 8).size(), 10u);
    for (int i = 0; i < 300; ++i) {
        std::string bytes = section.substr(0, random() % std::min<std::size_t>(section.size(), 4096));
        for (std::uint64_t n = random() % 8; n > 0 && !bytes.empty(); --n)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        // A copy of exactly this size, so that a sanitizer sees the first byte too many.
        const std::vector<char> exact(bytes.begin(), bytes.end());
        for (const address_range& range : decode_frame_entries({exact.data(), exact.size()}, 0x1000, i % 2 ? 8 : 4))
            EXPECT_LT(range.first, range.past);
    }
}

TEST(standard_modules, are_told_from_similar_names) {
    for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc-2.31.so", "/lib64/ld-linux-x86-64.so.2",
                             "/lib/x86_64-linux-gnu/ld-2.31.so", "/usr/lib/libstdc++.so.6", "/usr/lib/libc++.so.1",
                             "libm.so.6", "/lib/libgcc_s.so.1", "/lib/libpthread.so.0", "/usr/lib/libjemalloc.so.2",
                             "/x/libmillpond-record.so", "linux-vdso.so.1", "[vdso]"})
        EXPECT_TRUE(is_standard_module(path)) << path;
    for (const char* path : {"/usr/bin/perl", "/usr/lib/libc-client.so.2007e", "/usr/lib/libcrypto.so.3",
                             "/usr/lib/libmagic.so.1", "/usr/lib/libLLVM-15.so", "/x/libc", ""})
        EXPECT_FALSE(is_standard_module(path)) << path;
}

TEST(plain_functions, are_called_so_that_they_exist) { EXPECT_EQ(plain_function(2), 6); }

}  // namespace
}  // namespace millpond::symbols
