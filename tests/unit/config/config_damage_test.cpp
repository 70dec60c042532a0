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
