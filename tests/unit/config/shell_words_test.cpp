#include "config/shell_words.h"

#include "support/catch.h"

namespace ws {
namespace {

std::string words(const std::string& text) {
  const auto script = shell_words(text, "s");
  if (!script) return script.error().message;
  std::string out;
  for (const ShellWord& w : script->words) {
    if (!out.empty()) out += ' ';
    for (const char c : w.text) out += c == kFromOutside ? '?' : c;
    if (w.command_end) out += " ;";
  }
  return out;
}

}  // namespace

TEST_CASE("shell: words, quotes, comments, continuations, commands") {
  CHECK(words("a b  c\n") == "a b c ;");
  CHECK(words("a \\\n  b\nc\n") == "a b ; c ;");
  CHECK(words("a 'b c' \"d e\"# not\n") == "a b c d e# not ;");
  CHECK(words("a # comment\nb") == "a ; b ;");
  CHECK(words("a;b|c") == "a ; b ; c ;");
  CHECK(words("#SBATCH --nodes=4\n") == "--nodes=4 ;");
  CHECK(words("a\\ b") == "a b ;");
}

TEST_CASE("shell: what is known is put in, what comes from outside is marked") {
  CHECK(words("A=1\nx $A ${A} \"$A\" '$A'") == "x 1 1 1 $A ;");
  CHECK(words("x ${B:-3} ${B-4} $B $1 $@ $(date) `date`") == "x 3 4 ? ? ? ? ? ;");
  CHECK(words("N=4; x $((N * 2 + 1)) $(( ($N + 2) / 3 )) $((M * 2)) $((1/0))") == "x 9 2 ? ? ;");
  CHECK(words("A=\n x ${A:-5}") == "x 5 ;");
}

TEST_CASE("shell: arrays and strings of flags are read where they are filled") {
  CHECK(words("A=(--x 1\n --y 2)\nrun ${A[@]} z") == "--x 1 --y 2 ; run z ;");
  CHECK(words("A=\"--x 1 --y 2\"\nrun $B") == "--x 1 --y 2 ; run ? ;");
  CHECK(words("export V=7\nx $V") == "export ; x 7 ;");
  const auto script = shell_words("export V=7\n\nW='a b'\n", "s");
  REQUIRE(script);
  REQUIRE(script->assignments.size() == 2);
  CHECK(script->assignments[1].name == "W");
  CHECK(script->assignments[1].value == "a b");
  CHECK(script->assignments[1].line == 3);
}

}  // namespace ws
