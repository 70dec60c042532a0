// Files that mean harm: bombs, endless growth, depth, every prefix and every flipped byte.
#include <chrono>

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

bool one_line(const std::string& message) {
  return message.find('\n') == std::string::npos && message.size() < 1000;
}

std::string refusal(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  const auto config = read_config(text, "evil");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(took.count() < 5);
  REQUIRE_FALSE(config);
  CHECK(one_line(config.error().message));
  CHECK(config.error().message.find("evil") == 0);
  return config.error().message;
}

}  // namespace

TEST_CASE("damage: anchors that multiply are counted, not expanded") {
  std::string bomb = "a: &a {x: 1, y: 2, z: 3}\n";
  char last = 'a';
  for (char c = 'b'; c <= 'p'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " {";
    for (int i = 0; i < 9; ++i) bomb += "k" + std::to_string(i) + ": *" + last + ", ";
    bomb += "}\n";
    last = c;
  }
  CHECK(refusal(bomb).find("expected at most") != std::string::npos);
  std::string lists = "a: &a [x, x, x]\n";
  last = 'a';
  for (char c = 'b'; c <= 'z'; ++c) {
    lists += std::string(1, c) + ": &" + c + " [*" + last + ", *" + last + "]\n";
    last = c;
  }
  CHECK_FALSE(read_config(lists, "evil"));  // nothing known in it
  const auto shared = read_config("common: &c {overlap_grad_reduce: true}\nddp: *c\n", "ok");
  REQUIRE(shared);
  CHECK(boolean(*shared, "overlap_grad_reduce") == true);
}

TEST_CASE("damage: a broken file is told in the format it was meant in, with its place") {
  const auto said = [](const std::string& text, const std::string& name) {
    const auto config = read_config(text, name);
    INFO(text);
    REQUIRE_FALSE(config);
    CHECK(one_line(config.error().message));
    return config.error().message;
  };
  for (const char* nothing : {"", "\n", "  \n\t\n", "\xEF\xBB\xBF\n", "---\n"})
    CHECK(said(nothing, "a.json") ==
          "a.json: expected a run configuration, found an empty file; give the file that starts "
          "the run");
  CHECK(said("# to do\n", "a.yaml").find("found comments alone") != std::string::npos);
  // TOML, by its name or its first lines.
  const std::string good =
      "[parallelism]  # sizes\ntensor_parallel_degree = 2\nlist = [1,\n 2]\n"
      "text = \"\"\"a\n[not a section\n\"\"\"\n[[a.b]]\n";
  const auto read = read_config(good, "a.toml");
  REQUIRE(read);
  CHECK(integer(*read, "tp") == 2);
  CHECK(said("[model\nname = \"x\"\n", "a.toml") ==
        "a.toml: line 1: expected a closed [section] (read as TOML), found '[model'; correct the "
        "line");
  CHECK(said("[model\nname = \"x\"\n", "a").find("line 1: expected a closed [section]") !=
        std::string::npos);
  CHECK(
      said("[a]\nb = 1\nwhat is this\n", "a.toml")
          .find("line 3: expected [section] or key = value (read as TOML), found 'what is this'") !=
      std::string::npos);
  CHECK(said("[a]\nb =\n", "a.toml").find("line 2: expected a value behind the =") !=
        std::string::npos);
  CHECK(said("[a]\nb = \"x\n", "a.toml").find("line 2: expected a text that is closed") !=
        std::string::npos);
  CHECK(said("[a]\nb = [1,\n2\n", "a.toml").find("line 2: expected the value to be closed") !=
        std::string::npos);
  CHECK(said("[a]\nb = 1]\n", "a.toml").find("brackets that were opened") != std::string::npos);
  // JSON.
  for (const char* text : {"{\"tp\": 2]", "{\"tp\": [2}", "{\"tp\": 2, [}"})
    CHECK(said(text, "a.json").find("a.json: line 1, column ") == 0);
  CHECK(said("{\n\"tp\": [1,", "a.json")
            .find("line 2: expected JSON, found the end of the file inside it") !=
        std::string::npos);
  CHECK(said("\"a text\"", "a.json").find("found a single value") != std::string::npos);
  // YAML.
  CHECK(said("tp: 2\npp: *sizes\n", "a.yaml") ==
        "a.yaml: line 2: expected every alias of the YAML to have its anchor before it, found "
        "*sizes without &sizes; write &sizes before the value that it stands for, or the value "
        "itself here");
  CHECK(said("tp: 2\nlist: [1, 2\n", "a.yaml").find("expected YAML, found ") != std::string::npos);
  CHECK(said("tp: 2\n\tpp: 3\n", "a.yaml").find("line 2: expected YAML, found 'pp: 3'") !=
        std::string::npos);
}

