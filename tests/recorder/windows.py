"""Which part of a run is recorded, and of which ranks."""
from harness import WORKLOAD, Recorder


class Windows(Recorder):
    def test_duration(self):
        ran = self.record(WORKLOAD, "loop", 600, options=["--duration", "200ms"])
        self.assertEqual(ran.returncode, 3)
        steps = self.steps(self.analyze())
        self.assertGreater(steps, 5)
        self.assertLess(steps, 500)

    def test_delay(self):
        self.record(WORKLOAD, "loop", 600, options=["--delay", "200ms"])
        steps = self.steps(self.analyze())
        self.assertGreater(steps, 5)
        self.assertLess(steps, 560)

    def test_a_job_that_ends_before_the_delay_leaves_no_file(self):
        ran = self.record(WORKLOAD, "loop", 5, options=["--delay", "60s"])
        self.assertEqual((ran.returncode, ran.stdout), (3, "5 steps\n"))
        self.assertEqual(self.files(), [])

    def test_ranks(self):
        for rank in range(4):
            self.record(WORKLOAD, "loop", 5, options=["--ranks", "0,2-3"], env={"RANK": rank})
        self.assertEqual([f.name.split(".")[1] for f in self.files()], ["0", "2", "3"])

    def test_steps_leave_the_warm_up_out(self):
        ran = self.record(WORKLOAD, "loop", 800, options=["--steps", "200:599"])
        self.assertEqual(ran.returncode, 3)
        report = self.analyze()
        # Arming takes a moment, longer on a busy machine, and so does ending: never before the first.
        self.assertGreaterEqual(self.steps(report), 20)
        self.assertLess(self.steps(report), 600)

    def test_numbered_step_ranges(self):
        report = self.play("launch_bound", options=["--steps", "1:1000", "--step-range", "iteration"])
        self.assertLessEqual(self.steps(report), 6)
