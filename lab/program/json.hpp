// SPDX-License-Identifier: BSL-1.0
// json: a JSON value: built in code, read, and written as text.
//
//   json all = json_object({{"name", name}, {"calls", calls}, {"pools", json::array()}});
//   all["pools"].push_back("requests");
//   print(json_text(all));                  and back: parse_json(text), plan::parse_strict(text)
//
// Members keep the order in which they were added. nlohmann's library reads the text and writes strings and numbers
// (json_text.cpp). Its value is a template that costs each source four seconds to compile, so the only other source
// that uses it is the strict reader (lab/plan/strict_json.cpp). Access to a member is linear in the members of its
// object, to an element constant. Thread-safe only for reading.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millpond::program {

struct json_member;

// The value has another kind than the caller asked for, or lacks the member or element. The message says which.
class json_kind_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class json {
  public:
    enum class kind { null, boolean, integer, unsigned_integer, real, text, array, object };

    json();
    json(std::nullptr_t);
    template <std::same_as<bool> T>  // no pointer is one
    json(T value) : json(value_type(value)) {}
    template <std::signed_integral T>
    json(T value) : json(value_type(static_cast<std::int64_t>(value))) {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    json(T value) : json(value_type(static_cast<std::uint64_t>(value))) {}
    json(double value);
    json(const char* text);
    json(std::string_view text);
    json(std::string text);
    template <class T>
        requires(!std::same_as<T, json>)
    json(const std::vector<T>& elements) : json(array(std::vector<json>(elements.begin(), elements.end()))) {}
    static json array(std::vector<json> elements = {});
    static json object();

    json(const json& other);
    json(json&& other) noexcept;
    json& operator=(const json& other);
    json& operator=(json&& other) noexcept;
    ~json();

    [[nodiscard]] kind type() const { return static_cast<kind>(value_.index()); }
    [[nodiscard]] const char* type_name() const;  // as JSON calls it
    [[nodiscard]] bool is_null() const { return type() == kind::null; }
    [[nodiscard]] bool is_number() const { return kind::integer <= type() && type() <= kind::real; }
    [[nodiscard]] bool is_string() const { return type() == kind::text; }
    [[nodiscard]] bool is_array() const { return type() == kind::array; }
    [[nodiscard]] bool is_object() const { return type() == kind::object; }

    // Returns the value as a bool, a number or a std::string; throws json_kind_error if it has another kind. A number
    // is cast.
    template <class T>
    [[nodiscard]] T get() const {
        if constexpr (std::same_as<T, bool>) {
            return boolean();
        } else if constexpr (std::integral<T>) {
            return static_cast<T>(integer());
        } else if constexpr (std::floating_point<T>) {
            return static_cast<T>(real());
        } else {
            return T(text());
        }
    }
    [[nodiscard]] const std::string& text() const;  // throws as get

    // For arrays and objects; null has size 0. Only elements can be iterated directly; for members use items().
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] json* begin();
    [[nodiscard]] json* end();
    [[nodiscard]] const json* begin() const;
    [[nodiscard]] const json* end() const;
    [[nodiscard]] json& front() { return (*this)[std::size_t{0}]; }
    [[nodiscard]] const json& front() const { return (*this)[std::size_t{0}]; }
    [[nodiscard]] json& back() { return (*this)[size() - 1]; }
    [[nodiscard]] const json& back() const { return (*this)[size() - 1]; }
    [[nodiscard]] json& operator[](std::size_t index);
    [[nodiscard]] const json& operator[](std::size_t index) const;
    void push_back(json element);  // null becomes an array

    [[nodiscard]] std::vector<json_member>& items();
    [[nodiscard]] const std::vector<json_member>& items() const;
    json& operator[](std::string_view name);  // adds a missing member; null becomes an object
    [[nodiscard]] const json& operator[](std::string_view name) const { return at(name); }
    [[nodiscard]] const json& at(std::string_view name) const;      // throws json_kind_error
    [[nodiscard]] const json* member(std::string_view name) const;  // null: no such member, or not an object
    [[nodiscard]] const json& value(std::string_view name) const;   // null: no such member, or not an object
    [[nodiscard]] bool contains(std::string_view name) const { return member(name) != nullptr; }
    void erase(std::string_view name);
    void update(const json& with);  // adds the members of an object, or replaces present ones

    // Numbers compare by value, and objects compare equal in any order of their members.
    friend bool operator==(const json& a, const json& b);
    friend std::ostream& operator<<(std::ostream& to, const json& value);  // on one line

  private:
    using array_type = std::vector<json>;
    using object_type = std::vector<json_member>;
    using value_type =
        std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, array_type, object_type>;

    explicit json(value_type value);
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::int64_t integer() const;
    [[nodiscard]] double real() const;
    [[noreturn]] void fail(const char* wanted) const;

    value_type value_;
};

struct json_member {
    std::string name;
    mutable json value;  // a list of members is constant, and its values are moved from it

    friend bool operator==(const json_member&, const json_member&) = default;
};

// Keeps the order of the members.
json json_object(std::initializer_list<json_member> members);

// Returns the text for a file: strings of any bytes as in any_bytes.hpp. `indent` -1: on one line.
std::string json_text(const json& value, int indent = 2);

// Strings keep the form that they have in the text. Throws json_kind_error: not JSON.
json parse_json(const std::string& text);

}  // namespace millpond::program
