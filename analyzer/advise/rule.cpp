// The shape of a rule file, as schemas/rule.schema.json states it; checked by hand so that the
// message can say the place and what to write. Tested by: tests/unit/advise/rule_test.cpp
#include "advise/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "advise/claims.h"
#include "advise/json_text.h"
#include "advise/rule_check.h"
#include "advise/sql_text.h"
#include "base/text.h"

namespace ws {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const Words kKeys = {"id",      "title",    "wall",      "phase",   "causes", "rank",
                     "from",    "kind",     "breaks",    "unless",  "when",   "evidence",
                     "actions", "gain",     "published", "safety",  "after",  "conflicts",
                     "why",     "pitfalls", "verify",    "sources", "since",  "frameworks"};
const Words kWalls = {"memory", "communication", "compute_host"};
const Words kPhases = {"data", "fit", "scale", "profile", "retune"};
const Words kFrameworks = {"any", "megatron_lm", "megatron_bridge", "pytorch", "env", "nsys"};
const Words kNamed = {"megatron_lm", "megatron_bridge", "pytorch"};
const Words kBases = {"ceiling", "estimate", "what_if", "published"};
const Words kKinds = {"error", "silent", "advice"};
const Words kSafeties = {"speed_only", "memory", "numerics", "semantics"};

constexpr size_t kListLimit = 48;

std::string shown(const std::string& s) { return shorten(one_line(to_utf8(s)), 60); }

class ShapeReader {
 public:
  ShapeReader(const std::string& place, std::vector<Error>& problems)
      : place_(place), problems_(problems) {}

  void problem(const std::string& pointer, const std::string& text) {
    problems_.push_back({fmt::format("{}: {}: {}", place_, pointer, text)});
  }

  void keys(const json& o, const std::string& pointer, const Words& known) {
    for (const auto& [key, value] : o.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        problem(pointer.empty() ? "/" : pointer, "expected " + choice_words(known, key));
      }
    }
  }

  std::string line(const json& v, const std::string& pointer, size_t least) {
    if (!v.is_string()) {
      problem(pointer, fmt::format("expected text, found {}", v.type_name()));
      return {};
    }
    auto s = v.get<std::string>();
    const bool control = std::any_of(s.begin(), s.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (control) problem(pointer, "expected one printable line, found a control character");
    if (s.size() < least)
      problem(pointer, fmt::format("expected at least {} characters, found {}", least, s.size()));
    return s;
  }

  std::string text(const json& o, const std::string& base, const char* key, size_t least) {
    const auto it = o.find(key);
    if (it != o.end()) return line(*it, base + "/" + key, least);
    if (least > 0)
      problem(base.empty() ? "/" : base, fmt::format("expected the key `{}`, found none", key));
    return {};
  }

  std::string choice(const json& o, const std::string& base, const char* key, const Words& known,
                     bool required) {
    if (required && !o.contains(key)) {
      problem(base.empty() ? "/" : base,
              fmt::format("expected the key `{}` with one of {}, found none", key,
                          fmt::join(known, " ")));
      return {};
    }
    std::string s = text(o, base, key, required ? 1 : 0);
    if (s.empty() || std::find(known.begin(), known.end(), s) != known.end()) return s;
    problem(base + "/" + key, "expected " + choice_words(known, s));
    return s;
  }

  const json* list(const json& o, const char* key, bool required, size_t least) {
    const auto it = o.find(key);
    const std::string pointer = std::string("/") + key;
    if (it == o.end()) {
      if (required) problem("/", fmt::format("expected the key `{}`, found none", key));
      return nullptr;
    }
    if (!it->is_array()) {
      problem(pointer, fmt::format("expected a list, found {}", it->type_name()));
      return nullptr;
    }
    if (it->size() < least || it->size() > kListLimit) {
      problem(pointer,
              fmt::format("expected {} to {} entries, found {}", least, kListLimit, it->size()));
      return nullptr;
    }
    return &*it;
  }

  Words texts(const json& o, const char* key, bool required, size_t least) {
    Words out;
    const json* items = list(o, key, required, least);
    for (size_t i = 0; items != nullptr && i < items->size(); ++i)
      out.push_back(line((*items)[i], fmt::format("/{}/{}", key, i), 1));
    return out;
  }

 private:
  const std::string& place_;
  std::vector<Error>& problems_;
};

void read_wall(ShapeReader& in, const json& o, Rule& rule) {
  const auto it = o.find("wall");
  if (it == o.end() || !it->is_null()) rule.wall = in.choice(o, "", "wall", kWalls, true);
  if (rule.wall.empty() && rule.phase != "data" && it != o.end())
    in.problem("/wall", "expected a wall, found null; only rules of phase data have none");
}

void read_actions(ShapeReader& in, const json& o, Rule& rule) {
  const json* items = in.list(o, "actions", true, 1);
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const json& a = (*items)[i];
    const std::string base = fmt::format("/actions/{}", i);
    if (!a.is_object()) {
      in.problem(base, fmt::format("expected an object, found {}", a.type_name()));
      continue;
    }
    in.keys(a, base, {"framework", "set", "to", "note", "when"});
    rule.actions.push_back(
        {{in.choice(a, base, "framework", kFrameworks, true), in.text(a, base, "set", 1),
          in.text(a, base, "to", 0), in.text(a, base, "note", 0)},
         in.text(a, base, "when", 0)});
  }
  if (!rule.actions.empty() && std::all_of(rule.actions.begin(), rule.actions.end(),
                                           [](const RuleAction& a) { return !a.when.empty(); }))
    in.problem("/actions", "expected one without `when`, so that there is always something to do");
}

