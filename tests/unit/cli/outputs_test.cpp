#include "cli/outputs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.h"

using namespace ws;
using namespace ws::cli;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("wallsight_outputs_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("--report names a format and maybe a path") {
  const auto outputs = parse_outputs({"json=a=b.json", "md"});
  REQUIRE(outputs);
  CHECK((*outputs)[0].format.name == "json");
  CHECK((*outputs)[0].path == "a=b.json");
  CHECK((*outputs)[1].path.empty());
  CHECK((*parse_outputs({}))[0].format.name == "text");
  CHECK(!parse_outputs({"text", "json"}));
  CHECK(!parse_outputs({"json="}));
  CHECK(!parse_outputs({"html=x"}));
  CHECK(!parse_outputs({"pdf"}));
}

TEST_CASE("inputs, folders and doubles are refused as targets") {
  const Folder folder;
  const std::string input = folder.file("in.json", "{}");
  fs::create_symlink(input, folder.path / "link.json");
  const auto refused = [&](const std::vector<std::string>& specs, const std::string& database) {
    const auto outputs = parse_outputs(specs);
    REQUIRE(outputs);
    return !check_targets(*outputs, database, {{input}, {}});
  };
  CHECK(refused({"json=" + input}, ""));
  CHECK(refused({"json=" + (folder.path / "." / "in.json").string()}, ""));
  CHECK(refused({"json=" + (folder.path / "link.json").string()}, ""));
  CHECK(refused({}, input));
  CHECK(refused({}, folder.path.string()));
  CHECK(refused({}, "/dev/null"));
  const std::string keep = folder.file("keep.txt", "mine");
  CHECK(refused({}, keep));
  CHECK(!refused({"md=" + keep}, ""));
  CHECK(!refused({}, folder.file("empty.wsdb", "")));
  CHECK(refused({"md=" + folder.path.string()}, ""));
  CHECK(refused({"md=x.out", "json=./x.out"}, ""));
  CHECK(refused({"md=x.out"}, "x.out"));
  CHECK(!refused({"md=x.md", "json=x.json"}, "x.wsdb"));
  CHECK(!refused({"md=/dev/null", "json=/dev/null"}, ""));
}

TEST_CASE("what a command reads beside its inputs is no target either") {
  const Folder folder;
  fs::create_directories(folder.path / "rules" / "team");
  fs::create_directories(folder.path / "run");
  const std::string config = folder.file("launch.sh", "--seq-length 4096");
  const std::string rule = folder.file("rules/team/own.json", "{}");
  const std::string table = folder.file("rules/frameworks.json", "{}");
  const std::string trace = folder.file("run/host.0.7.99.wst", "");
  const std::string later = folder.file("run/host.0.7.99.1.wst", "");
  const Reads reads = reads_of({trace}, config, {(folder.path / "rules").string()});
  const auto refused = [&](const fs::path& target) { return !read_as(target, reads).empty(); };
  for (const std::string& file : {config, rule, table, trace, later}) CHECK(refused(file));
  fs::create_hard_link(rule, folder.path / "linked");
  CHECK(refused(folder.path / "linked"));
  fs::create_directory_symlink(folder.path / "rules" / "team", folder.path / "short");
  CHECK(refused(folder.path / "short" / "own.json"));
  CHECK(refused(folder.path / "short" / "new.json"));  // the next command would read it
  CHECK(!refused(folder.path / "rules" / "team" / "report.md"));
  CHECK(!refused(folder.path / "run" / "report.json"));
  CHECK(!refused(folder.path / "run" / "other.0.7.99.1.wst"));
}

TEST_CASE("files appear as a whole or not at all") {
  const Folder folder;
  const Report report;
  const std::string good = (folder.path / "good.md").string(),
                    bad = (folder.path / "no" / "bad.md").string();
  CHECK(!write_outputs(report, *parse_outputs({"md=" + good, "json=" + bad}), false));
  CHECK(fs::is_empty(folder.path));
  const std::string old = folder.file("old.md", "old");
  fs::create_symlink(old, folder.path / "link.md");
  CHECK(write_outputs(report, *parse_outputs({"md=" + (folder.path / "link.md").string()}), false));
  CHECK(fs::is_symlink(folder.path / "link.md"));
  CHECK(content(old).rfind("# wallsight", 0) == 0);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("what is no file is written in place") {
  const Report report;
  CHECK(write_outputs(report, *parse_outputs({"json=/dev/null"}), false));
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(!write_outputs(report, *parse_outputs({"json=/dev/full"}), false));
  CHECK(fs::is_character_file("/dev/full"));
}
