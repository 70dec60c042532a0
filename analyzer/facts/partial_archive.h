#pragma once
// Both directions of a message with the same calls: fields(archive, struct) in partial_fields.h
// names every field once, and PartialWriter or PartialReader does with it what its name says. Field
// numbers ascend; a reader skips those it does not know, and what is left out is 0 or empty.
//
// A partial is untrusted: a reader never trusts a count, keeps the memory it hands out in
// proportion to the bytes of the message, and remembers the first thing that was wrong. protozero
// throws at bytes that are no message; decode_partial is where that ends.
// Tested by: partial_test.cpp, partial_damage_test.cpp
#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <optional>
#include <protozero/exception.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
// A field of another wire type is bad input, not a mistake of the caller.
#ifndef protozero_assert
#define protozero_assert(holds) \
  ((holds) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})
#endif
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/text.h"

namespace ws::partial {

// Last enumerator of every enumeration in a partial: kLast<Leaf> and so on, in partial_fields.h.
template <class E>
inline constexpr E kLast{};

template <class T>
concept Enumeration = std::is_enum_v<T>;
template <class T>
concept Number = std::integral<T> || Enumeration<T>;

template <Number T>
constexpr int64_t widened(T v) {
  return static_cast<int64_t>(v);
}
// False when v is no value of T.
template <Number T>
bool narrowed(int64_t v, T& out) {
  int64_t lo = 0, hi = 0;
  if constexpr (Enumeration<T>) {
    hi = static_cast<int64_t>(kLast<T>);
  } else if constexpr (std::is_same_v<T, bool>) {
    hi = 1;
  } else {
    lo = static_cast<int64_t>(std::numeric_limits<T>::min());
    hi = sizeof(T) == 8 ? INT64_MAX : static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  if (v < lo || v > hi) return false;
  out = static_cast<T>(v);
  return true;
}

class PartialWriter {
 public:
  explicit PartialWriter(std::string& out) : w_(out) {}
  explicit PartialWriter(protozero::pbf_writer w) : w_(std::move(w)) {}

  template <Number T>
  void field(uint32_t tag, T& v) {
    if (v == T{}) return;
    if constexpr (std::is_signed_v<T>) {
      w_.add_sint64(tag, v);
    } else {
      w_.add_uint64(tag, static_cast<uint64_t>(v));
    }
  }
  void field(uint32_t tag, double& v) {
    if (v != 0) w_.add_double(tag, v);
  }
  void field(uint32_t tag, std::string& v) {
    if (!v.empty()) w_.add_bytes(tag, v);
  }
  void text(uint32_t tag, std::string& v) { field(tag, v); }  // printable
  void field(uint32_t tag, std::vector<std::string>& v) {
    for (const std::string& s : v) w_.add_bytes(tag, s);
  }
  template <size_t N>
  void field(uint32_t tag, std::array<int64_t, N>& v) {
    w_.add_packed_sint64(tag, v.begin(), v.end());
  }
  void field(uint32_t tag, std::vector<int64_t>& v) {
    w_.add_packed_sint64(tag, v.begin(), v.end());
  }
  template <class T>
  requires std::is_class_v<T>
  void field(uint32_t tag, std::vector<T>& v) {
    for (T& one : v) message(tag, one);
  }
  template <class T>
  requires std::is_class_v<T>
  void field(uint32_t tag, std::optional<T>& v) {
    if (v) message(tag, *v);
  }
  template <class T>
  requires std::is_class_v<T>
  void message(uint32_t tag, T& v) {
    PartialWriter sub(protozero::pbf_writer{w_, tag});
    fields(sub, v);
  }
  template <class T>
  void table(uint32_t tag, std::vector<T>& rows) {
    if (rows.empty()) return;
    PartialWriter sub(protozero::pbf_writer{w_, tag});
    columns(sub, rows);
  }
  // One value per row as the difference to the row before: get(row) is a reference to it.
  template <class T, class Get>
  void column(uint32_t tag, std::vector<T>& rows, Get get) {
    deltas_.clear();
    uint64_t before = 0;
    for (T& row : rows) {
      const auto v = static_cast<uint64_t>(widened(std::invoke(get, row)));
      deltas_.push_back(static_cast<int64_t>(v - before));
      before = v;
    }
    w_.add_packed_sint64(tag, deltas_.begin(), deltas_.end());
  }
  template <Number T>
  void deltas(uint32_t tag, std::vector<T>& v) {
    if (!v.empty()) column(tag, v, [](T& x) -> T& { return x; });
  }

 private:
  protozero::pbf_writer w_;
  std::vector<int64_t> deltas_;
};

// What all readers of one partial share.
struct ReadState {
  uint64_t budget = 0;   // bytes of memory that may still be handed out
  std::string_view why;  // the first thing that was wrong, "": nothing
  bool take(uint64_t count, size_t bytes) {
    if (count > budget / bytes) {
      fail("more rows than its size allows");
      return false;
    }
    budget -= count * bytes;
    return true;
  }
  void fail(std::string_view what) {
    if (why.empty()) why = what;
  }
};

class PartialReader {
 public:
  PartialReader(std::string_view bytes, ReadState& state)
      : r_(bytes.data(), bytes.size()), state_(state) {}
  PartialReader(protozero::pbf_reader r, ReadState& state) : r_(r), state_(state) {}

  template <Number T>
  void field(uint32_t tag, T& v) {
    v = T{};
    if (!find(tag)) return;
    uint64_t bits = 0;
    if constexpr (std::is_signed_v<T>) {
      bits = static_cast<uint64_t>(r_.get_sint64());
    } else {
      bits = r_.get_uint64();
    }
    done();
    if (!narrowed(static_cast<int64_t>(bits), v)) state_.fail("a number that is out of range");
  }
  void field(uint32_t tag, double& v) {
    v = 0;
    if (!find(tag)) return;
    v = r_.get_double();
    done();
  }
  void field(uint32_t tag, std::string& v) {
    v.clear();
    if (!find(tag)) return;
    v = to_utf8(view());
  }
  void text(uint32_t tag, std::string& v) {
    field(tag, v);
    v = one_line(v);
  }
  void field(uint32_t tag, std::vector<std::string>& v) {
    v.clear();
    while (find(tag) && state_.take(1, sizeof(std::string))) v.push_back(to_utf8(view()));
  }
  template <size_t N>
  void field(uint32_t tag, std::array<int64_t, N>& v) {
    std::vector<int64_t> all;
    field(tag, all);
    v.fill(0);
    if (all.size() == N) {
      std::copy(all.begin(), all.end(), v.begin());
    } else {
      state_.fail("a list of another length");
    }
  }
  void field(uint32_t tag, std::vector<int64_t>& v) {
    v.clear();
    if (!find(tag)) return;
    const auto packed = r_.get_packed_sint64();
    done();
    const auto count = static_cast<uint64_t>(packed.size());
    if (!state_.take(count, sizeof(int64_t))) return;
    v.reserve(count);
    for (const int64_t x : packed) v.push_back(x);
  }
  template <class T>
  requires std::is_class_v<T>
  void field(uint32_t tag, std::vector<T>& v) {
    v.clear();
    while (find(tag) && state_.take(1, sizeof(T))) {
      v.emplace_back();
      read_message(v.back());
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void field(uint32_t tag, std::optional<T>& v) {
    v.reset();
    if (find(tag)) read_message(v.emplace());
  }
  template <class T>
  requires std::is_class_v<T>
  void message(uint32_t tag, T& v) {
    v = T{};
    if (find(tag)) {
      read_message(v);
    } else {
      PartialReader empty(std::string_view(), state_);
      fields(empty, v);
    }
  }
  // The first column says how many rows there are; every other one has as many values.
  template <class T>
  void table(uint32_t tag, std::vector<T>& rows) {
    rows.clear();
    if (!find(tag)) return;
    PartialReader sub(r_.get_message(), state_);
    done();
    columns(sub, rows);
  }
  template <class T, class Get>
  void column(uint32_t tag, std::vector<T>& rows, Get get) {
    if (!state_.why.empty()) return;
    if (!find(tag)) {
      if (counted_ && !rows.empty()) state_.fail("columns of different lengths");
      return;
    }
    const auto packed = r_.get_packed_sint64();
    done();
    const auto count = static_cast<size_t>(packed.size());
    if (!counted_) {
      counted_ = true;
      if (!state_.take(count, sizeof(T))) return;
      rows.resize(count);
    }
    if (rows.size() != count) return state_.fail("columns of different lengths");
    uint64_t v = 0;
    size_t i = 0;
    for (const int64_t delta : packed) {
      v += static_cast<uint64_t>(delta);
      if (i == count || !narrowed(static_cast<int64_t>(v), std::invoke(get, rows[i++])))
        return state_.fail("a number that is out of range");
    }
  }
  template <Number T>
  void deltas(uint32_t tag, std::vector<T>& v) {
    v.clear();
    counted_ = false;
    column(tag, v, [](T& x) -> T& { return x; });
  }

 private:
  // Moves to the field; false when it is not there.
  bool find(uint32_t tag) {
    while (state_.why.empty() && (open_ || r_.next())) {
      open_ = true;
      if (r_.tag() >= tag) return r_.tag() == tag;
      r_.skip();
      open_ = false;
    }
    return false;
  }
  void done() { open_ = false; }
  std::string_view view() {
    const auto bytes = r_.get_view();
    done();
    return {bytes.data(), bytes.size()};
  }
  template <class T>
  void read_message(T& v) {
    PartialReader sub(r_.get_message(), state_);
    done();
    fields(sub, v);
  }

  protozero::pbf_reader r_;
  ReadState& state_;
  bool open_ = false;     // a field was found and not yet read
  bool counted_ = false;  // the number of rows of this table is known
};

}  // namespace ws::partial
