#!/usr/bin/env python3
"""wallsight plan and --config as a black box: plan_check.py WALLSIGHT CHECKOUT. Needs jsonschema for the contract."""
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
SAMPLES = sorted(p for p in glob.glob(os.path.join(ROOT, "samples", "config", "*")) if not p.endswith(".md"))
TRACES = os.path.join(ROOT, "samples", "kineto")


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)


def plan(path, *args):
    done = run("plan", path, *args, "--report", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rules(report):
    return [f["rule"] for f in report["findings"] if f.get("status", "fires") == "fires"]


class Plan(unittest.TestCase):
    def test_contract(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema")
        with open(os.path.join(ROOT, "schemas", "plan.schema.json"), encoding="utf-8") as f:
            schema = json.load(f)
        with open(os.path.join(ROOT, "schemas", "run_config.schema.json"), encoding="utf-8") as f:
            native = json.load(f)
        jsonschema.Draft7Validator.check_schema(native)
        self.assertGreaterEqual(len(SAMPLES), 7)
        for path in SAMPLES:
            jsonschema.validate(plan(path), schema)
        with open(os.path.join(ROOT, "samples", "config", "ddp_native.json"), encoding="utf-8") as f:
            jsonschema.validate(json.load(f), native)

    def test_same_bytes_and_nothing_left(self):
        for path in SAMPLES:
            with open(path, "rb") as f:
                before = f.read()
            for form in ("text", "md", "json"):
                self.assertEqual(run("plan", path, "--report", form).stdout, run("plan", path, "--report", form).stdout)
            with open(path, "rb") as f:
                self.assertEqual(before, f.read())

    def test_long_context(self):
        folder = os.path.join(ROOT, "samples", "config")
        self.assertEqual(plan(os.path.join(folder, "deepseek_v3_128k_h100.yaml"))["min_gpus"], 256)
        self.assertEqual(plan(os.path.join(folder, "deepseek_v3_256k_h100.yaml"))["min_gpus"], 512)
        qwen = plan(os.path.join(folder, "qwen3_235b_128k_gb200.yaml"), "--gpus", "128", "--platform", "gb200")
        self.assertEqual((qwen["min_gpus"], qwen["dp"], qwen["edp"]), (128, 2, 1))
        self.assertEqual(qwen["grids"][1]["fits"], True)
        short = plan(os.path.join(folder, "qwen3_235b_128k_gb200.yaml"), "--gpus", "96")
        self.assertIn("configuration/expert_grid", rules(short))
        self.assertIn("configuration/attention_grid", rules(short))

    def test_files_and_usage(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, "plan.md")
            done = run("plan", SAMPLES[0], "--report", "md=" + out, "--report", "json")
            self.assertEqual(done.returncode, 0)
            json.loads(done.stdout)
            with open(out, encoding="utf-8") as f:
                self.assertTrue(f.read().startswith("# Plan of"))
            for code, args in ((3, []), (3, [SAMPLES[0], "--gpus", "0"]), (3, [SAMPLES[0], "--platform", "abacus"]),
                               (3, [SAMPLES[0], "--report", "pdf"]), (3, [SAMPLES[0], "--report", "md=" + SAMPLES[0]]),
                               (2, [os.path.join(scratch, "none.yaml")]), (2, [scratch])):
                done = run("plan", *args)
                self.assertEqual(done.returncode, code, args)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_hostile_files(self):
        bombs = {"bomb.yaml": "a: &a [1,1]\n" + "".join("%s: &%s {x: *%s, y: *%s}\n" % (c, c, p, p) for p, c in zip("abcdefghijklmnopqrstuvw", "bcdefghijklmnopqrstuvwx")),
                 "deep.yaml": "x: " + "[" * 50000, "number.yaml": "tp: 1" + "0" * 400 + "\n", "type.json": '{"tp": {"a": 1}}', "binary": "\x00\x01\x02",
                 "zero": "", "script.sh": "A=xx\n" + 'A="$A$A"\n' * 64 + "x.py --num-layers 2\n", "list.yaml": "- 1\n"}
        with tempfile.TemporaryDirectory() as scratch:
            for name, content in bombs.items():
                path = os.path.join(scratch, name)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(content)
                done = run("plan", path)
                self.assertEqual(done.returncode, 2, name)
                self.assertIn(name, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(sorted(os.listdir(scratch)), sorted(bombs))

    def test_pytorch_copies_no_key_value_head(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.toml")
            with open(path, "w", encoding="utf-8") as f:
                f.write('[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 1\nseq_len = 8192\ntensor_parallel_degree = 16\n')
            report = plan(path, "--gpus", "16")
            (finding,) = [f for f in report["findings"] if f["rule"] == "configuration/heads_split"]
            self.assertEqual(finding["kind"], "error")
            self.assertIn("8 key-value heads / TP 16", finding["why"])
            self.assertIn("TP 8", finding["actions"][0]["note"])
            with open(path, "a", encoding="utf-8") as f:
                f.write("[parallelism]\ntensor_parallel_degree = 8\n")
            self.assertNotIn("configuration/heads_split", rules(plan(path, "--gpus", "16")))


class AnalyzeWithConfig(unittest.TestCase):
    def test_without_a_configuration_the_recording_tells_of_experts(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, experts in (("launch_bound", 0), ("exposed_all_to_all", 1)):
                facts = os.path.join(folder, name + ".wsdb")
                self.assertEqual(run("analyze", os.path.join(TRACES, name), "--no-what-if", "-o", facts, "--report", "json").returncode, 0)
                with sqlite3.connect(facts) as link:
                    self.assertEqual(link.execute("SELECT experts FROM fact_layout").fetchone(), (experts,))
                link.close()

    def analyze(self, story, config, *args):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "run.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(config, f)
            done = run("analyze", os.path.join(TRACES, story), "--config", path, "--no-what-if", "--report", "json", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

    def test_whole_layers_deny_a_list_of_small_modules(self):
        """The sample computes every layer again, 24 % of its step."""
        for modules, denied in ((["layernorm"], True), (["layernorm", "mlp"], False)):
            report = self.analyze("recompute", {"framework": "megatron_lm", "num_layers": 8, "recompute_granularity": "selective", "recompute_modules": modules})
            told = [a["set"] for f in report["findings"] if f["rule"] == "configuration/not_in_effect" for a in f["actions"]]
            self.assertEqual("recompute_modules" in told, denied, told)

    def test_throughput(self):
        shape = {"num_layers": 4, "hidden_size": 1024, "ffn_hidden_size": 4096, "attention_heads": 16, "vocab_size": 1000, "gated_mlp": False,
                 "seq_len": 2048, "micro_batch": 1, "global_batch": 8, "gpus": 1, "bf16": True, "framework": "pytorch"}
        report = self.analyze("healthy", shape)
        got = report["run"]["throughput"]
        step_s = report["steps"]["mean_ns"] / 1e9
        self.assertEqual(got["tokens_per_step"], 8 * 2048)
        self.assertAlmostEqual(got["tokens_per_s_per_gpu"], 8 * 2048 / step_s, delta=1e-6 * got["tokens_per_s_per_gpu"])
        # Per token 6 x matrix weights, and 6 x heads x width x sequence for causal attention.
        weights = 4 * (4 * 1024 ** 2 + 2 * 1024 * 4096) + 1000 * 1024
        flops = 6 * weights + 4 * 6 * 1024 * 2048
        self.assertAlmostEqual(got["tflops_per_gpu"], got["tokens_per_s_per_gpu"] * flops / 1e12, delta=1e-6 * got["tflops_per_gpu"])
        self.assertEqual(got["peak_precision"], "bf16")
        self.assertAlmostEqual(got["mfu"], got["tflops_per_gpu"] / got["peak_tflops"], places=9)
        self.assertNotIn("throughput", self.analyze("healthy", {"tp": 1})["run"])

    def test_contradictions(self):
        report = self.analyze("exposed_all_to_all", {"framework": "megatron_lm", "moe_token_dispatcher_type": "flex", "moe_flex_dispatcher_backend": "hybridep", "ep": 4})
        self.assertIn("configuration/dispatcher_fell_back", rules(report))
        self.assertTrue(any(n["code"] == "config_contradicted" and "hybridep" in n["text"] for n in report["notes"]))
        self.assertEqual(report["run"]["config"]["moe_token_dispatcher_type"], "alltoall")
        graphs = self.analyze("launch_bound", {"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["attn"]})
        self.assertIn("configuration/graphs_not_running", rules(graphs))

    def test_what_the_recording_denies_is_told_once_and_not_in_use(self):
        report = self.analyze("data_parallel_tail", {"framework": "megatron_lm", "dp": 2, "use_distributed_optimizer": True, "num_workers": 0})
        fired = [f for f in report["findings"] if f["status"] == "fires"]
        self.assertEqual((fired[0]["rule"], fired[0]["phase"], fired[0]["wall"]), ("configuration/not_in_effect", "data", None))
        self.assertEqual([a["set"] for a in fired[0]["actions"]], ["use_distributed_optimizer", "num_workers", "run configuration"])
        self.assertFalse([n for n in report["notes"] if n["code"] == "config_contradicted"])
        settings = [a["set"] for f in fired[1:] for a in f["actions"]]
        self.assertIn("--overlap-grad-reduce", settings)
        self.assertFalse([s for s in settings if "--overlap-param-gather" in s], "there are no gathers")
        self.assertNotIn("configuration/no_loader_workers", rules(report))
        # The type of the GEMMs is one of them, and what is off in the file and on is another.
        for sample, config, told in (("healthy", {"mixed_precision": "float32"}, ["precision"]), ("recompute", {"recompute_granularity": "none"}, ["recompute_granularity"]),
                                     ("recompute", {"recompute_granularity": "full"}, []), ("healthy", {"recompute_granularity": "none", "cuda_graph_impl": "none"}, [])):
            other = self.analyze(sample, dict(config, framework="pytorch"))
            denied = [f for f in other["findings"] if f["rule"] == "configuration/not_in_effect" and f["status"] == "fires"]
            self.assertEqual([a["set"] for f in denied for a in f["actions"][:-1]], told)
            self.assertFalse([n for n in other["notes"] if n["code"] == "config_contradicted"])
        platform = self.analyze("healthy", {"platform": "a100"})
        self.assertTrue(any("platform: the configuration says a100, the recording shows NVIDIA H100" in n["text"] for n in platform["notes"]))

    def test_a_configuration_of_another_run_is_told_first(self):
        report = self.analyze("exposed_all_to_all", {"framework": "megatron_lm", "tp": 2, "ep": 4, "gpus": 4})
        fired = [f for f in report["findings"] if f["status"] == "fires"]
        self.assertEqual(fired[0]["title"], "this is not the configuration of the recorded run")
        self.assertIn("no multiple of ETP x EP x PP (4 GPUs / (ETP 2 x EP 4 x PP 1 = 8) = 0.5)", fired[0]["why"])
        self.assertIn("The nearest that add up: 8 GPUs; ETP 1 (DP 2, EDP 1) or TP 1 (DP 4, EDP 1).", fired[0]["why"])
        # Where the ranks are is told by the recording alone; nothing else of the layout is said.
        self.assertEqual([f["rule"] for f in fired if "multiple" in f["title"] or f["phase"] == "scale"], ["communication/ep_placement"])
        # Settings that stop the job were not those of the run, and neither need the others of the file be.
        settings = {"framework": "megatron_lm", "ep": 4, "num_experts": 64, "moe_router_dtype": "bf16"}
        said = [[r for r in rules(self.analyze("exposed_all_to_all", dict(settings, **more))) if r.startswith("configuration/")] for more in ({}, {"tp": 2, "gpus": 4})]
        self.assertIn("configuration/router_precision", said[0])
        self.assertEqual(len(said[1]), 1, said[1])
        # Nor do they gate or shape what the recording asks for: the other findings are those of the recording alone.
        stops = dict(settings, gpus=4, moe_token_dispatcher_type="alltoall", overlap_moe_expert_parallel_comm=True, fp8_format="hybrid", recompute_granularity="full",
                     recompute_method="uniform", recompute_num_layers=1, cuda_graph_impl="transformer_engine", moe_grouped_gemm=False, micro_batch=1, global_batch=3)
        done = run("analyze", os.path.join(TRACES, "exposed_all_to_all"), "--no-what-if", "--framework", "megatron-lm", "--report", "json")
        alone = [(f["rule"], f["status"], f["actions"]) for f in json.loads(done.stdout)["findings"] if not f["rule"].startswith("configuration/")]
        beside = self.analyze("exposed_all_to_all", stops)["findings"]
        self.assertEqual(beside[0]["title"], "this is not the configuration of the recorded run")
        self.assertEqual([(f["rule"], f["status"], f["actions"]) for f in beside if not f["rule"].startswith("configuration/")], alone)
        # Sizes that make no grid of the GPUs recorded: nothing of such a file fires or is rated either.
        for sizes, told in (({"tp": 8, "ep": 4}, "TP x CP x PP 8 against 4 GPUs"), ({"pp": 3, "gpus": 4}, "TP x CP x PP 3 against 4 GPUs"),
                            ({"ep": 4, "etp": 3, "gpus": 8}, "ETP x EP x PP 12 for 8 GPUs against a job that started")):
            unfit = self.analyze("exposed_all_to_all", {"framework": "megatron_lm", "moe_router_dtype": "bf16", "fp8_format": "hybrid", "manual_gc": True,
                                                        "cuda_graph_impl": "transformer_engine", "overlap_grad_reduce": False, "num_workers": 0,
                                                        "seq_len": 1024, "micro_batch": 1, "global_batch": 16, **sizes})
            self.assertIn(told, [f for f in unfit["findings"] if f["status"] == "fires"][0]["evidence"]["cfg.contradicted"])
            self.assertEqual([r for r in rules(unfit) if r.startswith("configuration/")], ["configuration/another_run"])
            self.assertNotIn("throughput", unfit["run"])
            self.assertEqual(set(unfit["run"].get("config", {})) & {"fp8_format", "num_workers", "global_batch", "manual_gc"}, set())
        shape = {"framework": "megatron_lm", "num_layers": 2, "hidden_size": 512, "ffn_hidden_size": 1024, "attention_heads": 8, "vocab_size": 1000,
                 "seq_len": 1024, "micro_batch": 1, "global_batch": 16, "bf16": True}
        self.assertIn("throughput", self.analyze("exposed_all_to_all", dict(shape, ep=4, gpus=4))["run"])
        other = self.analyze("exposed_all_to_all", dict(shape, ep=8, gpus=8))
        self.assertNotIn("throughput", other["run"])
        told = [f for f in other["findings"] if f["status"] == "fires"][0]
        self.assertEqual((told["rule"], told["phase"]), ("configuration/another_run", "data"))
        self.assertEqual(told["evidence"], {"cfg.contradicted": "ETP x EP x PP 8 against 4 GPUs, ep 8 against 4, gpus 8 against 4"})
        # Nothing fires from another run's settings, and none of them is shown as this run's.
        silent = self.analyze("exposed_all_to_all", dict(shape, ep=8, fp8_format="hybrid", cuda_graph_impl="transformer_engine", moe_router_dtype="bf16"))
        self.assertEqual(set(rules(silent)) & {"configuration/not_in_effect", "configuration/graphs_not_running", "configuration/router_precision"}, set())
        self.assertNotIn("num_layers", silent["run"]["config"])
        # Another number of GPUs alone: the settings may be this run's, its rate is not known.
        scaled = self.analyze("exposed_all_to_all", dict(shape, ep=4, gpus=64, global_batch=64))
        self.assertNotIn("throughput", scaled["run"])
        self.assertNotIn("this is not", json.dumps(scaled["findings"]))
        self.assertTrue(any(n["code"] == "config_contradicted" and "gpus: the configuration says 64, the recording shows 4" in n["text"] for n in scaled["notes"]))
        fits = self.analyze("exposed_all_to_all", {"framework": "megatron_lm", "tp": 1, "ep": 4, "gpus": 4})
        self.assertNotIn("this is not", json.dumps(fits["findings"]))

    def test_a_configuration_of_another_framework_is_told_first(self):
        with gzip.open(glob.glob(os.path.join(TRACES, "dataloader", "*.json.gz"))[0], "rt", encoding="utf-8") as f:
            trace = json.load(f)
        names = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
        at = next(e for e in trace["traceEvents"] if e.get("cat") == "cpu_op")
        with tempfile.TemporaryDirectory() as folder:
            def analyze(extra, *config):
                path = os.path.join(folder, "rank0.json")
                events = trace["traceEvents"] + [dict(at, name=name) for name in extra]
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(dict(trace, traceEvents=events), f)
                done = run("analyze", path, "--no-what-if", *config, "--report", "json")
                self.assertEqual(done.returncode, 0, done.stderr)
                return json.loads(done.stdout)

            self.assertTrue(names)
            path = os.path.join(folder, "megatron.json")  # no sizes: the sample has no time for those of a real model
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"framework": "megatron_lm", "ep": 8, "num_experts": 8, "moe_grouped_gemm": True, "bf16": True}, f)
            mixtral = ("--config", path)
            path = os.path.join(folder, "titan.toml")  # no batch either: with the model of the sample it would be too much work
            with open(path, "w", encoding="utf-8") as f:
                f.write("[parallelism]\ntensor_parallel_degree = 1\n[compile]\nenable = false\n")
            titan = ("--config", path)
            image = ["aten::cudnn_batch_norm"]  # the sample has attention: no image network
            tables = ["aten::_embedding_bag"]
            alone, other = analyze(tables), analyze(tables, *mixtral)
            fired = [f for f in other["findings"] if f["status"] == "fires"]
            self.assertEqual((fired[0]["rule"], fired[0]["phase"]), ("configuration/another_run", "data"))
            self.assertIn("framework Megatron-LM against PyTorch (embedding bags)", fired[0]["evidence"]["cfg.contradicted"])
            # The rest is what the recording alone gives.
            self.assertEqual([(f["rule"], f["actions"]) for f in fired[1:]], [(f["rule"], f["actions"]) for f in alone["findings"] if f["status"] == "fires"])
            self.assertEqual({k: v for k, v in other["run"]["config"].items() if k != "given"}, alone["run"]["config"])
            # The command line is no better: the recording counts, and a note says so.
            stated = analyze(tables, "--framework", "megatron-lm", "--framework-version", "0.16")
            self.assertTrue(any("framework: the command line says Megatron-LM, the recording shows PyTorch (embedding bags)" in n["text"] for n in stated["notes"]))
            self.assertEqual([(f["rule"], f["actions"]) for f in stated["findings"]], [(f["rule"], f["actions"]) for f in alone["findings"]])
            self.assertFalse([n for n in analyze([], "--framework", "megatron-lm")["notes"] if n["code"] == "config_contradicted"])
            for extra, config in (([], mixtral), (image, mixtral), (["DistributedDataParallel.forward"], titan),
                                  (["LinearWithGradAccumulationAndAsyncCommunication", "DistributedDataParallel.forward"], mixtral)):
                self.assertNotIn("configuration/another_run", rules(analyze(extra, *config)), extra)
            self.assertIn("configuration/another_run", rules(analyze(["DistributedDataParallel.forward"], *mixtral)))
            self.assertIn("configuration/another_run", rules(analyze(["megatron/training/training.py(1): train"], *titan)))

    def test_what_a_file_lacks_is_named_by_its_key(self):
        with tempfile.TemporaryDirectory() as folder:
            facts, path = os.path.join(folder, "run.wsdb"), os.path.join(folder, "run.sh")
            with open(path, "w", encoding="utf-8") as f:
                f.write("python pretrain_gpt.py $MORE --num-layers 8 --micro-batch-size 1 --tensor-model-parallel-size 1\n")
            for config, told in (([], "--config FILE"), (["--config", path], "add --")):
                self.assertEqual(run("analyze", os.path.join(TRACES, "launch_bound"), *config, "--no-what-if", "-o", facts).returncode, 0)
                shown = " ".join(run("explain", facts, "--all").stdout.split())
                ways = [part.split(")")[0] for part in shown.split("of the run configuration: ")[1:]]
                self.assertTrue(ways)
                self.assertTrue(any(way.startswith(told) for way in ways), ways[:3])
                self.assertEqual("--config FILE" in shown, not config, ways[:3])

    def test_advice_on_recording_is_for_the_profiler_of_the_recording(self):
        with gzip.open(glob.glob(os.path.join(TRACES, "no_steps", "*.json.gz"))[0], "rt", encoding="utf-8") as f:
            text = f.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rank0.json")

            def report(words):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(words)
                return run("analyze", path, "--no-what-if").stdout

            torch, amd = report(text), report(text.replace("cudaLaunchKernel", "hipLaunchKernel").replace("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"))
            self.assertLess(torch.index("prof.step()"), torch.index("nsys"))
            self.assertIn("AMD Instinct MI300X", amd)
            self.assertIn("prof.step()", amd)
            self.assertNotIn("nsys", amd)

    def test_more_than_the_peak_is_no_rate(self):
        config = {"framework": "megatron_lm", "model": "llama31_405b", "bf16": True, "gpus": 2, "micro_batch": 1, "global_batch": 100000, "seq_len": 8192}
        report = self.analyze("data_parallel_tail", config)
        self.assertNotIn("throughput", report["run"])  # tokens per second rest on the same keys
        self.assertTrue(any(n["code"] == "rate_withheld" for n in report["notes"]))
        told = [f for f in report["findings"] if f["status"] == "fires"][0]
        self.assertEqual((told["rule"], told["phase"]), ("configuration/another_run", "data"))
        self.assertRegex(told["evidence"]["cfg.contradicted"], r"work of a step \d+ TFLOP per GPU against .* of GEMM and attention kernels")
        self.assertFalse([n for n in report["notes"] if n["code"] == "config_contradicted"], "it is told once")
        self.assertNotIn("num_layers", report["run"]["config"])
        # Nor is a time that is none of a step.
        window = self.analyze("healthy", {**config, "gpus": 1, "global_batch": 1, "micro_batch": 1}, "--step-window", "whole")
        self.assertNotIn("throughput", window["run"])
        self.assertTrue(any(n["code"] == "rate_withheld" and "mark the steps" in n["text"] for n in window["notes"]))

    def test_a_gpu_that_never_communicates_is_no_rank_of_many(self):
        told = [f for f in self.analyze("healthy", {"framework": "megatron_lm", "tp": 8, "pp": 4})["findings"] if f["status"] == "fires"][0]
        self.assertEqual(told["rule"], "configuration/another_run")
        self.assertIn("tp 8 against one GPU that never communicates", told["evidence"]["cfg.contradicted"])
        dry = self.analyze("healthy", {"framework": "megatron_lm", "tp": 8, "pp": 4, "fake_process_group": True})
        self.assertNotIn("configuration/another_run", rules(dry))

    def test_what_was_given_is_not_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"gpus": 1, "micro_batch": 1}, f)
            story = os.path.join(TRACES, "exposed_all_to_all")
            for more, told, not_told in (([], "--framework NAME or --config FILE leaves yours", "`framework`"), (["--config", path], "--framework NAME or `framework` in the file of --config leaves yours", "FILE")):
                out = " ".join(run("analyze", story, *more, "--no-what-if").stdout.split())
                self.assertIn("settings of each; " + told, out)
                self.assertNotIn(not_told, out.split("DO NEXT")[1].split(" 1 ")[0])
                self.assertNotIn("give the run configuration", out)

    def test_what_the_recording_denies_is_not_among_the_assumed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"framework": "megatron_lm", "ep": 4, "gpus": 64}, f)
            out = " ".join(run("analyze", os.path.join(TRACES, "exposed_all_to_all"), "--config", path, "--no-what-if").stdout.split())
        self.assertIn("gpus: the configuration says 64, the recording shows 4", out)
        self.assertNotIn("GPUs 64", out)

    def test_a_configuration_for_another_gpu_gives_no_rate(self):
        shape = {"framework": "megatron_lm", "num_layers": 2, "hidden_size": 512, "ffn_hidden_size": 1024, "attention_heads": 8, "vocab_size": 1000,
                 "seq_len": 1024, "micro_batch": 1, "global_batch": 16, "bf16": True, "ep": 4, "gpus": 4}
        self.assertIn("throughput", self.analyze("exposed_all_to_all", shape)["run"])
        report = self.analyze("exposed_all_to_all", dict(shape, platform="a100"))
        self.assertNotIn("throughput", report["run"])
        self.assertTrue(any(n["code"] == "rate_withheld" and "for a100, the recording is of" in n["text"] for n in report["notes"]))

    def test_what_is_set_already_is_not_set_again(self):
        config = {"framework": "megatron_lm", "use_distributed_optimizer": True, "overlap_grad_reduce": True, "overlap_param_gather": True,
                  "fp8_format": "hybrid", "fp8_recipe": "tensorwise", "num_workers": 16, "manual_gc": True, "manual_gc_interval": 50}
        for sample in sorted(n for n in os.listdir(TRACES) if os.path.isdir(os.path.join(TRACES, n))):
            for finding in self.analyze(sample, config)["findings"]:
                for action in finding["actions"]:
                    self.assertNotEqual(action["set"], "", finding["rule"])
                if finding["status"] == "fires" and finding["rule"].split("/")[0] != "configuration":
                    words = " ".join(a["set"] + " " + a["to"] + " " for a in finding["actions"] if a["framework"] == "megatron_lm")
                    for used in ("--overlap-grad-reduce ", "--fp8-format hybrid", "--num-workers 8", "--manual-gc-interval 50"):
                        self.assertNotIn(used, words, finding["rule"])

    def test_levers_in_use_are_not_advised(self):
        plain = self.analyze("exposed_all_to_all", {"ep": 4, "moe_token_dispatcher_type": "alltoall"})
        self.assertIn("communication/ep_overlap_small_group", rules(plain))
        used = self.analyze("exposed_all_to_all", {"ep": 4, "moe_token_dispatcher_type": "alltoall", "overlap_moe_expert_parallel_comm": True})
        self.assertNotIn("communication/ep_overlap_small_group", rules(used))

    def test_what_forbids_a_lever_is_undone_first(self):
        report = self.analyze("exposed_all_to_all", {"ep": 4, "moe_token_dispatcher_type": "alltoall", "recompute_granularity": "selective",
                                                     "recompute_modules": ["moe", "layernorm"]})
        order = rules(report)
        self.assertLess(order.index("configuration/recompute_whole_moe"), order.index("communication/ep_overlap_small_group"))
        full = rules(self.analyze("exposed_all_to_all", {"ep": 4, "moe_token_dispatcher_type": "alltoall", "recompute_granularity": "full"}))
        self.assertLess(full.index("configuration/not_in_effect"), full.index("communication/ep_overlap_small_group"))
        # Where the recording has it, it is a cost; where it would show and does not, none.
        self.assertNotIn("configuration/full_recompute", full)

    def test_spelling_follows_the_release(self):
        def flags(version):
            report = self.analyze("launch_bound", dict({"framework": "megatron_lm"}, **({"framework_version": version} if version else {})))
            return " ".join(a["set"] + " " + a["note"] for f in report["findings"] for a in f["actions"] if a["framework"] == "megatron_lm")
        self.assertIn("--cuda-graph-scope", flags("0.16"))
        self.assertIn("--cuda-graph-modules", flags("0.18"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
