// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/plan.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "lab/plan/json_seal.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"

namespace {

using namespace millpond::plan;

plan example() {
    return {{"/usr/bin/gawk", "4f1c09"},
            {{{"node_pool", "std::map<int, \"quoted\">"}, "nodes", strategy::multipool, false},
             {{"*"}, "rest", strategy::synchronized_multipool, true}}};
}

const std::string good = R"({"schema":"millpond.plan/1","program":{"path":"p","build_id":"ab"},"routes":[)"
                         R"({"subsystems":["a"],"pool":"x","strategy":"multipool","huge_pages":false}]})";

std::string with(const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
}

struct refusal {
    int status = 0;
    std::string message;
};

refusal refusal_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const millpond::program::failure& error) {
        return {error.status, error.what()};
    }
    return {};
}

// Expects a status and a place in the message, on both of which a user acts.
void expect_refused(const std::string& text, int status, const std::string& mentioned) {
    const refusal found = refusal_of([&] { parse_plan(text, "file.plan.json"); });
    EXPECT_EQ(found.status, status) << text;
    EXPECT_NE(found.message.find(mentioned), std::string::npos) << found.message;
    EXPECT_NE(found.message.find("file.plan.json"), std::string::npos) << found.message;
}

TEST(plan, a_printed_plan_is_read_back_unchanged) {
    const std::string text = to_text(example());
    const plan read = parse_plan(text, "text");
    EXPECT_EQ(to_text(read), text);
    ASSERT_EQ(read.routes.size(), 2u);
    EXPECT_EQ(read.routes[0].subsystems, example().routes[0].subsystems);
    EXPECT_EQ(read.routes[1].allocator, strategy::synchronized_multipool);
    EXPECT_TRUE(read.routes[1].huge_pages);
    EXPECT_EQ(read.program.build_id, "4f1c09");
}

TEST(plan, the_empty_plan_is_a_plan) {
    plan empty = example();
    empty.routes.clear();
    EXPECT_TRUE(parse_plan(to_text(empty), "text").routes.empty());
    EXPECT_TRUE(empty.pools().empty());
}

TEST(plan, routes_of_one_name_share_a_pool_in_order_of_appearance) {
    plan shared = example();
    shared.routes.push_back({{"other"}, "nodes", strategy::multipool, false});
    EXPECT_EQ(parse_plan(to_text(shared), "text").pools(), (std::vector<std::string>{"nodes", "rest"}));
}

TEST(plan, every_missing_member_is_named) {
    for (const char* member : {"schema", "program", "routes"}) {
        expect_refused(with(std::string("\"") + member + "\"", "\"gone\""), 3, std::string(member) + " is missing");
    }
    expect_refused(with("\"path\"", "\"gone\""), 3, "program.path is missing");
    expect_refused(with("\"build_id\"", "\"gone\""), 3, "program.build_id is missing");
    expect_refused(with(R"("pool":"x",)", ""), 3, "routes[0].pool is missing");
    expect_refused(with(R"("subsystems":["a"],)", ""), 3, "routes[0].subsystems is missing");
    expect_refused(with(R"("strategy":"multipool",)", ""), 3, "routes[0].strategy is missing");
}

TEST(plan, every_member_of_a_wrong_type_is_named) {
    expect_refused(with(R"("pool":"x")", R"("pool":1)"), 3, "routes[0].pool must be a string");
    expect_refused(with(R"(["a"])", R"("a")"), 3, "routes[0].subsystems must be an array");
    expect_refused(with(R"(["a"])", R"([1])"), 3, "routes[0].subsystems");
    expect_refused(with(R"(["a"])", R"([])"), 3, "routes[0].subsystems");
    expect_refused(with("false", "\"no\""), 3, "routes[0].huge_pages must be true or false");
    expect_refused(with("\"ab\"", "\"not hex\""), 3, "program.build_id");
    expect_refused("[]", 3, "must be an object");
}

TEST(plan, an_unknown_strategy_is_refused_with_the_known_ones) {
    expect_refused(with("\"multipool\"", "\"monotonic:type:wink\""), 2, "monotonic:type:wink");
    expect_refused(with("\"multipool\"", "\"arena\""), 2, "multipool, synchronized(multipool), monotonic");
}

