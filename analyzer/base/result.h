#pragma once
// Result<T>: a value or an Error. Member names follow std::expected, which g++ 12 offers only in
// C++23. An Error is one line: "place: what was expected, what was found; what to do".
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace ws {

struct Error {
  std::string message;  // lower case, no full stop
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error)
      : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  bool has_value() const { return v_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & {
    WS_CHECK(has_value());
    return std::get<0>(v_);
  }
  const T& value() const& {
    WS_CHECK(has_value());
    return std::get<0>(v_);
  }
  T&& value() && {
    WS_CHECK(has_value());
    return std::get<0>(std::move(v_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    WS_CHECK(!has_value());
    return std::get<1>(v_);
  }

 private:
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit on purpose
  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    WS_CHECK(!ok_);
    return error_;
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace ws