TEST_CASE("damage: depth and size have bounds") {
  CHECK(refusal(std::string(100'000, '[')).find("open brackets") != std::string::npos);
  CHECK(refusal("tp: 1\nx: " + std::string(100'000, '{')).find("open brackets") !=
        std::string::npos);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "k:\n";
  CHECK(refusal(deep + std::string(100, ' ') + "tp: 1\n").find("levels of nesting") !=
        std::string::npos);
  CHECK(refusal("tp: 1\n#" + std::string(2 << 20, 'x')).find("expected at most") !=
        std::string::npos);
  CHECK(refusal(std::string(5 << 20, ' ')).find("expected at most") != std::string::npos);
}

TEST_CASE("damage: a script that doubles a value again and again") {
  std::string script = "A=xxxxxxxx\n";
  for (int i = 0; i < 60; ++i) script += "A=\"$A$A\"\n";
  CHECK(refusal(script + "x.py --num-layers 2\n").find("grows without end") != std::string::npos);
  std::string many = "A=" + std::string(60'000, 'x') + "\n";
  for (int i = 0; i < 200; ++i) many += "B=$A\n";
  CHECK(refusal(many + "x.py --num-layers 2\n").find("grows without end") != std::string::npos);
}

TEST_CASE("damage: odd shell text ends in a configuration or in one line") {
  for (const char* text :
       {"x.py --num-layers 2 $(", "x.py --num-layers 2 ${", "x.py --num-layers 2 '",
        "x.py --num-layers \"2", "x.py --num-layers $((1 / 0))",
        "x.py --num-layers $((((((((((((((((((((((((((((((1",
        "x.py --num-layers $((9223372036854775807 + 1))", "x.py --num-layers `",
        "x.py --num-layers 2 \\", "A=( --num-layers 2", "x.py --num-layers 2 ) ) )",
        "--num-layers=", "x.py --num-layers 2 ${A[@]", "x.py --num-layers 2 ${A:-${B}}",
        "=x --num-layers 2", "'' --num-layers 2"}) {
    INFO(text);
    const auto config = read_config(text, "evil");
    if (!config) CHECK(one_line(config.error().message));
  }
}

TEST_CASE("damage: every prefix and every flipped byte of every form") {
  const std::string forms[] = {
      "A=2\nB=(--num-layers 4)\nx.py ${B[@]} --seq-length $((A*2)) --recompute-modules moe mlp\n",
      "model: &m\n  tensor_model_parallel_size: 2\n  recompute_modules: [a, \"b\"]\nddp: *m\n",
      "{\"tp\": 2, \"env\": {\"NCCL_GRAPH_REGISTER\": \"0\"}, \"recompute_modules\": [\"moe\"]}",
      "--- arguments ---\n  seq_length ... 2\n  bf16 .... True\n--- end of arguments ---\n",
      "[training]\nseq_len = 8192\nsteps = [1, 2]\n",
      "cfg.model.seq_length = 4096\ncfg.model.recompute_modules = [\"moe\"]\n"};
  for (const std::string& form : forms) {
    REQUIRE(read_config(form, "good"));
    for (size_t i = 0; i < form.size(); ++i) {
      const auto prefix = read_config(form.substr(0, i), "evil");
      if (!prefix) CHECK(one_line(prefix.error().message));
      for (const char flip : {'\x01', '\x20', '\x80'}) {
        std::string damaged = form;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        const auto config = read_config(damaged, "evil");
        if (!config) CHECK(one_line(config.error().message));
      }
    }
  }
}

}  // namespace ws
