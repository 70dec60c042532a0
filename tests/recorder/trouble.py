"""What a recorder meets: tools in its way, refusals, caps."""
import json
import pathlib
import shutil

from harness import SIMULATOR, WORKLOAD, Recorder


class Trouble(Recorder):
    def test_cupti_in_use_by_another_tool(self):
        ran = self.record(WORKLOAD, "loop", 20, env={"WALLSIGHT_SIM_BUSY": 1})
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("no GPU records: another tool in this process is using CUPTI", ran.stderr)
        report = self.analyze()
        self.assertIn("another tool", json.dumps(self.notes(report)["recorder_message"]))

    def test_cupti_that_refuses(self):
        ran = self.record(WORKLOAD, "loop", 20, env={"WALLSIGHT_SIM_REFUSE": 1})
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("no GPU records: activity records: ", ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 2)

    def test_a_real_libcupti_without_a_driver(self):
        real = pathlib.Path("/usr/local/cuda/lib64/libcupti.so.13")
        if not real.exists() or pathlib.Path("/dev/nvidia0").exists():
            self.skipTest("needs the toolkit, and no driver")
        script = self.folder / "empty.txt"
        script.write_text("R\t1000\t2000\t1\titeration\t\t0\t-1\n")
        # The workload loads the simulator under another name: the recorder must not find it loaded.
        hidden = self.folder / "simulator.so"
        shutil.copy(SIMULATOR, hidden)
        ran = self.record(WORKLOAD, "play", script, cupti=real, env={"WORKLOAD_SIMULATOR": hidden})
        self.assertEqual((ran.returncode, ran.stdout), (0, "played 0 records\n"), ran.stderr)
        self.assertIn("no GPU records: cuptiSubscribe: CUPTI_ERROR_UNKNOWN", ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 2)
        report = self.analyze()
        self.assertIn("cuptiSubscribe", json.dumps(self.notes(report)["recorder_message"]))
        self.assertRegex(report["run"]["sources"][0]["tool_version"], r"CUPTI 1300\d\d")

    def test_a_folder_that_goes_away(self):
        ran = self.record("sh", "-c", f"rmdir {self.out}; exec {WORKLOAD} loop 20")
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("wallsight: nothing is recorded: ", ran.stderr)

    def test_the_cap_of_a_file(self):
        ran = self.record(WORKLOAD, "loop", 300, options=["--max-file-mb", "1"])
        self.assertEqual(ran.returncode, 3)
        self.assertLessEqual(self.files()[0].stat().st_size, 1 << 20)

    def test_buffers_that_run_out_end_the_window_and_are_counted(self):
        lines = ["R\t1000\t2000\t1\titeration\t\t0\t-1"]
        for i in range(120_000):
            lines.append(f"K\t{5000 + 10 * i}\t{5005 + 10 * i}\t0\t1\t7\t{i + 1}\t0\t0\tgemm")
        script = self.folder / "flood.txt"
        script.write_text("\n".join(lines) + "\n")
        for version in (26, 130000):  # the older one must never be refused a buffer
            with self.subTest(version):
                self.out = self.folder / str(version)
                ran = self.record(WORKLOAD, "play", script, options=["--max-memory-mb", "12"],
                                  env={"WALLSIGHT_SIM_VERSION": version, "WALLSIGHT_SIM_HOLD": 1})
                self.assertEqual((ran.returncode, ran.stdout), (0, "played 120000 records\n"), ran.stderr)
                report = self.analyze(options=["--step-window", "whole"])
                kept = sum(k["count"] for k in report["kernels"])
                self.assertGreater(kept, 0)
                if kept < 120_000:
                    self.assertIn("records_lost", self.notes(report))
