"""Rule and case files against their JSON Schemas; closed lists of the schema against the fact tables."""
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed: skipped")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main() -> int:
    rule_schema = json.loads((ROOT / "schemas/rule.schema.json").read_text())
    case_schema = json.loads((ROOT / "schemas/cases.schema.json").read_text())
    for schema in (rule_schema, case_schema):
        jsonschema.Draft7Validator.check_schema(schema)
    rules = jsonschema.Draft7Validator(rule_schema)
    cases = jsonschema.Draft7Validator(case_schema)
    faults, count = [], 0
    for path in sorted((ROOT / "rules").glob("*/*.json")):
        validator = cases if path.name.endswith(".cases.json") else rules
        for error in validator.iter_errors(json.loads(path.read_text())):
            faults.append(f"{path.relative_to(ROOT)}: /{'/'.join(map(str, error.path))}: {error.message}")
        if validator is rules and not path.with_suffix(".cases.json").exists():
            faults.append(f"{path.relative_to(ROOT)}: no cases beside it")
        if validator is cases and not path.with_name(path.name.replace(".cases.json", ".json")).exists():
            faults.append(f"{path.relative_to(ROOT)}: cases without a rule")
        count += 1
    # The schemas refuse what they should.
    bad = dict(next(iter(json.loads(p.read_text()) for p in sorted((ROOT / "rules").glob("*/*.json"))
                         if not p.name.endswith(".cases.json"))))
    bad["phase"] = "whenever"
    if rules.is_valid(bad) or cases.is_valid([]):
        faults.append("a schema accepts what it must refuse")
    # Walls are the same set in schema and facts.
    facts = (ROOT / "schemas/facts.sql").read_text()
    walls = re.search(r"^  wall TEXT.*one of: ([a-z_ ]+);", facts, re.M).group(1).split()
    if sorted(walls) != sorted(w for w in rule_schema["properties"]["wall"]["enum"] if w):
        faults.append("schemas/rule.schema.json: walls differ from fact_run.wall")
    for fault in faults:
        print(fault)
    print(f"{count} files, {len(faults)} faults")
    return 1 if faults or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
