"""A recording larger than its cap: several files, the oldest removed, read as one rank."""
import random
import subprocess

from harness import WALLSIGHT, WORKLOAD, Recorder, clean_environment, frames_of


class Segments(Recorder):
    def flood(self, kernels, cap_mb, steps=60):
        """Many kernels inside marked steps, in order of time; returns how many stand in a step."""
        each, noise = kernels // steps, random.Random(5)  # what repeats compresses too well
        lines = []
        for step in range(steps):
            begin = 1_000_000 + step * (each * 100_000 + 5000)
            lines.append(f"R\t{begin}\t{begin + each * 100_000 + 4000}\t1\titeration\t\t0\t-1")
            for i in range(each):
                at = begin + 1000 + i * 100_000 + noise.randrange(30_000)
                lines.append(f"K\t{at}\t{at + 500 + noise.randrange(65_536)}\t0\t1\t7\t{step * each + i + 1}\t0\t0\tgemm")
        script = self.folder / "flood.txt"
        script.write_text("\n".join(lines) + "\n")
        ran = self.record(WORKLOAD, "play", script, options=["--max-file-mb", cap_mb, "--max-memory-mb", 512])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return each

    def test_below_the_cap_several_files_are_one_rank(self):
        each = self.flood(240_000, 4)
        files = self.files()
        self.assertGreater(len(files), 1)
        report = self.analyze(options=["--step-window", "host"])
        self.assertEqual((self.steps(report), report["run"]["ranks"], len(report["run"]["sources"])), (60, 1, 1))
        self.assertEqual(sum(k["count"] for k in report["kernels"]), each * 60 - (60 - report["steps"]["steady"]) * each)
        for code in ("recording_rotated", "records_lost", "recording_unfinished", "file_skipped"):
            self.assertNotIn(code, self.notes(report))
        # The first file stands for all, and one file more in the list changes nothing.
        first = min(files, key=lambda f: len(f.name))
        self.assertEqual(self.analyze(first, options=["--step-window", "host"])["kernels"], report["kernels"])
        self.assertEqual(self.analyze(*files, options=["--step-window", "host"])["kernels"], report["kernels"])

    def test_above_the_cap_the_oldest_go_and_are_counted(self):
        self.flood(240_000, 1)
        files = self.files()
        self.assertLessEqual(sum(f.stat().st_size for f in files), 1 << 20)
        self.assertGreater(len(files), 2)
        numbers = sorted(int(f.name.split(".")[4]) for f in files)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        sequence = [n for f in sorted(files, key=lambda f: int(f.name.split(".")[4])) for n in frames_of(f)[0]]
        self.assertEqual(sequence, list(range(sequence[0], sequence[0] + len(sequence))))
        report = self.analyze(options=["--step-window", "whole"])
        notes = self.notes(report)
        kept = sum(k["count"] for k in report["kernels"])
        # 60 ranges stand beside the kernels.
        self.assertAlmostEqual(notes["recording_rotated"]["count"] + kept, 240_000, delta=60)
        self.assertGreater(kept, 10_000)
        self.assertNotIn("records_lost", notes)

    def test_a_part_that_is_gone_or_of_another_process_is_said(self):
        self.flood(240_000, 4)
        files = sorted(self.files(), key=lambda f: len(f.name) * 1000 + int((f.name.split(".")[4:-1] or [0])[0]))
        first, second = files[:2]
        kept = second.read_bytes()
        second.unlink()
        self.assertIn("records_lost", self.notes(self.analyze(options=["--step-window", "whole"])))
        self.out = self.folder / "other"
        self.flood(2_000, 4)
        (stranger,) = self.files()
        second.write_bytes(stranger.read_bytes())
        notes = self.notes(self.analyze(first, options=["--step-window", "whole"]))
        self.assertIn(second.name, str(notes["file_skipped"]))
        second.write_bytes(kept)
        self.assertNotIn("records_lost", self.notes(self.analyze(first, options=["--step-window", "whole"])))

    def test_an_output_may_not_be_a_later_part(self):
        self.flood(240_000, 4)
        later = max(self.files(), key=lambda f: len(f.name))
        ran = subprocess.run([WALLSIGHT, "analyze", self.out, "--report", f"json={later}"], capture_output=True, text=True,
                             env=clean_environment())
        self.assertEqual(ran.returncode, 3, ran.stderr)
