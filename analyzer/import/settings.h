#pragma once
// Which recorded environment variables go into Trace::settings.
#include <string_view>

namespace ws {

// Settings that advice speaks of. Values with paths, addresses or anything long are left out.
bool is_setting(std::string_view name, std::string_view value);

}  // namespace ws
