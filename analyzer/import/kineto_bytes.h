#pragma once
// Sixteen bytes at a time: the few questions the scanner asks of raw JSON text. Every function may
// read up to 16 bytes behind `end` (Source and Window keep that padding) but answers only for
// bytes before it.
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace ws::kineto {

// One bit per byte of 16 on x86, four bits per byte on Arm (there is no movemask).
#if defined(__SSE2__)
class Bytes16 {
 public:
  explicit Bytes16(const char* p) : v_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) {}
  using Mask = __m128i;
  Mask equal(char c) const { return _mm_cmpeq_epi8(v_, _mm_set1_epi8(c)); }
  Mask equal_folded(char c) const {  // [ ] count as { }
    return _mm_cmpeq_epi8(_mm_or_si128(v_, _mm_set1_epi8(0x20)), _mm_set1_epi8(c));
  }
  Mask at_most(uint8_t c) const {
    const Mask limit = _mm_set1_epi8(static_cast<char>(c));
    return _mm_cmpeq_epi8(_mm_min_epu8(v_, limit), v_);
  }
  static Mask either(Mask a, Mask b) { return _mm_or_si128(a, b); }
  static constexpr int kShift = 0;
  static uint64_t bits(Mask m) { return static_cast<uint32_t>(_mm_movemask_epi8(m)); }
  static constexpr uint64_t kAll = 0xffff;

 private:
  __m128i v_;
};
#elif defined(__ARM_NEON)
class Bytes16 {
 public:
  explicit Bytes16(const char* p) : v_(vld1q_u8(reinterpret_cast<const uint8_t*>(p))) {}
  using Mask = uint8x16_t;
  Mask equal(char c) const { return vceqq_u8(v_, vdupq_n_u8(static_cast<uint8_t>(c))); }
  Mask equal_folded(char c) const {
    return vceqq_u8(vorrq_u8(v_, vdupq_n_u8(0x20)), vdupq_n_u8(static_cast<uint8_t>(c)));
  }
  Mask at_most(uint8_t c) const { return vcleq_u8(v_, vdupq_n_u8(c)); }
  static Mask either(Mask a, Mask b) { return vorrq_u8(a, b); }
  static constexpr int kShift = 2;
  static uint64_t bits(Mask m) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(m), 4)), 0) &
           0x1111111111111111u;
  }
  static constexpr uint64_t kAll = 0x1111111111111111u;

 private:
  uint8x16_t v_;
};
#else
class Bytes16 {  // plain C++, for machines without either
 public:
  explicit Bytes16(const char* p) { std::memcpy(b_, p, 16); }
  using Mask = uint32_t;
  Mask equal(char c) const {
    return each([c](uint8_t b) { return b == static_cast<uint8_t>(c); });
  }
  Mask equal_folded(char c) const {
    return each([c](uint8_t b) { return (b | 0x20) == static_cast<uint8_t>(c); });
  }
  Mask at_most(uint8_t c) const {
    return each([c](uint8_t b) { return b <= c; });
  }
  static Mask either(Mask a, Mask b) { return a | b; }
  static constexpr int kShift = 0;
  static uint64_t bits(Mask m) { return m; }
  static constexpr uint64_t kAll = 0xffff;

 private:
  template <class F>
  Mask each(F f) const {
    Mask m = 0;
    for (int i = 0; i < 16; ++i) m |= f(b_[i]) ? Mask{1} << i : Mask{0};
    return m;
  }
  uint8_t b_[16];
};
#endif

inline int first_of(uint64_t bits) { return std::countr_zero(bits) >> Bytes16::kShift; }

// First byte in [p, end) for which `wanted` sets its bit; end when there is none.
template <class Wanted>
inline const char* find_first(const char* p, const char* end, Wanted wanted) {
  for (; p < end; p += 16) {
    const uint64_t bits = Bytes16::bits(wanted(Bytes16(p)));
    if (bits != 0) {
      const char* hit = p + first_of(bits);
      return hit < end ? hit : end;
    }
  }
  return end;
}

inline const char* skip_blanks(const char* p, const char* end) {
  if (p<end&& static_cast<uint8_t>(*p)> ' ') return p;
  if (end - p > 1 && static_cast<uint8_t>(p[1]) > ' ') return p + 1;
  for (; p < end; p += 16) {
    const uint64_t bits = ~Bytes16::bits(Bytes16(p).at_most(' ')) & Bytes16::kAll;
    if (bits != 0) {
      const char* hit = p + first_of(bits);
      return hit < end ? hit : end;
    }
  }
  return end;
}

inline const char* quote_or_backslash(const char* p, const char* end) {
  return find_first(p, end,
                    [](const Bytes16& b) { return Bytes16::either(b.equal('"'), b.equal('\\')); });
}

// A brace, a bracket or a quote.
inline const char* bracket_or_quote(const char* p, const char* end) {
  return find_first(p, end, [](const Bytes16& b) {
    return Bytes16::either(Bytes16::either(b.equal_folded('{'), b.equal_folded('}')), b.equal('"'));
  });
}

// The byte behind a number or word: a comma, a closing bracket, a blank or control byte, a quote.
inline const char* end_of_word(const char* p, const char* end) {
  return find_first(p, end, [](const Bytes16& b) {
    return Bytes16::either(Bytes16::either(b.equal(','), b.equal_folded('}')),
                           Bytes16::either(b.at_most(' '), b.equal('"')));
  });
}

}  // namespace ws::kineto
