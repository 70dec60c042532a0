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

    def test_graphs_by_node_or_as_a_whole(self):
        lines = ["R\t1000\t90000\t1\titeration\t\t0\t-1", "A\t1500\t2500\t1\t9\tcudaGraphLaunch_v10000",
                 "G\t3000\t9000\t5\t0\t1\t7\t9"]
        lines += [f"K\t{3000 + 2000 * i}\t{4500 + 2000 * i}\t0\t1\t7\t9\t5\t{i + 1}\tgemm" for i in range(3)]
        script = self.folder / "graphs.txt"
        script.write_text("\n".join(lines) + "\n")
        for graphs, kernels, whole in (("node", 3, False), ("graph", 0, True)):
            with self.subTest(graphs):
                self.out = self.folder / graphs
                self.assertEqual(self.record(WORKLOAD, "play", script, options=["--graphs", graphs]).returncode, 0)
                report = self.analyze(options=["--step-window", "whole"])
                self.assertEqual(sum(k["count"] for k in report["kernels"] if k["name"] == "gemm"), kernels)
                self.assertEqual("graph_level_trace" in self.notes(report), whole)
                self.assertEqual(report["steps"]["rows"][0]["end_ns"] - report["steps"]["rows"][0]["begin_ns"], 6000 if whole else 5500)

    def test_numbered_step_ranges(self):
        report = self.play("launch_bound", options=["--steps", "1:1000", "--step-range", "iteration"])
        self.assertLessEqual(self.steps(report), 6)