// For which they are; empty: for all.
std::vector<std::string> read_frameworks(ShapeReader& in, const json& o,
                                         const std::string& pointer) {
  std::vector<std::string> out;
  const json names = o.value("frameworks", json::array());
  if (!names.is_array()) {
    in.problem(pointer + "/frameworks",
               fmt::format("expected a list, found {}", names.type_name()));
    return out;
  }
  for (const json& name : names) {
    const std::string s = in.line(name, pointer + "/frameworks", 1);
    if (std::find(kNamed.begin(), kNamed.end(), s) == kNamed.end())
      in.problem(pointer + "/frameworks",
                 fmt::format("expected some of {}, found `{}`", fmt::join(kNamed, " "), shown(s)));
    out.push_back(s);
  }
  return out;
}

// Words alone, or with what says for which runs they are.
RuleLine read_line(ShapeReader& in, const json& v, const std::string& pointer, size_t least) {
  if (!v.is_object()) return {in.line(v, pointer, least), {}, ""};
  in.keys(v, pointer, {"text", "frameworks", "when"});
  return {in.text(v, pointer, "text", least), read_frameworks(in, v, pointer),
          in.text(v, pointer, "when", 0)};
}

std::vector<RuleLine> read_lines(ShapeReader& in, const json& o, const char* key, bool required) {
  std::vector<RuleLine> out;
  const json* items = in.list(o, key, required, 0);
  for (size_t i = 0; items != nullptr && i < items->size(); ++i)
    out.push_back(read_line(in, (*items)[i], fmt::format("/{}/{}", key, i), 1));
  return out;
}

// One text, or sentences in a list.
void read_why(ShapeReader& in, const json& o, Rule& rule) {
  constexpr size_t kLeast = 20;
  const auto it = o.find("why");
  if (it != o.end() && it->is_array()) {
    rule.why = read_lines(in, o, "why", true);
    if (rule.why.empty()) in.problem("/why", "expected a sentence, found an empty list");
  } else {
    rule.why = {{in.text(o, "", "why", kLeast), {}, ""}};
  }
}

std::optional<GainRule::WhatIf> read_what_if(ShapeReader& in, const json& o,
                                             const std::string& base) {
  if (!o.is_object()) {
    in.problem(base, fmt::format("expected an object, found {}", o.type_name()));
    return std::nullopt;
  }
  in.keys(o, base, {"id", "lo", "hi", "when"});
  GainRule::WhatIf out;
  out.id = in.text(o, base, "id", 1);
  if (!out.id.empty() && !is_change(out.id)) {
    in.problem(base + "/id",
               "expected a change, or some joined by +: " + choice_words(change_ids(), out.id));
  }
  out.when = in.text(o, base, "when", 0);
  for (const auto& [key, value] :
       {std::pair<const char*, double*>{"lo", &out.lo}, {"hi", &out.hi}}) {
    const auto it = o.find(key);
    const bool good =
        it != o.end() && it->is_number() && it->get<double>() >= 0 && it->get<double>() <= 1;
    if (good) {
      *value = it->get<double>();
    } else {
      in.problem(base + "/" + key, "expected a number from 0 to 1, found something else");
    }
  }
  return out;
}

// One, or several in a list.
void read_what_ifs(ShapeReader& in, const json& o, GainRule& gain) {
  const std::string base = "/gain/what_if";
  const bool several = o.is_array();
  for (size_t i = 0; i < (several ? o.size() : 1); ++i) {
    auto one =
        several ? read_what_if(in, o[i], fmt::format("{}/{}", base, i)) : read_what_if(in, o, base);
    if (one) gain.what_if.push_back(std::move(*one));
  }
}

