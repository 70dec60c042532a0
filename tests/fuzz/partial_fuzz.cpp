// Any bytes as a partial. The first byte says what the rest is: 0, a file as it is; 1, what stands
// behind the names in a message; else changes to a good message, three bytes each: where and what.
// What is read must be good for everything that merge does with it.
#include <cstdlib>

#include "analysis/run_builder.h"
#include "facts/partial.h"
#include "facts/partial_file.h"
#include "unit/facts/made_partial.h"

namespace {

std::string message_of(ws::Partial partial) {
  const auto file = ws::encode_partial(std::move(partial), "x.wspart");
  if (!file) std::abort();
  return *ws::partial::unframed(*file, "x.wspart");
}

std::string file_of(unsigned char how, std::string_view rest) {
  static const std::string names = message_of({}), good = message_of(ws::made::partial());
  if (how == 0) return std::string(rest);
  if (how == 1) return ws::partial::stored(names + std::string(rest));
  std::string changed = good;
  for (size_t i = 0; i + 2 < rest.size(); i += 3) {
    const auto at = static_cast<size_t>(static_cast<unsigned char>(rest[i])) << 8 |
                    static_cast<unsigned char>(rest[i + 1]);
    changed[at % changed.size()] = rest[i + 2];
  }
  return ws::partial::stored(changed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto read = ws::decode_partial(file_of(data[0], rest), "x.wspart");
  if (!read) {
    if (read.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const ws::Partial again = *read;
  if (!ws::encode_partial(again, "x.wspart")) std::abort();
  ws::RunOptions options;
  options.price.wanted = size < 20'000;
  const auto run = ws::combine_ranks(std::move(read->ranks), options, std::move(read->notes));
  if (!run && run.error().message.find('\n') != std::string::npos) std::abort();
  return 0;
}
