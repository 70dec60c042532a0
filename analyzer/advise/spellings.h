#pragma once
// Flags that not every release has (rules/frameworks.json): the one table of versions.
#include <functional>
#include <string>
#include <vector>

#include "advise/finding.h"
#include "base/result.h"
#include "facts/fact_db.h"

namespace ws {

struct FlagSpelling {
  // flag: with its value where only that came with `since`, such rows first. before: "" when older
  // releases have nothing of the kind.
  std::string flag, since, before;
  // Of Bridge, where releases differ in the key as well, and the column of fact_config with the key
  // that the configuration uses itself.
  std::string key, key_before, column;
  std::string beside = {};   // the row is for actions with this word alone
  std::string older = {};    // what is said of older releases where nothing takes its place
  bool rest_stands = false;  // the other flags of an action are of use without it
};

// The lowest release of other software, or the GPU, that a setting needs.
struct Floor {
  std::string name, framework;                  // framework: "" for all
  std::vector<std::vector<std::string>> words;  // an action with all words of one list
  std::string beside;                           // column that must hold one of:
  std::vector<std::string> values;
  bool say_unknown = false, in_note = false;  // in_note: words of the note count too
  bool rest_stands = false;                   // the other settings of an action do without it
  std::string needs, at_least;
};

struct FlagTable {
  std::vector<FlagSpelling> flags;
  // Words of an action and the column of fact_config with the value that says so: "--a", "a", "1".
  struct InUse {
    std::string words, column, value;
  };
  std::vector<InUse> in_use;
  std::vector<std::pair<std::string, std::string>> variables;  // of the environment, and the column
  std::vector<std::pair<std::string, std::string>> versions;   // of software, and the column
  std::vector<Floor> floors;
  // Actions for PyTorch with all of these words are this setting of torchtitan.
  struct OfTorchtitan {
    std::vector<std::string> words;
    std::string set;
  };
  std::vector<OfTorchtitan> torchtitan;
};

// What the run has already.
struct Settings {
  std::vector<std::string> words;                          // "--a", "NAME=value"
  std::vector<std::string> keys;                           // columns that are 1
  std::vector<std::pair<std::string, int64_t>> variables;  // of the environment
  struct Given {
    std::string framework, name, value;  // a row of fact_setting
  };
  std::vector<Given> given;
  std::string framework;  // "" where neither configuration nor recording tells for certain
};

Result<FlagTable> load_spellings(const std::string& path);

// Takes out of the actions what the run has already. A finding that leaves nothing to set for the
// framework of the run does not fire.
void drop_settings_in_use(std::vector<Finding>& findings, const Settings& in_use);

// False: all of the action is in use.
bool keep_what_is_new(Action& action, const Settings& in_use);

Settings settings_in_use(const FactDb& facts, const FlagTable& table);

// Actions in the words of `version` ("0.16"). "": not known, then the note says from which release
// on and what stood there before. What the release does not have at all is taken out; a finding of
// which that is the first action for `framework` ("": not known) does not fire and says what it
// needs. `keys`: flags with the key that the configuration uses itself, which is what is said.
using OwnKeys = std::vector<std::pair<std::string, std::string>>;
void spell_for_version(std::vector<Finding>& findings, const FlagTable& table,
                       const std::string& version, const OwnKeys& keys,
                       const std::string& framework);
OwnKeys own_keys(const FactDb& facts, const FlagTable& table);
// The stated release of Megatron Core; "": none was.
std::string core_version(const FactDb& facts);

// What a floor of the table says of this run.
struct FloorText {
  std::string text;   // "": nothing, it is there or does not matter
  std::string needs;  // the stated release lacks it: "MXFP8 needs Transformer Engine 2.1"
};
std::vector<FloorText> floor_texts(const FactDb& facts, const FlagTable& table);

// As spell_for_version does: takes out actions of which the setting itself needs more than the
// stated release of other software has.
void drop_below_floors(std::vector<Finding>& findings, const FlagTable& table,
                       const std::vector<FloorText>& texts, const std::string& framework);

// Adds to the notes of the actions what they need of other software and of the GPU.
void say_floors(std::vector<Finding>& findings, const FlagTable& table,
                const std::vector<FloorText>& texts);

// "the list a b" of Bridge as one types it, ["a", "b"].
void write_lists(std::vector<Finding>& findings);
// Where `spelled` (fact_config.spelled) is of a file of torchtitan: actions for PyTorch in its
// settings, as its release names them. Last of all.
void spell_for_torchtitan(std::vector<Finding>& findings, const FlagTable& table,
                          const std::string& spelled);

// "--a 8 --b" without "--a" and its value, "x / y" without "y".
void cut_setting(std::string& set, const std::string& name);

// Why an action can not be done with what is stated; "": it stands. It may change the action.
struct Lack {
  std::string needs;  // for the list of what is not offered
  std::string note;   // for the action where nothing else is left
};
using LackOf = std::function<Lack(Action&)>;
// Takes such actions out. A finding whose first action for `framework` goes does not fire and says
// what it needs. What stops the job is told all the same, with the note where nothing is left, and
// what it does without saying so where something is left to set. Of a finding that stands it says
// what was left out.
void drop_lacking(std::vector<Finding>& findings, const LackOf& lack_of,
                  const std::string& framework);

// Position of `flag` as a whole word, npos: not there.
size_t word_at(const std::string& text, const std::string& flag);
void add_note(Action& action, const std::string& note);
// Of a column of fact_config; "" where it is not known.
std::string config_value(const FactDb& facts, const std::string& column);

// By the numbers between the dots: "0.9" < "0.16". Anything else, a branch too, is not older.
bool is_older(const std::string& version, const std::string& than);

}  // namespace ws
