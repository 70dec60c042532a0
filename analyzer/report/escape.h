#pragma once
// Names in a trace are hostile until escaped, in each output its own way.
#include <string>
#include <string_view>

namespace ws {

// One printable line of valid UTF-8: no control bytes, no ESC, no bidirectional overrides.
std::string escape_text(std::string_view s);

// The same, and nothing of it is Markdown or HTML: safe in running text and in table cells.
std::string escape_markdown(std::string_view s);

// A Markdown code span that no content can leave; plain escaped text when a span can not hold it.
std::string markdown_code(std::string_view s);

}  // namespace ws
