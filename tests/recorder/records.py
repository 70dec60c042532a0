"""Every kind of record that CUPTI gives stands in the file as it was told, in the layout of every version."""
from harness import WORKLOAD, Recorder, decoded

SCRIPT = [
    "R\t1000\t90000\t1\titeration\t\t0\t-1",
    "K\t2000\t2100\t1\t3\t7\t41\t0\t0\tgemm",
    "C\t3000\t3200\t4096\t1\t1\t3\t1\t3\t8\t42",    # host to device
    "C\t4000\t4300\t8192\t10\t3\t3\t1\t3\t9\t55",   # between devices: a record of another layout
    "F\t5000\t5400\t64\t1\t3\t7\t43",
    "A\t6000\t6500\t77\t41\tcudaLaunchKernel_v7000",
    "S\t7000\t7600\t3\t7\t4294967295\t44",
    "O\t8000\t8700\t65536\t77",
    "M\t9000\t123456\t1\t1",
    "M\t9500\t3456\t1\t0",
]
WANTED = {
    "kernels": ["duration: 100", "device: 1", "context: 3", "stream: 7", "correlation_delta: 41"],
    "copies": ["duration: 200", "bytes: 4096", "kind: 1", "source_kind: 1", "target_kind: 3", "stream: 8", "correlation_delta: 42",
               "duration: 300", "bytes: 8192", "kind: 10", "stream: 9", "correlation_delta: 13"],
    "fills": ["duration: 400", "bytes: 64", "correlation_delta: 43"],
    "calls": ["duration: 500", "tid: 77", "correlation_delta: 41"],
    "syncs": ["duration: 600", "kind: 3", "stream: 7", "event: 4294967295", "correlation_delta: 44"],
    "overheads": ["duration: 700", "kind: 65536", "tid: 77"],
    "memory_changes": ["bytes: 123456", "bytes: -3456", "device: 1"],
}


def tables(text):
    """Name of a table -> its lines, from what protoc prints."""
    out, name = {}, None
    for line in text.splitlines():
        if line.endswith(" {") and not line.startswith(" "):
            name = line[:-2]
        elif name is not None and line.startswith("  "):
            out.setdefault(name, []).append(line.strip())
    return out


class Records(Recorder):
    def test_every_kind(self):
        script = self.folder / "script.txt"
        script.write_text("\n".join(SCRIPT) + "\n")
        for version in (18, 22, 26, 130000, 140000):
            with self.subTest(version):
                self.out = self.folder / str(version)
                ran = self.record(WORKLOAD, "play", script, options=["--tier", "memory"], env={"WALLSIGHT_SIM_VERSION": version})
                self.assertEqual(ran.returncode, 0, ran.stderr)
                found = tables(decoded(self.files()[0]))
                for table, lines in WANTED.items():
                    for line in lines:
                        self.assertIn(line, found[table], table)
