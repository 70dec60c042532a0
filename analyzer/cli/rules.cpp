// wallsight rules: the catalogue, one rule in full, and the check of somebody's own folder.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "advise/cases.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "report/escape.h"
#include "report/layout.h"

namespace ws::cli {
namespace {

int list(const std::vector<std::string>& folders) {
  const auto rules = load_catalogue(folders);
  if (!rules) return fail(kBadInput, rules.error());
  size_t id = 4;
  for (const Rule& r : rules->rules) id = std::max(id, std::min<size_t>(r.id.size(), 60));
  const auto print = [&](const std::string& a, const std::string& phase, const std::string& wall,
                         const std::string& title) {
    std::cout << fmt::format("{}  {}  {}\n", pad_right(a, id), pad_right(phase, 7), wall)
              << hanging("    ", title);
  };
  print("rule", "phase", "wall", "title [causes it is for]");
  for (const Rule& r : rules->rules) {
    const std::string causes =
        r.causes.empty() ? "" : fmt::format(" [{}]", fmt::join(r.causes, " "));
    print(r.id, r.phase, r.wall.empty() ? "-" : r.wall, escape_text(r.title) + causes);
  }
  return kDone;
}

void print_list(const char* label, const std::vector<std::string>& values) {
  for (const std::string& v : values)
    std::cout << hanging(fmt::format("{:<11}", label), escape_text(v));
}

void print_value(const char* label, const std::string& value) {
  if (!value.empty()) print_list(label, {value});
}

// Words, and for which runs they are meant.
void print_lines(const char* label, const std::vector<RuleLine>& lines) {
  std::vector<std::string> texts;
  for (const RuleLine& line : lines) {
    std::vector<std::string> where = line.frameworks;
    if (!line.when.empty()) where.push_back(line.when);
    texts.push_back(where.empty()
                        ? line.text
                        : fmt::format("{} [where {}]", line.text, fmt::join(where, ", ")));
  }
  print_list(label, texts);
}

int show(const std::string& id, const std::vector<std::string>& folders) {
  const auto rules = load_catalogue(folders);
  if (!rules) return fail(kBadInput, rules.error());
  const Rule* r = rules->find(id);
  if (r == nullptr) {
    return fail(
        kBadUsage,
        Error{fmt::format(
            "{}: expected the id of a rule, found none of that name; see `wallsight rules list`",
            id)});
  }
  print_value("rule", r->id);
  print_value("title", r->title);
  print_value("wall", r->wall.empty() ? "none" : r->wall);
  print_value("phase", r->phase);
  print_value("kind", r->kind);
  print_value("holds back", r->breaks ? "findings of later phases" : "");
  print_value("causes", fmt::format("{}", fmt::join(r->causes, ", ")));
  std::vector<std::string> tables;
  for (const TableRef& t : r->from)
    tables.push_back(t.table == t.alias ? t.table : t.table + " " + t.alias);
  print_value("from", fmt::format("{}", fmt::join(tables, ", ")));
  for (const Clause& c : r->when) print_value("when", c.sql);
  print_list("evidence", r->evidence);
  if (r->gain) {
    print_value("gain",
                fmt::format("{} to {} ({})", r->gain->lo_share, r->gain->hi_share, r->gain->basis));
    for (const GainRule::WhatIf& w : r->gain->what_if)
      print_value("gain", fmt::format("{} to {} of {} where that was re-simulated{}", w.lo, w.hi,
                                      w.id, w.when.empty() ? "" : " [where " + w.when + "]"));
  }
  for (const RuleAction& a : r->actions) {
    print_value("action",
                fmt::format("{}: {}{}{}{}{}", a.framework, a.set, a.to.empty() ? "" : " -> ", a.to,
                            a.note.empty() ? "" : " (" + a.note + ")",
                            a.when.empty() ? "" : " [where " + a.when + "]"));
  }
  print_lines("why", r->why);
  print_value("safety", r->safety);
  print_lines("published", r->published);
  print_list("after", r->after);
  print_list("unless", r->unless);
  print_list("conflicts", r->conflicts);
  print_lines("pitfall", r->pitfalls);
  print_lines("verify", r->verify);
  print_list("source", r->sources);
  print_value("since", r->since);
  return kDone;
}

// The built-in rules, which a folder of somebody's own is used beside; none for these themselves.
Result<RuleSet> rules_beside(const std::string& folder) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  std::error_code ec;
  if (std::filesystem::equivalent(*data + "/rules", folder, ec)) return RuleSet{};
  return load_catalogue({});
}

int check(const std::string& folder) {
  const auto beside = rules_beside(folder);
  if (!beside) return fail(kBadInput, beside.error());
  const auto problems = check_rule_folder(folder, *beside);
  if (!problems) return fail(kBadInput, problems.error());
  for (const Error& e : *problems) fail(kBadInput, e);
  if (!problems->empty()) return kBadInput;
  std::cout << escape_text(folder) << ": no problems\n";
  return kDone;
}

}  // namespace

int run_rules(int argc, char** argv) {
  CLI::App app{"The catalogue of rules.", "wallsight rules"};
  std::string id, folder;
  std::vector<std::string> folders;
  app.require_subcommand(1);
  const auto with_folders = [&](CLI::App* verb) {
    verb->add_option("--rules", folders, "folder with further rules, repeatable")
        ->check(not_empty())
        ->type_name("DIR")
        ->allow_extra_args(false);
    return verb;
  };
  const CLI::App* lists =
      with_folders(app.add_subcommand("list", "id, phase, wall, causes and title of every rule"));
  CLI::App* shows = with_folders(app.add_subcommand("show", "one rule in full"));
  shows->add_option("ID", id)->check(not_empty())->required();
  CLI::App* checks = app.add_subcommand("check",
                                        "a folder of rules with its cases, beside the built-in "
                                        "rules; exit 2 when something is wrong");
  checks->add_option("DIR", folder)->check(not_empty())->required();
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  if (lists->parsed()) return list(folders);
  return shows->parsed() ? show(id, folders) : check(folder);
}

}  // namespace ws::cli
