"""Steps that nothing marks: `--steps` by the pattern of what NCCL is asked for."""
import re

from harness import WORKLOAD, Recorder, decoded


class Pattern(Recorder):
    def train(self, *arguments, steps, options=()):
        ran = self.record(WORKLOAD, "train", *arguments, options=["--steps", steps, *options])
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{arguments[0]} steps\n"), ran.stderr)
        (path,) = self.files()
        text = decoded(path)
        copies = [int(n) for block in re.findall(r"^copies \{.*?^\}", text, re.M | re.S) for n in re.findall(r"^  bytes: (\d+)", block, re.M)]
        said = [t for block in re.findall(r"^messages \{.*?^\}", text, re.M | re.S) for t in re.findall(r'text: "(.*)"', block)]
        return ran, copies, said, text.count("windows {")

    def test_the_chosen_repeats_are_recorded(self):
        # 20 ms a step: sure behind a hundred of them.
        ran, copies, said, windows = self.train(240, 10, 2000, 2000, steps="150:169")
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        # The copy stands at the begin of a step, the pattern ends before it.
        self.assertEqual(copies[:20], list(range(150, 170)))
        self.assertLess(len(copies), 30)  # ending takes a moment
        self.assertEqual(windows, 1)
        self.assertRegex(said[0], r"^steps are repeats of a pattern of 12 NCCL operations \(\d+ us\): recorded 150:169$")
        report = self.analyze()
        self.assertGreaterEqual(self.steps(report), 17)
        self.assertGreater(report["run"]["recorder"]["bare_step_ns"], 15_000_000)

    def test_where_they_had_passed_as_many_later_ones_are(self):
        ran, copies, said, windows = self.train(200, 10, 2000, 2000, steps="3:12")
        first = copies[0]
        self.assertGreater(first, 12)
        self.assertEqual(copies[:10], list(range(first, first + 10)))
        self.assertLess(len(copies), 20)
        self.assertIn(f"recorded {first}:{first + 9}, as those chosen had passed", said[0])

    def test_layers_of_a_slow_first_step_are_recorded_and_thrown_away(self):
        ran, copies, said, windows = self.train(60, 120, 25_000, 500, steps="45:52")
        self.assertEqual(copies[:8], list(range(45, 53)))
        self.assertEqual(windows, 1)
        self.assertIn("a window was thrown away", said[0])
        self.assertIn("a pattern of 122 NCCL operations", said[1])
        self.assertGreaterEqual(self.steps(self.analyze()), 5)

    def test_what_lies_inside_a_step_is_not_called_steps(self):
        ran, copies, said, windows = self.train(6, 120, 25_000, 500, steps="80:89")
        self.assertEqual((copies, windows), ([], 1))
        self.assertIn("lies inside a step", said[1])
        self.assertIn("steps 80:89 were not recorded", said[2])
        self.assertIn("steps 80:89 were not recorded", ran.stderr)
        report = self.analyze()
        self.assertEqual(report["steps"]["origin"], "whole")
        self.assertIn("steps_unknown", self.notes(report))

    def test_without_a_pattern_nothing_is_recorded_and_that_is_said(self):
        ran, copies, said, windows = self.train(100, 4, 500, 500, "noise", steps="20:29")
        self.assertEqual((copies, windows), ([], 0))
        self.assertIn("had no repeating pattern", said[0])
        self.assertIn("had no repeating pattern", ran.stderr)
        self.assertIn("recorder_message", self.notes(self.analyze()))

    def test_a_range_that_comes_or_is_named_is_what_counts(self):
        for options, command in ((("--steps", "20:29", "--step-range", "epoch"), ("train", 60, 4, 500, 500)),):
            ran = self.record(WORKLOAD, *command, options=options)
            self.assertIn("fewer of the step range began", ran.stderr)
        self.out = self.folder / "ranges"
        ran = self.record(WORKLOAD, "loop", 400, options=["--steps", "50:99"])
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertNotIn("pattern", decoded(self.files()[0]))

    def test_no_call_of_nccl_and_no_range(self):
        script = self.folder / "script.txt"
        script.write_text("A\t1500\t2500\t1\t9\tcudaLaunchKernel_v7000\n")
        ran = self.record(WORKLOAD, "play", script, options=["--steps", "20:29"], env={"RANK": 0})
        self.assertIn("no range `iteration` began and NCCL was asked for nothing", ran.stderr)
        self.out = self.folder / "other"
        ran = self.record(WORKLOAD, "play", script, options=["--steps", "20:29"], env={"RANK": 1})
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)  # one rank says it
