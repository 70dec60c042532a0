"""A run recorded by us gives the answer of its Nsight Systems export."""
from harness import SAMPLES, WORKLOAD, Recorder


def answer(report):
    """What must not depend on who recorded. The clocks of several ranks are read to within a microsecond, so their waiting
    and transfer are compared as one."""
    rows = [{k: v for k, v in row.items() if k not in ("begin_ns", "end_ns")} for row in report["steps"]["rows"]]
    if report["run"]["ranks"] > 1:
        met = [{leaf if not leaf.startswith("comm.") else leaf.rsplit(".", 1)[0]: 0 for leaf in row["partition"]} for row in rows]
        for sums, row in zip(met, rows):
            for leaf, ns in row["partition"].items():
                sums[leaf if not leaf.startswith("comm.") else leaf.rsplit(".", 1)[0]] += ns
        return {"rows": met, "verdict": report["verdict"]["cause"], "wall": report["verdict"]["wall"], "kernels": report["kernels"],
                "idle": report["idle"], "findings": [f["rule"] for f in report["findings"]], "origin": report["steps"]["origin"]}
    return {"rows": rows, "partition": report["partition"], "losses": report["losses"], "verdict": report["verdict"],
            "collectives": report["collectives"], "idle": report["idle"], "kernels": report["kernels"],
            "findings": [f["rule"] for f in report["findings"]], "origin": report["steps"]["origin"]}


class SameAnswer(Recorder):
    maxDiff = 4000

    def test_every_sample_recorded_by_us_gives_the_answer_of_its_nsys_export(self):
        samples = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
        self.assertGreater(len(samples), 8)
        for sample in samples:
            with self.subTest(sample):
                self.out = self.folder / sample
                recorded, exported = self.play(sample), self.analyze(SAMPLES / sample)
                self.assertEqual(answer(recorded), answer(exported))
                self.assertEqual({s["format"] for s in recorded["run"]["sources"]}, {"wallsight-recording"})
                self.assertEqual(recorded["run"]["gpu"], exported["run"]["gpu"])
                self.assertNotIn("records_lost", self.notes(recorded))

    def test_layouts_of_all_versions_and_of_one_to_come(self):
        exported = answer(self.analyze(SAMPLES / "launch_bound"))
        for version in (18, 19, 20, 22, 24, 26, 28, 130000, 130001, 140000):
            with self.subTest(version):
                self.out = self.folder / str(version)
                report = self.play("launch_bound", env={"WALLSIGHT_SIM_VERSION": version})
                self.assertEqual(answer(report), exported)
                self.assertIn(f"CUPTI {version}", report["run"]["sources"][0]["tool_version"])

    def test_buffers_that_come_only_when_forced(self):
        exported = answer(self.analyze(SAMPLES / "host_sync"))
        self.assertEqual(answer(self.play("host_sync", env={"WALLSIGHT_SIM_HOLD": 1})), exported)

    def test_without_a_clock_callback_times_are_moved_to_ours(self):
        ran = self.record(WORKLOAD, "loop", 200, env={"WALLSIGHT_SIM_NO_CLOCK": 1})
        self.assertEqual(ran.returncode, 3)
        report = self.analyze(options=["--step-window", "host"])
        self.assertEqual(self.steps(report), 200)
        busy = [row["partition"].get("gemm", 0) for row in report["steps"]["rows"]]
        self.assertEqual(sorted(busy)[100], 10 * 20_000)  # ten kernels of 20 us in each step

    def test_graphs_waits_overhead_and_records_without_times(self):
        def more(lines):
            return lines + ("K\t0\t0\t0\t1\t7\t999001\t0\t0\tlost\n" * 3 + "F\t2000000\t2000100\t64\t0\t1\t7\t999002\n"
                            "S\t2000000\t2000100\t3\t7\t4294967295\t999003\nO\t2000000\t2000100\t65536\t0\n")
        report = self.play("healthy", script=more)
        self.assertEqual(self.notes(report)["zero_timestamp"]["count"], 3)
