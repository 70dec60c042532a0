#include "config/platforms.h"

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws {
namespace {

TEST_CASE("platforms: names as the recorders write them") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  const std::pair<const char*, const char*> kNames[] = {{"NVIDIA H100 80GB HBM3", "h100"},
                                                        {"NVIDIA A100-SXM4-40GB", "a100"},
                                                        {"NVIDIA H200", "h200"},
                                                        {"NVIDIA GH200 480GB", "gh200"},
                                                        {"NVIDIA GB200", "gb200"},
                                                        {"NVIDIA B200", "b200"},
                                                        {"NVIDIA GB300", "gb300"},
                                                        {"NVIDIA B300 SXM6 AC", "b300"},
                                                        {"AMD Instinct MI300X", "mi300x"},
                                                        {"AMD Instinct MI250X / MI250", "mi250x"},
                                                        {"NVIDIA L40S", "l40s"},
                                                        {"NVIDIA GeForce RTX 4090", nullptr},
                                                        {"Tesla T4", nullptr},
                                                        {"", nullptr}};
  for (const auto& [name, key] : kNames) {
    INFO(name);
    const Platform* found = platforms->find(name);
    CHECK((found == nullptr) == (key == nullptr));
    if (found != nullptr && key != nullptr) CHECK(found->key == key);
  }
  std::set<std::string> keys;
  for (const Platform& row : platforms->rows()) {
    CHECK(keys.insert(row.key).second);
    CHECK(row.memory_bytes > 0);
    CHECK(row.memory_bytes_per_s > 0);
    CHECK(row.fast_domain_gpus > 0);
  }
}

TEST_CASE("platforms: boards by name and by the memory that was recorded") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  struct Row {
    const char* gpu;
    int64_t recorded_mib;  // 0: not recorded
    const char* board;
  };
  const Row kRows[] = {{"NVIDIA A100-SXM4-40GB", 0, "A100 40GB"},
                       {"NVIDIA A100-SXM4-40GB", 40'338, "A100 40GB"},
                       {"NVIDIA A100-PG509-200", 40'338, "A100 40GB"},
                       {"NVIDIA A100-PCIE-40GB", 0, "A100 PCIe 40GB"},
                       {"NVIDIA A100 80GB PCIe", 0, "A100 PCIe 80GB"},
                       {"NVIDIA A100-SXM4-80GB", 81'229, ""},
                       {"NVIDIA A100-SXM4-40GB", 81'229, ""},  // the recording wins
                       {"a100-40gb", 0, "A100 40GB"},
                       {"a100", 0, ""},
                       {"NVIDIA A800-SXM4-80GB", 0, "A800"},
                       {"NVIDIA H100 80GB HBM3", 81'079, ""},
                       {"NVIDIA H100", 97'356, ""},  // no board of the table: no other figures
                       {"NVIDIA H100 PCIe", 81'079, "H100 PCIe"},
                       {"NVIDIA H100 NVL", 95'000, "H100 NVL"},
                       {"NVIDIA H800", 0, "H800"},
                       {"NVIDIA H20", 97'371, "H20"},
                       {"NVIDIA H20-3e", 143'100, "H20 141GB"},
                       {"NVIDIA H200", 143'182, ""},
                       {"NVIDIA H200 NVL", 0, "H200 NVL"},
                       {"NVIDIA GH200 480GB", 0, ""},
                       {"NVIDIA GH200 144G HBM3e", 0, "GH200 144GB"},
                       {"NVIDIA GH200 144G HBM3e", 145'920, "GH200 144GB"},
                       {"AMD Instinct MI325X", 0, "MI325X"},
                       {"AMD Instinct MI300X", 24'000, "a slice of mi300x"},
                       {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", 0, "a slice of a100"}};
  for (const Row& row : kRows) {
    INFO(row.gpu << " " << row.recorded_mib);
    const Platform* found = platforms->find(row.gpu, row.recorded_mib << 20);
    REQUIRE(found != nullptr);
    CHECK(found->board == row.board);
  }
  CHECK(platforms->find("a100-40gb")->memory_bytes_per_s == 1'555'000'000'000);
  CHECK(platforms->find("a100-80gb")->memory_bytes_per_s == 2'039'000'000'000);
  CHECK(platforms->find("a100-pcie-80gb")->memory_bytes_per_s == 1'935'000'000'000);
}

TEST_CASE("platforms: memory as recorded, of the board, or as the name says") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  constexpr int64_t kGib = int64_t{1} << 30;
  CHECK(platforms->memory_of("NVIDIA A100-SXM4-40GB", 123) == 123);
  CHECK(platforms->memory_of("NVIDIA A100-SXM4-40GB") == 42'298'834'944);
  CHECK(platforms->memory_of("NVIDIA A100-SXM-64GB") == 64 * kGib);
  CHECK(platforms->memory_of("NVIDIA A100-SXM4-40GB MIG 3g.20gb") == 20 * kGib);
  CHECK(platforms->memory_of("Tesla V100-SXM2-16GB") == 16 * kGib);
  CHECK(platforms->memory_of("NVIDIA GH200 480GB") == 101'468'602'368);  // the rest is the host's
  CHECK(platforms->memory_of("NVIDIA GH200 144G HBM3e") == 153'008'209'920);
  CHECK(platforms->memory_of("NVIDIA GB200") == 197'900'000'000);
  CHECK(platforms->memory_of("Tesla T4") == 0);
  CHECK(platforms->contradicts("a100-80gb", "NVIDIA A100-SXM4-40GB", 0));
  CHECK(platforms->contradicts("h100", "NVIDIA H200", 0));
  CHECK_FALSE(platforms->contradicts("a100", "NVIDIA A100-SXM4-40GB", 0));
  CHECK_FALSE(platforms->contradicts("h100", "a board nobody knows", 0));
}

TEST_CASE("platforms: every figure of the training GPUs, each row with its datasheet") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  for (const Platform& row : platforms->rows()) {
    INFO(row.key);
    CHECK(row.source.rfind("datasheet: ", 0) == 0);
  }
  for (const char* key : {"a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x"}) {
    INFO(key);
    const Platform* row = platforms->by_key(key);
    REQUIRE(row != nullptr);
    CHECK_FALSE(row->compute_capability.empty());
    for (const int64_t figure :
         {row->memory_bytes, row->memory_bytes_per_s, row->bf16_flops, row->fast_domain_gpus,
          row->fast_link_bytes_per_s, row->network_bytes_per_s, row->host_link_bytes_per_s})
      CHECK(figure > 0);
    CHECK((row->fp8_flops > 0) == (row->key != "a100"));
    CHECK((row->fp4_flops > 0) == (row->key.find("b") != std::string::npos));
  }
}

TEST_CASE("platforms: words have no figure of their own") {
  // Comparisons and figures in them would not follow a corrected row.
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  REQUIRE(platforms->profile_first().size() > 10);
  const std::regex figure(
      "[0-9]|\\b(half|third|quarter|twice|double|times|less|more|faster|slower)\\b");
  for (const ProfileStep& step : platforms->profile_first()) {
    INFO(step.when << ": " << step.what);
    CHECK_FALSE(
        std::regex_search(std::regex_replace(step.what, std::regex("BF16|FP8"), ""), figure));
  }
}

namespace {

// The figures of `source` that `pattern` finds, times `unit`.
void agree(const Platform& p, const char* pattern, double unit, int64_t figure, double within) {
  const std::regex r(pattern);
  for (std::sregex_iterator it(p.source.begin(), p.source.end(), r), end; it != end; ++it) {
    INFO(p.key << ": " << it->str());
    const double parts = it->size() > 2 && (*it)[2].matched ? std::stod((*it)[2].str()) : 1;
    CHECK(std::stod((*it)[1].str()) * unit / parts ==
          Approx(static_cast<double>(figure)).epsilon(within));
  }
}

void source_agrees(const Platform& p) {
  INFO(p.key << " " << p.board);
  const double per_board = p.key == "mi250x" ? 2 : 1;  // dies of a board
  agree(p, "([0-9.]+) TB/s(?: per ([0-9]+) GPUs)?", 1e12 / per_board, p.memory_bytes_per_s, 0.001);
  agree(p, "([0-9]{3,4}) GB/s(?!.*(?:both|each) way)", 1e9, p.memory_bytes_per_s, 0.001);
  agree(p, "([0-9]+) PFLOPS FP4 per 8 GPUs", 1e15 / 8, p.fp4_flops, 0.001);
  agree(p, "([0-9.]+) GiB", 1073741824.0, p.memory_bytes, 0.001);
  agree(p, "nvidia-smi: ([0-9]+) MiB", 1048576.0, p.memory_bytes, 0.02);  // with what is reserved
  agree(p, "\\(?([0-9]+) Gb/s", 1e9 / 8, p.network_bytes_per_s, 0.001);
  agree(p, "([0-9]+) GB/s both ways per Grace shared by two", 1e9 / 4, p.host_link_bytes_per_s,
        0.001);
  agree(p, "NVLink-C2C ([0-9]+) GB/s both ways", 1e9 / 2, p.host_link_bytes_per_s, 0.001);
  agree(p, "seven Infinity Fabric links of ([0-9]+) GB/s", 7e9, p.fast_link_bytes_per_s, 0.001);
  for (const auto& [generation, bytes] : {std::pair("Gen4", 32), {"Gen5", 64}, {"Gen6", 128}})
    if (p.source.find("PCIe " + std::string(generation)) != std::string::npos)
      CHECK(p.host_link_bytes_per_s == int64_t{bytes} * 1'000'000'000);
  if (p.board.empty()) return;
  agree(p, "(?:NVLink|GPUs,) ([0-9]+) GB/s both ways", 1e9 / 2, p.fast_link_bytes_per_s, 0.001);
  agree(p, "([0-9]+) TFLOPS BF16 and", p.source.find("halved") == std::string::npos ? 1e12 : 5e11,
        p.bf16_flops, 0.001);
  agree(p, "([0-9]+) TFLOPS FP8", p.source.find("halved") == std::string::npos ? 1e12 : 5e11,
        p.fp8_flops, 0.001);
  agree(p, "(?:datasheet|sold): ([0-9]+) GB ", 1073741824.0, p.memory_bytes, 0.03);
}

}  // namespace

TEST_CASE("platforms: the source of every row says the figures of the row") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  for (const Platform& row : platforms->rows()) {
    source_agrees(row);
    for (const Platform& board : row.boards)
      if (board.source != row.source) source_agrees(board);  // a slice has the row's
  }
}

TEST_CASE("platforms: a missing or damaged table is an error with a place") {
  const auto missing = Platforms::load("/no/such/platforms.json");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("/no/such/platforms.json: ") == 0);
  CHECK_FALSE(Platforms::load(WS_SOURCE_DIR "/schemas/facts.sql"));
}

}  // namespace
}  // namespace ws