TEST(plan, a_monotonic_has_one_scope_and_no_other_strategy_has_any) {
    const auto scoped = [](const std::string& scope) {
        return with("\"multipool\"", "\"monotonic\",\"scope\":" + scope);
    };
    for (const char* scope :
         {R"({"function":"server::handle"})", R"({"function":"f","outermost":true})",
          R"({"function":"f","observed":false,"outermost":true})", R"({"thread":true})", R"({"phase":true})"}) {
        const plan read = parse_plan(scoped(scope), "text");
        EXPECT_EQ(read.routes[0].allocator, strategy::monotonic);
        EXPECT_EQ(parse_plan(to_text(read), "text").routes[0].scope, read.routes[0].scope) << scope;
        EXPECT_NE(to_text(read).find("\"scope\""), std::string::npos);
    }
    EXPECT_EQ(parse_plan(scoped(R"({"function":"f"})"), "text").routes[0].scope.function, "f");
    expect_refused(with("\"multipool\"", "\"monotonic\""), 3, "routes[0].scope is missing");
    expect_refused(with("\"multipool\"", R"("multipool","scope":{"thread":true})"), 3, "monotonic only");
    expect_refused(scoped("{}"), 3, "routes[0].scope must have one of: function, thread, phase");
    expect_refused(scoped(R"({"thread":true,"phase":true})"), 3, "one of: function, thread, phase");
    expect_refused(scoped(R"({"request":true})"), 3, "function, thread, phase");
    expect_refused(scoped(R"({"thread":false})"), 3, "routes[0].scope.thread must be true");
    expect_refused(scoped(R"({"thread":1})"), 3, "routes[0].scope.thread");
    expect_refused(scoped(R"({"function":""})"), 3, "routes[0].scope.function must not be empty");
    expect_refused(scoped(R"({"function":"f","thread":true})"), 3, "besides function; there are: outermost, observed");
    expect_refused(scoped(R"({"function":"f","observed":1})"), 3, "routes[0].scope.observed must be true or false");
    expect_refused(scoped(R"({"thread":true,"outermost":true})"), 3, "one of: function, thread, phase");
    expect_refused(scoped(R"({"function":7})"), 3, "routes[0].scope.function must be a string");
    expect_refused(scoped("\"thread\""), 3, "routes[0].scope must be an object");
}

TEST(plan, refuses_unknown_members_of_a_route_but_not_of_the_plan) {
    expect_refused(with("huge_pages", "hugepages"), 3, "routes[0].hugepages");
    EXPECT_EQ(parse_plan(with("\"schema\"", "\"note\":\"mine\",\"schema\""), "text").routes.size(), 1u);
}

TEST(plan, contradictions_between_routes_are_refused) {
    const std::string second = R"(,{"subsystems":["b"],"pool":"x","strategy":"multipool","huge_pages":true}]})";
    expect_refused(with("}]}", "}" + second), 3, "routes[1].pool");
    const std::string twice = R"(,{"subsystems":["a"],"pool":"y","strategy":"multipool"}]})";
    expect_refused(with("}]}", "}" + twice), 3, "routes[1].subsystems");
}

TEST(plan, more_pools_than_can_be_tried_are_refused) {
    plan many = example();
    many.routes.clear();
    for (std::size_t i = 0; i <= plan::pools_max; ++i)
        many.routes.push_back({{"s" + std::to_string(i)}, "p" + std::to_string(i), strategy::multipool, false});
    expect_refused(to_text(many), 3, "pools");
    many.routes.pop_back();
    EXPECT_EQ(parse_plan(to_text(many), "text").pools().size(), plan::pools_max);
}

TEST(plan, every_truncation_is_refused_with_the_file_named) {
    const std::string text = to_text(example());
    const std::size_t last = text.find_last_of('}');
    for (std::size_t length = 0; length <= last; ++length) expect_refused(text.substr(0, length), 3, "");
}

TEST(plan, another_schema_is_refused_with_both_named) {
    expect_refused(with("plan/1", "plan/2"), 3, "millpond.plan/2");
    expect_refused(with("plan/1", "plan/2"), 3, "millpond.plan/1");
}

TEST(plan, rejects_ambiguous_json) {
    expect_refused(with(R"("pool":"x")", R"("pool":"x","pool":"y")"), 3, "stands twice");
    expect_refused(with(R"("schema")", R"("note":{"a":1,"a":2},"schema")"), 3, "stands twice");
    expect_refused(with("false", "NaN"), 3, "not JSON at line 1");
    expect_refused(with("false", "1e999"), 3, "1e999");
    expect_refused(with(R"("x")", "\"\xff\""), 3, "not JSON");
    expect_refused(with(R"("x")", R"("a\u0000b")"), 3, "routes[0].pool");
    expect_refused(with(R"(["a"])", R"(["a\u0000b"])"), 3, "routes[0].subsystems[0]");
    expect_refused(with(R"(["a"])", R"(["a","a"])"), 3, "routes[0].subsystems");
    expect_refused(good + good, 3, "not JSON");
}

