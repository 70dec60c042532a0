// Who may include whom (ARCHITECTURE.md): a layer sees itself and what its row lists. Two walls are
// in the rows: import and analysis do not know each other; advise and report see a run only
// through facts/fact_db.h. The third, collector, includes no layer at all. External headers are
// confined to the places that wrap them.
#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {
namespace {

struct LayerRow {
  std::string_view folder;
  std::vector<std::string_view> may;  // prefixes of include paths
};
const std::vector<LayerRow> kLayers = {
    {"analyzer/base/", {"base/"}},
    {"analyzer/model/", {"base/", "model/"}},
    {"analyzer/import/", {"base/", "model/", "import/"}},
    {"analyzer/analysis/", {"base/", "model/", "analysis/"}},
    {"analyzer/config/", {"base/", "config/"}},
    {"analyzer/facts/", {"base/", "model/", "analysis/", "config/", "facts/"}},
    {"analyzer/advise/", {"base/", "facts/fact_db.h", "advise/"}},
    {"analyzer/report/", {"base/", "facts/fact_db.h", "advise/", "report/"}},
    {"analyzer/plan/",
     {"base/", "config/", "facts/fact_db.h", "facts/config_facts.h", "advise/", "report/",
      "plan/"}},
    {"analyzer/cli/",
     {"base/", "model/", "import/", "analysis/", "config/", "facts/", "advise/", "report/", "plan/",
      "cli/"}},
    {"collector/", {"collector/"}},
};
constexpr std::string_view kLayerNames[] = {"base/",   "model/", "import/",   "analysis/",
                                            "config/", "facts/", "advise/",   "report/",
                                            "plan/",   "cli/",   "collector/"};

struct ExternalRow {
  std::string_view header;               // prefix of the include path
  std::vector<std::string_view> places;  // prefixes of the files that may include it
};
const std::vector<ExternalRow> kExternals = {
    {"sqlite3.h",
     {"analyzer/base/sqlite", "analyzer/import/nsys", "analyzer/facts/", "analyzer/advise/"}},
    {"nlohmann/",
     {"analyzer/analysis/kernel_classes.cpp", "analyzer/config/", "analyzer/advise/",
      "analyzer/report/json", "analyzer/plan/json.cpp"}},
    {"yaml-cpp/", {"analyzer/config/config_tree.cpp"}},
    {"simdjson", {"analyzer/import/kineto"}},
    {"zlib.h", {"analyzer/import/"}},
    {"isa-l", {"analyzer/import/", "analyzer/facts/partial_file.cpp"}},
    {"igzip_lib.h", {"analyzer/import/"}},
    {"CLI/", {"analyzer/cli/"}},
    {"protozero/",
     {"analyzer/import/recording_chunk.cpp", "collector/chunk.cpp",
      "analyzer/facts/partial_archive.h"}},
    {"google/protobuf", {}},  // only tests
    {"recording.pb.h", {}},
    {"partial.pb.h", {}},
    {"zstd.h",
     {"analyzer/import/recording_frames.cpp", "analyzer/facts/partial_file.cpp",
      "collector/frame_writer.cpp"}},
    {"cupti", {}},  // layouts of our own, so that no CUDA is needed to build
    {"nvtx3", {}},
};

bool starts_with_any(std::string_view s, const std::vector<std::string_view>& prefixes) {
  for (std::string_view p : prefixes) {
    if (s.substr(0, p.size()) == p) return true;
  }
  return false;
}

// The path between quotes or angle brackets, empty when the line includes nothing.
std::string included(const std::string& line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return {};
  const size_t word = line.find("include", hash);
  const size_t open = line.find_first_of("\"<", hash);
  if (word == std::string::npos || open == std::string::npos) return {};
  const size_t close = line.find_first_of("\">", open + 1);
  return line.substr(open + 1, close - open - 1);
}

std::string violation(const std::string& file, const std::string& header) {
  for (const LayerRow& row : kLayers) {
    if (file.compare(0, row.folder.size(), row.folder) != 0) continue;
    for (std::string_view layer : kLayerNames) {
      if (header.compare(0, layer.size(), layer) == 0 && !starts_with_any(header, row.may))
        return file + " may not include " + header;
    }
  }
  for (const ExternalRow& row : kExternals) {
    if (header.compare(0, row.header.size(), row.header) == 0 && !starts_with_any(file, row.places))
      return file + " may not include " + header + ": it is confined";
  }
  if (header.find("../") != std::string::npos)
    return file + " includes by a relative path: " + header;
  return {};
}

}  // namespace

TEST_CASE("every include stands in the table of layers") {
  std::vector<std::string> files = sources_of("analyzer");
  for (const std::string& f : sources_of("collector")) files.push_back(f);
  REQUIRE(files.size() > 20);
  for (const std::string& file : files) {
    for (const std::string& line : lines_of(read_text(root() / file))) {
      const std::string header = included(line);
      if (!header.empty()) CHECK(violation(file, header) == "");
    }
  }
}

TEST_CASE("every folder of analyzer has its row") {
  for (const auto& e : std::filesystem::directory_iterator(root() / "analyzer")) {
    if (!e.is_directory()) continue;
    const std::string folder = "analyzer/" + e.path().filename().string() + "/";
    CHECK(std::any_of(kLayers.begin(), kLayers.end(),
                      [&](const LayerRow& row) { return row.folder == folder; }));
  }
}

TEST_CASE("the table refuses what the walls forbid") {
  CHECK(included("#include \"model/trace.h\"") == "model/trace.h");
  CHECK(included("#  include <zlib.h>") == "zlib.h");
  CHECK(included("// #include \"model/trace.h\"").empty());
  CHECK(violation("analyzer/import/x.cpp", "analysis/steps.h") != "");
  CHECK(violation("analyzer/analysis/x.cpp", "import/importer.h") != "");
  CHECK(violation("analyzer/advise/x.cpp", "model/names.h") != "");
  CHECK(violation("analyzer/advise/x.cpp", "facts/write_facts.h") != "");
  CHECK(violation("analyzer/advise/x.cpp", "facts/fact_db.h") == "");
  CHECK(violation("analyzer/report/x.cpp", "analysis/steps.h") != "");
  CHECK(violation("analyzer/config/x.cpp", "model/trace.h") != "");
  CHECK(violation("analyzer/advise/x.cpp", "config/run_config.h") != "");
  CHECK(violation("analyzer/model/x.cpp", "import/importer.h") != "");
  CHECK(violation("collector/x.cpp", "base/result.h") != "");
  CHECK(violation("collector/x.cpp", "collector/chunk.h") == "");
  CHECK(violation("analyzer/cli/x.cpp", "collector/chunk.h") != "");
  CHECK(violation("collector/x.cpp", "recording.pb.h") != "");
  CHECK(violation("analyzer/report/text.cpp", "nlohmann/json.hpp") != "");
  CHECK(violation("analyzer/cli/main.cpp", "../model/trace.h") != "");
}

}  // namespace ws::house
