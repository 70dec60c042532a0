#pragma once
// Text from outside is never trusted: these functions make it valid and printable.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ws {

// Invalid UTF-8 becomes U+FFFD, NUL is dropped. Adds 1 to *repaired when anything changed.
std::string to_utf8(std::string_view bytes, int64_t* repaired = nullptr);

// One printable line: control characters (ESC, newline, C1) become '?', runs of blanks shrink.
std::string one_line(std::string_view utf8);

// Shortens to at most `columns` of a terminal, ending in "..." when cut.
std::string shorten(std::string_view utf8, size_t columns);

// The same with "..." in the middle: both ends of a kernel's or a step's name tell it apart.
std::string shorten_middle(std::string_view utf8, size_t columns);

// A to Z become small letters; every other byte stays, whatever the locale.
std::string lower_ascii(std::string_view s);
bool same_ignoring_case(std::string_view a, std::string_view b);

// What blanks separate; runs of them count as one.
std::vector<std::string> words_of(std::string_view s);

}  // namespace ws
