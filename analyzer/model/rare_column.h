#pragma once
// Tested by: rare_column_test.cpp
#include <cstddef>
#include <vector>

namespace ws {

// A column in which most recordings have one value only: it takes no room until another is added.
template <class T, T kUsual>
class RareColumn {
 public:
  T operator[](size_t row) const { return values_.empty() ? kUsual : values_[row]; }
  void add(size_t row, T value) {  // row: how many were added before
    if (value == kUsual && values_.empty()) return;
    values_.resize(row, kUsual);
    values_.push_back(value);
  }
  std::vector<T>& values() { return values_; }  // empty: all usual
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

}  // namespace ws
