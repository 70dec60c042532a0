// Tested by: tests/unit/advise/told_once_test.cpp
#include "advise/told_once.h"

#include <algorithm>

#include "advise/spellings.h"
#include "base/text.h"

namespace ws {

std::vector<std::string> parts_of(const std::string& text) {
  constexpr std::string_view kBetween = " / ";
  std::vector<std::string> out;
  for (size_t at = 0;;) {
    const size_t end = text.find(kBetween, at);
    out.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return out;
    at = end + kBetween.size();
  }
}

namespace {

std::vector<Assignment> flags_of(const Action& a) {
  std::vector<Assignment> out;
  for (const std::string& word : words_of(a.set)) {
    if (word.rfind("--", 0) == 0) {
      out.push_back({word, ""});
    } else if (!out.empty()) {
      out.back().value += (out.back().value.empty() ? "" : " ") + word;
    }
  }
  if (!out.empty() && out.back().value.empty()) out.back().value = a.to;
  return out;
}

std::vector<Assignment> keys_of(const Action& a) {
  const auto names = parts_of(a.set);
  auto values = parts_of(a.to);
  if (values.size() == 1) values.resize(names.size(), a.to);
  if (values.size() != names.size()) return {{a.set, a.to}};
  std::vector<Assignment> out;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t dot = names[i].rfind('.');
    out.push_back({names[i].substr(dot == std::string::npos ? 0 : dot + 1), values[i]});
  }
  return out;
}

struct Told {
  Settings::Given setting;
  size_t by;  // the finding
};

bool same(const Told& told, const std::string& framework, const Assignment& a) {
  return told.setting.framework == framework && told.setting.name == a.name &&
         told.setting.value == a.value;
}

bool excludes(const Finding& a, const Finding& b) {
  return std::count(a.conflicts.begin(), a.conflicts.end(), b.rule) > 0 ||
         std::count(b.conflicts.begin(), b.conflicts.end(), a.rule) > 0;
}

// What has been told so far, but for that of alternatives of this finding.
std::vector<Told> told_before(const std::vector<Told>& all, const std::vector<Finding>& findings,
                              const Finding& f) {
  std::vector<Told> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Told& t) { return !excludes(f, findings[t.by]); });
  return out;
}

Settings as_settings(const std::vector<Told>& told) {
  Settings out;
  for (const Told& t : told) {
    out.given.push_back(t.setting);
    out.words.push_back(t.setting.name + "=" + t.setting.value);
  }
  return out;
}

// False: nothing of it is new.
bool refer(Action& a, const std::vector<Told>& told, const std::vector<Finding>& findings,
           bool by_words, std::vector<Finding::With>& with) {
  const std::vector<Assignment> all = assignments(a);
  size_t known = 0;
  for (const Assignment& one : all) {
    const auto it = std::find_if(told.begin(), told.end(),
                                 [&](const Told& t) { return same(t, a.framework, one); });
    if (it == told.end()) continue;
    ++known;
    if (a.framework != "any" || by_words)
      with.push_back({a.framework, one.name, findings[it->by].rule});
  }
  return known < all.size() && (known == 0 || keep_what_is_new(a, as_settings(told)));
}

}  // namespace

std::vector<Assignment> assignments(const Action& action) {
  const bool plain =
      action.set.find(',') == std::string::npos && action.set.find(';') == std::string::npos;
  if (action.framework == "megatron_lm" && action.set.rfind("--", 0) == 0 && plain)
    return flags_of(action);
  if (action.framework == "megatron_bridge" && action.set.rfind("cfg.", 0) == 0 && plain)
    return keys_of(action);
  return {{action.set, action.to}};
}

void tell_settings_once(std::vector<Finding>& findings, const std::string& framework) {
  std::vector<Told> told;
  for (size_t i = 0; i < findings.size(); ++i) {
    Finding& f = findings[i];
    if (f.status != FindingStatus::fires || f.phase == "data") continue;
    std::vector<Action> left;
    std::vector<Finding::With> with;
    bool had = false, has = false;  // something for this run
    const bool of_file = !f.kind.empty();
    const std::vector<Told> before = told_before(told, findings, f);
    for (Action a : f.actions) {
      const bool own = framework.empty() || a.framework == framework || a.framework == "any" ||
                       a.framework == "env";
      had |= own;
      if (!refer(a, before, findings, of_file, with)) continue;
      has |= own;
      left.push_back(std::move(a));
    }
    if (had && !has && !of_file) {
      f.status = FindingStatus::no;
      continue;
    }
    f.actions = std::move(left);
    f.with = std::move(with);
    for (const Action& a : f.actions)
      for (const Assignment& one : assignments(a))
        told.push_back({{a.framework, one.name, one.value}, i});
  }
}

}  // namespace ws
