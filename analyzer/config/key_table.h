#pragma once
// The keys of a run configuration and how every framework spells them. The table is
// schemas/run_config.schema.json itself, compiled in, so the page and the reader can not differ.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ws {

enum class KeyType { integer, number, boolean, text, list };

struct ConfigKey {
  std::string name;
  KeyType type = KeyType::text;
  std::vector<std::string> choices;  // of a text, else empty
  double minimum = 0, maximum = 0;   // of numbers
  struct Release {
    std::string of, told_by;  // "PyTorch such as 2.8", the command that tells it
    std::vector<std::string> branches;
  };
  std::optional<Release> release;  // there: the value is the release of some software
  // What words of a framework come to: "never" of fsdp_reshard_after_forward is "false".
  std::map<std::string, std::string, std::less<>> words;
  bool of_megatron = false;  // no other framework has it
  bool derived = false;      // -1 is "as the rest makes it": 0 where that is in range
};

// One spelling. `constant` is what a bare flag sets ("--grad-reduce-in-bf16" sets false); for an
// environment variable the text that makes it true; "": the value that stands beside it.
struct Spelling {
  const ConfigKey* key = nullptr;
  std::string constant;
  bool of_nemo = false;                                     // no other framework has this name
  std::map<std::string, std::string, std::less<>> words{};  // as of a key, of this spelling alone
};

// How a framework (megatron_lm, megatron_bridge) writes a key; `constant` as in Spelling.
struct WrittenKey {
  std::string framework, name, constant;
};

class KeyTable {
 public:
  KeyTable();
  const std::vector<ConfigKey>& keys() const { return keys_; }
  const ConfigKey* find(std::string_view name) const;  // name of the native form
  // nullptr where nobody spells a key so. `flag` with its dashes, blanks and _ as the parser takes
  // them; `attribute` as Megatron-LM prints it in its argument dump.
  const Spelling* by_flag(std::string_view flag) const;
  const Spelling* by_attribute(std::string_view attribute) const;
  const Spelling* by_path(std::string_view dotted) const;     // Bridge and NeMo, torchtitan
  const Spelling* by_model_card(std::string_view key) const;  // config.json of Hugging Face
  const Spelling* by_native(std::string_view key) const;
  const std::vector<Spelling>* by_variable(std::string_view environment_variable) const;
  // As the schema has them: the usual one of a framework first.
  std::vector<WrittenKey> ways_to_write(std::string_view key) const;
  // As torchtitan writes a key in the release of which `used` are names; "": it has none.
  std::string in_torchtitan(std::string_view key, const std::vector<std::string>& used) const;
  // nullptr: no release of torchtitan has this name.
  const ConfigKey* of_torchtitan(std::string_view name) const;
  // The variable of the environment that sets it; "": none does.
  std::string variable_of(std::string_view key) const;
  // The flag or dotted name that `name` misspells by a letter or two; "": none is that near.
  std::string nearest(std::string_view name) const;

 private:
  using Index = std::map<std::string, Spelling, std::less<>>;
  std::vector<ConfigKey> keys_;
  Index flags_, attributes_, paths_, model_cards_, natives_;
  std::map<std::string, std::vector<WrittenKey>, std::less<>> ways_;  // by name
  std::map<std::string, std::vector<Spelling>, std::less<>> variables_;
  size_t renaming_of(std::string_view torchtitan_name) const;
  std::map<std::string, std::vector<std::string>, std::less<>> torchtitan_;  // the newest first
  std::vector<std::string> renamed_;  // of torchtitan: new names or sections, the oldest first
};

const KeyTable& key_table();

}  // namespace ws
