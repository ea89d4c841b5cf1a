// SPDX-License-Identifier: BSL-1.0
// under_variants: runs a program without us and under every variant of a trial, including plans that route everything
// to one pool.
#pragma once

#include "trial_run.hpp"

namespace millpond::test {

class under_variants : public trial_run {
  protected:
    static constexpr const char* every[] = {"bare",        "empty",      "shared",     "shared_huge", "looked_up",
                                            "plan_locked", "plan_owned", "plan_phase", "plan_thread"};

    struct outcome {
        int status;  // negative: the signal
        std::string out, error;
        json router;
    };

    outcome run_under(const std::string& variant, const words& program) const {
        const bool planned = variant.starts_with("plan_");
        if (planned) {
            json all = route({"*"}, "all", variant == "plan_locked" ? "synchronized(multipool)" : "multipool");
            if (variant == "plan_phase") all = arena({"*"}, "all", program::json_object({{"phase", true}}));
            if (variant == "plan_thread") all = arena({"*"}, "all", program::json_object({{"thread", true}}));
            // No arguments: the modules are what matters, and a program that does nothing has the same.
            const ended end = compile(survey({program[0]}), json::array({all}));
            EXPECT_EQ(end.status, 0) << end.message;
        }
        words arguments = {
            "--round",  planned ? "plan" : variant, "--result", in("result.json"), "--stdout", in("out"), "--stderr",
            in("error")};
        if (planned) arguments.insert(arguments.end(), {"--routes", in("routes")});
        arguments.push_back("--");
        arguments.insert(arguments.end(), program.begin(), program.end());
        const ended end = trial(arguments);
        EXPECT_EQ(end.status, 0) << end.message;
        const json result = program::parse_json(content(in("result.json")));
        const int signal = result["signal"].get<int>();
        return {signal != 0 ? -signal : result["exit_status"].get<int>(), content(in("out")), content(in("error")),
                result["router"]};
    }
};

}  // namespace millpond::test