void read_gain(ShapeReader& in, const json& o, Rule& rule) {
  const auto it = o.find("gain");
  if (it == o.end()) return;
  if (!it->is_object()) {
    in.problem("/gain", fmt::format("expected an object, found {}", it->type_name()));
    return;
  }
  in.keys(*it, "/gain", {"lo_share", "hi_share", "basis", "what_if"});
  rule.gain = GainRule{in.text(*it, "/gain", "lo_share", 1),
                       in.text(*it, "/gain", "hi_share", 1),
                       in.choice(*it, "/gain", "basis", kBases, true),
                       {}};
  if (it->contains("what_if")) read_what_ifs(in, (*it)["what_if"], *rule.gain);
}

void read_rank(ShapeReader& in, const json& o, Rule& rule) {
  const auto it = o.find("rank");
  if (it == o.end()) return;
  const bool good = it->is_number_integer() && it->get<int64_t>() >= 0 && it->get<int64_t>() <= 99;
  if (good) rule.rank = it->get<int>();
  if (!good) in.problem("/rank", "expected a whole number from 0 to 99, found something else");
}

void read_breaks(ShapeReader& in, const json& o, Rule& rule) {
  const auto it = o.find("breaks");
  if (it != o.end() && !it->is_boolean())
    in.problem("/breaks", fmt::format("expected true or false, found {}", it->type_name()));
  rule.breaks = rule.kind == "error" || (it != o.end() && it->is_boolean() && it->get<bool>());
}

std::string read_shape(ShapeReader& in, const json& o, const std::string& id, Rule& rule) {
  in.keys(o, "", kKeys);
  rule.id = in.text(o, "", "id", 1);
  if (rule.id != id)
    in.problem("/id",
               fmt::format("expected `{}` as the path says, found `{}`", id, shown(rule.id)));
  rule.title = in.text(o, "", "title", 8);
  rule.phase = in.choice(o, "", "phase", kPhases, true);
  read_wall(in, o, rule);
  rule.causes = in.texts(o, "causes", true, 0);
  read_rank(in, o, rule);
  for (std::string& clause : in.texts(o, "when", true, 1))
    rule.when.push_back({std::move(clause), {}});
  rule.evidence = in.texts(o, "evidence", true, 0);
  read_actions(in, o, rule);
  read_gain(in, o, rule);
  rule.published = read_lines(in, o, "published", false);
  rule.safety = in.choice(o, "", "safety", kSafeties, false);
  rule.frameworks = read_frameworks(in, o, "");
  rule.kind = in.choice(o, "", "kind", kKinds, false);
  read_breaks(in, o, rule);
  rule.after = in.texts(o, "after", false, 0);
  rule.unless = in.texts(o, "unless", false, 0);
  rule.conflicts = in.texts(o, "conflicts", false, 0);
  read_why(in, o, rule);
  rule.pitfalls = read_lines(in, o, "pitfalls", true);
  rule.verify = read_lines(in, o, "verify", false);
  rule.sources = in.texts(o, "sources", true, 1);
  rule.since = in.text(o, "", "since", 1);
  return in.text(o, "", "from", 1);
}

void check_causes(ShapeReader& in, const Rule& rule, const std::vector<FactColumn>& columns) {
  for (const FactColumn& c : columns) {
    if (c.table != "fact_run" || c.column != "cause") continue;
    for (size_t i = 0; i < rule.causes.size(); ++i) {
      if (std::find(c.allowed.begin(), c.allowed.end(), rule.causes[i]) == c.allowed.end()) {
        in.problem(fmt::format("/causes/{}", i),
                   fmt::format("expected a value of fact_run.cause, {}",
                               choice_words(c.allowed, rule.causes[i])));
      }
    }
  }
}

}  // namespace

const Rule* RuleSet::find(std::string_view id) const {
  const auto it = std::lower_bound(rules.begin(), rules.end(), id,
                                   [](const Rule& r, std::string_view key) { return r.id < key; });
  return it != rules.end() && it->id == id ? &*it : nullptr;
}

std::vector<Error> read_rule(std::string_view json_text, const std::string& place,
                             const std::string& id, const RuleChecker& checker, Rule& rule) {
  std::vector<Error> problems;
  if (json_text.size() > kRuleFileLimit)
    return {{fmt::format("{}: expected at most {} bytes, found more", place, kRuleFileLimit)}};
  const auto parsed = parse_json(json_text, place);
  if (!parsed) return {parsed.error()};
  if (!parsed->is_object())
    return {{fmt::format("{}: /: expected an object, found {}", place, parsed->type_name())}};
  ShapeReader in(place, problems);
  rule = Rule{};
  const std::string from = read_shape(in, *parsed, id, rule);
  check_causes(in, rule, checker.columns());
  if (!from.empty()) checker.check(rule, from, place, problems);
  return problems;
}

}  // namespace ws
