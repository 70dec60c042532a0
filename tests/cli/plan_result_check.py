#!/usr/bin/env python3
"""What a plan comes to, as CI reads it: plan_result_check.py WALLSIGHT CHECKOUT"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
RUN = {"framework": "megatron_lm", "model": "llama3_8b", "platform": "h100", "seq_len": 8192, "micro_batch": 1, "global_batch": 128, "bf16": True,
       "recompute_granularity": "none", "use_distributed_optimizer": True, "overlap_grad_reduce": True, "overlap_param_gather": True, "tp": 4,
       "sequence_parallel": True, "gpus": 64}


class PlanResult(unittest.TestCase):
    def plan(self, config, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(config, f)
            return subprocess.run([PROGRAM, "plan", path, *args], capture_output=True, text=True, timeout=60)

    def test_exit_code_and_the_report_all_the_same(self):
        unfit, fault = dict(RUN, gpus=1, tp=1, sequence_parallel=False), dict(RUN, gpus=63)
        unknown = {"framework": "megatron_lm", "tp": 2}
        for config, spec, code in ((RUN, "violations,does_not_fit,may_not_fit,not_enough_known", 0), (fault, "violations", 1), (fault, "does_not_fit", 0),
                                   (unfit, "does_not_fit", 1), (unfit, "violations", 0), (unfit, "may_not_fit", 1), (unknown, "not_enough_known", 1), (unknown, "violations", 0),
                                   (fault, "finding:configuration/attention_grid", 1), (RUN, "finding:configuration/attention_grid", 0)):
            done = self.plan(config, "--fail-on", spec, "--report", "json")
            self.assertEqual(done.returncode, code, (config, spec, done.stderr))
            self.assertEqual(json.loads(done.stdout)["schema"], 1)
            self.assertEqual(done.stderr, "wallsight: --fail-on: %s\n" % spec if code else "")
            self.assertEqual(self.plan(config).returncode, 0)

    def test_a_condition_that_can_never_hold_is_refused(self):
        for spec in ("banana", "violations,", "finding:banana", ""):
            done = self.plan(RUN, "--fail-on", spec)
            self.assertEqual((done.returncode, done.stdout), (3, ""), spec)
            self.assertIn("--fail-on", done.stderr)

    def test_the_evidence_stands_in_every_format(self):
        for form in ("text", "md"):
            shown = self.plan(dict(RUN, gpus=63), "--report", form).stdout
            self.assertRegex(shown, r"(?m)^ +(- )?here", form)

    def test_an_empty_platform_is_refused(self):
        done = self.plan(RUN, "--platform", "")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("--platform", done.stderr)

    def test_a_framework_is_named_with_a_dash_as_well(self):
        plan = json.loads(self.plan(dict(RUN, framework="megatron-lm"), "--report", "json").stdout)
        self.assertEqual(plan["framework"], "megatron_lm")

    def test_a_slice_of_a_gpu_has_no_domain_that_is_known(self):
        config = dict(RUN, num_experts=8, ep=8, etp=1)
        whole, part = (self.plan(config, "--platform", name).stdout for name in ("h100", "NVIDIA H100 80GB HBM3 MIG 3g.40gb"))
        self.assertIn("fast domain of 8 GPUs", " ".join(whole.split()))
        self.assertNotIn("fast domain", " ".join(part.split()))

    def test_the_model_of_deepseek_is_no_run(self):
        card = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "n_routed_experts": 256, "moe_layer_freq": 1}
        self.assertEqual(json.loads(self.plan(card, "--report", "json").stdout)["min_gpus"], None)

    def test_every_format_carries_the_result(self):
        try:
            import jsonschema
        except ImportError:
            jsonschema = None
        with open(os.path.join(ROOT, "schemas", "plan.schema.json"), encoding="utf-8") as f:
            schema = json.load(f)
        cases = ((RUN, "fits"), (dict(RUN, gpus=63), "violations"), (dict(RUN, gpus=1, tp=1, sequence_parallel=False), "does_not_fit"), ({"tp": 2}, "not_enough_known"),
                 ({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32}, "not_enough_known"))
        for config, status in cases:
            plan = json.loads(self.plan(config, "--report", "json", "--framework-version", "0.16").stdout)
            if jsonschema:
                jsonschema.validate(plan, schema)
            self.assertEqual(plan["result"]["status"], status)
            self.assertEqual(plan["framework_version"], "0.16")
            self.assertEqual((plan["framework"], plan["gpus"]), (config.get("framework"), config.get("gpus")))
            for form, label in (("text", "RESULT"), ("md", "| result |")):
                shown = " ".join(self.plan(config, "--report", form).stdout.replace("\\", "").split())
                self.assertIn(label + " " + plan["result"]["text"], shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
