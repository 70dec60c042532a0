"""What recording cost is measured, kept and said."""
import subprocess

from harness import WALLSIGHT, WORKLOAD, Recorder, clean_environment


class Cost(Recorder):
    def test_step_times_with_and_without_recording(self):
        # The workload takes a millisecond more for each step while CUPTI has a subscriber.
        ran = self.record(WORKLOAD, "loop", 900, options=["--steps", "300:499"], env={"WORKLOAD_SLOW_WHEN_RECORDED": 1})
        self.assertEqual(ran.returncode, 3, ran.stderr)
        report = self.analyze()
        cost = report["run"]["recorder"]
        self.assertGreater(cost["recorded_step_ns"], cost["bare_step_ns"] + 700_000)
        self.assertAlmostEqual(cost["slowdown_share"], cost["recorded_step_ns"] / cost["bare_step_ns"] - 1)
        self.assertGreater(cost["writer_share"], 0)
        self.assertLess(cost["writer_share"], 0.9)
        facts = self.folder / "run.wsdb"
        for form, word in (("text", "  recording  steps took"), ("md", "- recording: steps took")):
            ran = subprocess.run([WALLSIGHT, "analyze", self.out, "-o", facts, "--report", form], capture_output=True, text=True,
                                 env=clean_environment())
            self.assertIn(word, ran.stdout)
            self.assertIn("% of a core", ran.stdout)

    def test_a_named_step_range_measures_beside_a_window_of_time(self):
        self.record(WORKLOAD, "loop", 900, options=["--delay", "300ms", "--duration", "300ms", "--step-range", "iteration"])
        self.assertGreater(self.analyze()["run"]["recorder"]["bare_step_ns"], 100_000)

    def test_where_a_window_opens_at_once_the_steps_behind_it_are_compared(self):
        self.record(WORKLOAD, "loop", 900, options=["--steps", "2:199"])
        self.assertGreater(self.analyze()["run"]["recorder"]["bare_step_ns"], 100_000)

    def test_without_a_window_nothing_is_compared(self):
        self.record(WORKLOAD, "loop", 100)
        cost = self.analyze()["run"]["recorder"]
        self.assertEqual((cost["slowdown_share"], cost["bare_step_ns"]), (None, None))
        self.assertGreater(cost["writer_share"], 0)

    def test_overhead_records_of_cupti(self):
        def more(lines):
            return lines + "O\t2000000\t2100000\t65536\t0\nO\t2300000\t2350000\t131072\t0\n"
        report = self.play("healthy", script=more)
        window = report["run"]["recorder"]
        self.assertGreater(window["tool_share"], 0)
        plain = self.folder / "plain"
        self.out = plain
        self.assertEqual(self.play("healthy")["run"]["recorder"]["tool_share"], 0)
