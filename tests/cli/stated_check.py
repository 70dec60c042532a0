#!/usr/bin/env python3
"""What the user states of the installed software, as a black box: stated_check.py WALLSIGHT CHECKOUT"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
TRACES = os.path.join(ROOT, "samples", "kineto")
SCRIPT = os.path.join(ROOT, "samples", "config", "mixtral_megatron_lm.sh")


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)


def analyze(sample, *args):
    done = run("analyze", os.path.join(TRACES, sample), "--no-what-if", "--report", "json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def settings(report):
    return " ".join(a["set"] + " " + a["note"] for f in report["findings"] if f["status"] == "fires" for a in f["actions"] if a["framework"] == "megatron_lm")


def script(folder, words):
    path = os.path.join(folder, "run.sh")
    with open(path, "w", encoding="utf-8") as f:
        f.write(words)
    return path


class Stated(unittest.TestCase):
    def test_only_the_spelling_of_the_release_is_shown(self):
        graphs = {release: settings(analyze("launch_bound", "--framework", "megatron-lm", "--framework-version", release)) for release in ("0.12", "core_r0.15.0", "v0.18", "main")}
        self.assertIn("--external-cuda-graph", graphs["0.12"])
        self.assertNotIn("--cuda-graph-impl", graphs["0.12"])
        self.assertIn("--cuda-graph-impl transformer_engine --cuda-graph-scope", graphs["core_r0.15.0"])
        for release in ("v0.18", "main"):
            self.assertIn("--cuda-graph-modules", graphs[release])
            self.assertNotIn("--cuda-graph-scope", graphs[release])
            self.assertNotIn("from core", graphs[release])

    def test_what_came_later_is_not_offered_and_says_when_it_came(self):
        old, new = (analyze("exposed_all_to_all", "--framework", "megatron-lm", "--framework-version", release) for release in ("0.12", "0.16"))
        self.assertIn("--moe-enable-deepep", settings(old))
        for flag in ("hybridep", "--moe-flex-dispatcher-backend", "--overlap-moe-expert-parallel-comm"):
            self.assertNotIn(flag, settings(old))
        self.assertEqual([(l["rule"], l["needs"]) for l in old["later_releases"]],
                         [("communication/ep_overlap_small_group", "--overlap-moe-expert-parallel-comm came with core 0.14")])
        self.assertNotIn("later_releases", new)
        self.assertIn("--moe-flex-dispatcher-backend", settings(new))
        for form, words in (("text", "not offered, since the stated release does not have it"), ("md", "Not offered, since the stated release does not have it")):
            done = run("analyze", os.path.join(TRACES, "exposed_all_to_all"), "--no-what-if", "--report", form, "--framework", "megatron-lm", "--framework-version", "0.12")
            self.assertIn(words, done.stdout)
            self.assertIn("came with core 0.14", done.stdout)
            self.assertIn("as stated: version 0.12, framework Megatron-LM", done.stdout.replace("\\", ""))

    def test_what_other_software_lacks_is_not_offered_and_says_what_it_needs(self):
        old, new = (analyze("exposed_all_to_all", "--framework", "megatron-lm", "--framework-version", "0.16", "--torch-version", release) for release in ("2.5", "2.6"))
        self.assertNotIn("--overlap-moe-expert-parallel-comm", settings(old))
        self.assertIn("the expert overlap needs PyTorch 2.6", [l["needs"] for l in old["later_releases"]])
        self.assertIn("--overlap-moe-expert-parallel-comm", settings(new))
        self.assertNotIn("later_releases", new)

    def test_a_setting_that_is_left_out_of_advice_that_stands_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"framework": "megatron_lm", "ep": 4, "num_experts": 64, "moe_grouped_gemm": False, "moe_token_dispatcher_type": "alltoall"}, f)
            for release in ("0.12", "0.13", "0.14", "0.16"):
                stated = analyze("exposed_all_to_all", "--config", path, "--framework-version", release)
                newest = analyze("exposed_all_to_all", "--config", path, "--framework-version", "main")
                fired = {f["rule"]: f for f in stated["findings"] if f["status"] == "fires"}
                told = stated.get("later_releases", [])
                for f in newest["findings"]:
                    if f["status"] != "fires" or f["rule"] not in fired:
                        continue
                    had, has = (sum(a["framework"] == "megatron_lm" for a in g["actions"]) for g in (f, fired[f["rule"]]))
                    self.assertLessEqual(had - has, sum(t["rule"] == f["rule"] and t["set"] is not None for t in told), (release, f["rule"]))

    def test_the_option_is_as_if_the_file_said_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            reports = []
            for content, args in (({"framework_version": "0.12", "te_version": "2.2", "torch_version": "2.5"}, []),
                                  ({}, ["--framework-version", "core_r0.12", "--te-version", "v2.2", "--torch-version", "2.5+cu124"])):
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(dict(content, framework="megatron_lm", ep=4), f)
                reports.append([analyze("exposed_all_to_all", "--config", path, *args)["findings"], run("plan", path, "--gpus", "4", *args).stdout])
            self.assertEqual(*reports)
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"framework": "megatron_lm", "framework_version": "0.16", "ep": 4}, f)
            report = analyze("exposed_all_to_all", "--config", path, "--framework-version", "0.12")
            self.assertTrue(any("0.12 of the command line is used, not 0.16 (run.json: line 1)" in n["text"] for n in report["notes"]))

    def test_settings_of_a_script_that_the_release_lacks_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = script(folder, "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --num-experts 8 --expert-model-parallel-size 8 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep\n")
            def rules(*args):
                return [f["rule"] for f in json.loads(run("plan", path, "--report", "json", *args).stdout)["findings"]]
            self.assertNotIn("configuration/setting_not_in_release", rules())
            self.assertNotIn("configuration/setting_not_in_release", rules("--framework-version", "0.16"))
            self.assertIn("configuration/setting_not_in_release", rules("--framework-version", "0.15"))

    def test_analyze_lists_them_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            path = script(folder, "python pretrain_gpt.py --num-layers 8 --fine-grained-activation-offloading --offload-modules core_attn\n")
            def told(*args):
                return [f["actions"] for f in analyze("launch_bound", "--config", path, *args)["findings"] if f["rule"] == "configuration/setting_not_in_release"]
            self.assertEqual(told("--framework-version", "0.16"), [])
            (actions,) = told("--framework-version", "0.15")
            self.assertEqual((actions[-1]["set"].split()[0], actions[-1]["to"]),  # the others: what started the job had it not
                             ("--fine-grained-activation-offloading", "leave it out, or take Megatron Core 0.16 or newer"))
            for form in ("text", "md"):
                done = run("analyze", os.path.join(TRACES, "launch_bound"), "--config", path, "--no-what-if", "--report", form, "--framework-version", "0.15")
                self.assertIn("take Megatron Core 0.16 or newer", " ".join(done.stdout.split()))

    def test_a_setting_that_no_key_stands_for_is_judged_by_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.sh")
            with open(path, "w", encoding="utf-8") as f:
                f.write("python pretrain_gpt.py --num-layers 8 --num-experts 8 --moe-permute-fusion-into-hybridep\n")
            old, new = (" ".join(run("plan", path, "--framework-version", release).stdout.split()) for release in ("0.16", "0.17"))
            self.assertIn("--moe-permute-fusion-into-hybridep (in Bridge moe_permute_fusion_into_hybridep): leave it out", old)
            self.assertNotIn("(in Bridge moe_permute_fusion_into_hybridep)", new)

    def test_a_framework_that_did_not_run(self):
        for form in ("text", "md"):
            done = run("analyze", os.path.join(TRACES, "exposed_all_to_all"), "--no-what-if", "--report", form, "--framework", "pytorch")
            self.assertIn("the command line says PyTorch, the recording shows Megatron Core", " ".join(done.stdout.replace("\\", "").split()))

    def test_a_model_is_no_configuration_of_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_experts": 128}, f)
            done = run("analyze", os.path.join(TRACES, "launch_bound"), "--config", path, "--no-what-if")
            self.assertIn("sizes of the model from the file", " ".join(done.stdout.split()))
            fired = [f["rule"] for f in analyze("launch_bound", "--config", path)["findings"]]
            self.assertFalse([r for r in fired if r.startswith("configuration/")])

    def test_what_is_no_release_is_refused(self):
        trace = os.path.join(TRACES, "launch_bound")
        for verb in (["plan", SCRIPT], ["analyze", trace], ["merge", trace]):
            for option, value, words in (("--framework-version", "banana", "a release of Megatron Core"), ("--te-version", "banana", "a release of Transformer Engine"),
                                         ("--torch-version", "main", "a release of PyTorch"), ("--framework-version", "25.04", "pip show megatron-core"),
                                         ("--framework", "banana", "one of megatron-lm"), ("--torch-version", "", "empty")):
                done = run(*verb, option, value)
                self.assertEqual((done.returncode, done.stdout), (3, ""), (verb, option, value))
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        done = run("analyze", trace, "--partial", "-o", "x.wspart", "--te-version", "2.8")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--te-version", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write("tp: 1\ntorch_version: banana\n")
            for args in (["plan", path], ["analyze", trace, "--config", path]):
                done = run(*args)
                self.assertEqual(done.returncode, 2)
                self.assertIn("run.yaml: line 2: torch_version: expected a release of PyTorch such as 2.8, found 'banana'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
