// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/event_window.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "lab/program/program.hpp"

namespace millpond::characterise {
namespace {

constexpr double open_end = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
    throw program::failure(program::usage, "--window " + text + ": " + why);
}

// Parses one number of a range; `absent` for an empty one.
double number_in(const window_request& request, const std::string& text, double absent) {
    if (text.empty()) return absent;
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || !(value >= 0) || !std::isfinite(value))
        refuse(request.text, "'" + text + "' is no number of " +
                                 (request.of == window_request::unit::events ? "an event" : "seconds"));
    if (request.of == window_request::unit::events && value != std::floor(value))
        refuse(request.text, "events are counted in whole numbers");
    return value;
}

std::string seconds_text(double seconds) {
    std::string text = std::to_string(seconds);
    return text.substr(0, text.find_last_not_of('0') + 1) + (text.back() == '.' ? "0" : "");
}

// The facts from one pass over a trace that tell where a window lies.
struct survey {
    std::uint64_t events = 0, first_tick = 0, last_tick = 0;
    std::uint64_t first_event = 0, last_event = 0, begin_tick = 0, end_tick = 0;  // of the window; 0: none met yet

    void met(std::uint64_t tick) {
        if (first_event == 0) {
            first_event = events;
            begin_tick = tick;
        }
        last_event = events;
        end_tick = tick;
    }
};

class scope_search {
  public:
    scope_search(const window_request& wanted, const symbols::context_functions& functions)
        : wanted_(wanted), functions_(functions) {}

    // `events`: the number of events before this note.
    void note(const trace::event& e, std::uint64_t events) {
        const std::uint64_t subject = e.bytes;
        if (subject != mpt_note_entered && subject != mpt_note_left) return;
        if (e.address >= functions_.node_count()) return;
        const std::uint32_t function = functions_.function_of(static_cast<std::uint32_t>(e.address));
        if (function == symbols::context_functions::none) return;
        const std::string& name = functions_.function(function).name;
        if (name != wanted_.scope) {
            if (others_.size() < names_max) others_.insert(name);
            return;
        }
        if (subject == mpt_note_entered) {
            if (running_++ == 0 && !begun_) {
                begun_ = true;
                first_event = events + 1;
                begin_tick = e.time_ticks;
            }
        } else if (running_ > 0) {
            --running_;
        }
        last_event = events;
        end_tick = e.time_ticks;
    }

    // The reason why there is no window; empty if there is one.
    std::string missing() const {
        if (begun_) return {};
        if (others_.empty())
            return "the recording observed no call of any function; `millpond trace record --scope @FILE` observes "
                   "those "
                   "that FILE names";
        std::string names;
        for (const std::string& each : others_) names += (names.empty() ? "" : ", ") + each;
        return "no call of that function was observed; observed were " + names;
    }
    bool is_running() const { return running_ > 0; }

    std::uint64_t first_event = 0, last_event = 0, begin_tick = 0, end_tick = 0;

  private:
    static constexpr std::size_t names_max = 5;

    const window_request& wanted_;
    const symbols::context_functions& functions_;
    std::set<std::string> others_;
    std::uint64_t running_ = 0;
    bool begun_ = false;
};

}  // namespace

window_request window_request::parse(const std::string& text) {
    window_request request;
    request.text = text;
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals);
    const std::string rest = equals == std::string::npos ? std::string{} : text.substr(equals + 1);
    if (kind == "scope" && !rest.empty()) {
        request.of = unit::scope;
        request.scope = rest;
        return request;
    }
    const std::size_t colon = rest.find(':');
    if ((kind != "events" && kind != "seconds") || colon == std::string::npos || rest == ":")
        refuse(text, "a window is events=FROM:TO, seconds=FROM:TO or scope=FUNCTION");
    request.of = kind == "events" ? unit::events : unit::seconds;
    request.from = number_in(request, rest.substr(0, colon), request.of == unit::events ? 1 : 0);
    request.to = number_in(request, rest.substr(colon + 1), open_end);
    if (request.of == unit::events && request.from < 1) refuse(text, "events are counted from 1");
    if (request.of == unit::events ? request.from > request.to : request.from >= request.to)
        refuse(text, "it ends before it begins");
    return request;
}

event_window event_window::find(const window_request& wanted, trace::reader& reader,
                                const symbols::context_functions& functions) {
    const double ticks_per_second = reader.ticks_per_ns() * 1e9;
    const std::uint64_t process_tick = reader.process().first_tick;
    survey all;
    scope_search scope(wanted, functions);
    std::uint64_t origin = 0;
    const auto is_within = [&](const trace::event& e) {
        if (wanted.of == window_request::unit::events) {
            const auto number = static_cast<double>(all.events);
            return number >= wanted.from && number <= wanted.to;
        }
        const double seconds = static_cast<double>(e.time_ticks - std::min(origin, e.time_ticks)) / ticks_per_second;
        return seconds >= wanted.from && seconds <= wanted.to;
    };
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& e = batch[i];
            if (all.first_tick == 0) {
                all.first_tick = e.time_ticks;
                origin = process_tick != 0 ? std::min(process_tick, e.time_ticks) : e.time_ticks;
            }
            all.last_tick = std::max(all.last_tick, e.time_ticks);
            if (e.op == trace::operation::note) {
                if (wanted.of == window_request::unit::scope) scope.note(e, all.events);
                continue;
            }
            ++all.events;
            if (wanted.of != window_request::unit::scope && is_within(e)) all.met(e.time_ticks);
        }
    });
    const std::string size = "the trace has " + std::to_string(all.events) + " events and lasts " +
                             seconds_text(static_cast<double>(all.last_tick - origin) / ticks_per_second) + " seconds";
    if (wanted.of == window_request::unit::events && std::isfinite(wanted.to) &&
        wanted.to > static_cast<double>(all.events))
        refuse(wanted.text, size);
    if (wanted.of == window_request::unit::scope) {
        if (const std::string why = scope.missing(); !why.empty()) refuse(wanted.text, why);
        all.first_event = scope.first_event;
        all.last_event = scope.is_running() ? all.events : scope.last_event;
        all.begin_tick = scope.begin_tick;
        all.end_tick = scope.is_running() ? all.last_tick : scope.end_tick;
    }
    if (all.first_event == 0 || all.first_event > all.last_event) refuse(wanted.text, "no event lies in it; " + size);
    event_window found;
    found.text_ = wanted.text;
    found.first_event_ = all.first_event;
    found.last_event_ = all.last_event;
    found.begin_tick_ = all.begin_tick;
    found.end_tick_ = all.end_tick;
    if (wanted.of == window_request::unit::seconds) {  // the CPU time before its first event belongs to it
        found.begin_tick_ = origin + static_cast<std::uint64_t>(wanted.from * ticks_per_second);
        if (std::isfinite(wanted.to))
            found.end_tick_ = origin + static_cast<std::uint64_t>(wanted.to * ticks_per_second);
        else
            found.end_tick_ = all.last_tick;
    }
    return found;
}

}  // namespace millpond::characterise