// The parser's depth is bounded, whatever a file contains.
TEST(plan, rejects_nesting_without_end) {
    constexpr std::size_t levels = 1'000'000;
    std::string arrays(levels, '['), objects;
    for (std::size_t i = 0; i < levels; ++i) objects += "{\"a\":";
    for (const std::string& text : {arrays, arrays + std::string(levels, ']'), objects})
        expect_refused(text, 3, "nests deeper");
    expect_refused(with(R"("schema")", "\"note\":" + arrays + ",\"schema\""), 3, "nests deeper");
    expect_refused(with("\"x\"", arrays + std::string(levels, ']')), 3, "nests deeper");
}

TEST(plan, messages_are_one_short_line_for_any_name) {
    const std::string monster = std::string(100'000, 'x') + "\n\x1b[31m";
    const std::string written = millpond::program::json_text(monster, -1);
    for (const std::string& text : {with("\"multipool\"", written), with("\"huge_pages\"", written),
                                    with("\"millpond.plan/1\"", written), with("\"program\"", written)}) {
        const refusal found = refusal_of([&] { parse_plan(text, "file"); });
        EXPECT_NE(found.status, 0);
        EXPECT_LT(found.message.size(), 500u);
        EXPECT_EQ(found.message.find_first_of("\n\x1b"), std::string::npos);
    }
}

TEST(program_identity, is_described_with_unknown_parts) {
    EXPECT_EQ((program_identity{"/bin/a", "ab"}.described()), "/bin/a of build ab");
    EXPECT_EQ((program_identity{"/bin/a", ""}.described()), "/bin/a (without a build-id)");
    EXPECT_EQ((program_identity{"", "ab"}.described()), "the program of build ab");
    EXPECT_EQ((program_identity{"", ""}.described()), "a program that could not be identified");
    EXPECT_FALSE((program_identity{"", ""}.known()));
}

class plan_file : public testing::Test {
  protected:
    void SetUp() override {
        folder = std::filesystem::temp_directory_path() / ("millpond_plan_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
};

// Writes a plan with its checksum, as millpond-characterise does.
void write_sealed(const plan& written, const std::string& path) {
    millpond::program::write_whole(path, sealed_text(to_text(written)));
}

TEST_F(plan_file, a_sealed_file_is_read_back_unchanged) {
    const std::string path = folder / "a.plan.json";
    write_sealed(example(), path);
    EXPECT_EQ(to_text(read_plan(path)), to_text(example()));
}

TEST_F(plan_file, rejects_a_changed_file_unless_its_checksum_is_deleted) {
    const std::string path = folder / "a.plan.json";
    write_sealed(example(), path);
    std::string text = millpond::program::read_regular(path, 1u << 20);
    text.replace(text.find("4f1c09"), 6, "4f1c08");
    expect_refused(text, 3, "delete its member \"checksum\"");
    const std::size_t seal = text.rfind(',');
    EXPECT_EQ(parse_plan(text.substr(0, seal) + "}", "text").program.build_id, "4f1c08");
    expect_refused(text.substr(0, seal) + ",\"checksum\":5}", 3, "checksum");
}

TEST(plan, rejects_text_behind_a_zero_byte) {
    expect_refused(to_text(example()) + '\0', 3, "not JSON");
    expect_refused(to_text(example()) + '\0' + "more", 3, "not JSON");
}

TEST_F(plan_file, a_missing_and_an_empty_file_are_damaged_input) {
    EXPECT_EQ(refusal_of([&] { read_plan(folder / "none"); }).status, 3);
    std::ofstream(folder / "empty").close();
    EXPECT_EQ(refusal_of([&] { read_plan(folder / "empty"); }).status, 3);
}

TEST_F(plan_file, rejects_fifos_and_folders_without_waiting) {
    std::filesystem::create_directory(folder / "folder");
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    std::filesystem::create_symlink(folder / "fifo", folder / "link");
    std::filesystem::create_symlink(folder / "loop", folder / "loop");
    for (const char* name : {"folder", "fifo", "link", "loop", "none", "none/below"}) {
        const refusal found = refusal_of([&] { read_plan(folder / name); });
        EXPECT_EQ(found.status, 3) << name;
        EXPECT_NE(found.message.find((folder / name).string()), std::string::npos) << found.message;
    }
    EXPECT_EQ(refusal_of([&] { read_plan("/dev/zero"); }).status, 3);
}

TEST(strategy, names_and_values_belong_together) {
    for (const strategy each : {strategy::multipool, strategy::synchronized_multipool, strategy::monotonic})
        EXPECT_EQ(strategy_of(strategy_name(each)), each);
    EXPECT_EQ(strategy_of("synchronized( multipool )"), strategy::synchronized_multipool);
    EXPECT_FALSE(strategy_of("").has_value());
}

}  // namespace
