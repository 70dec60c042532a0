"""Runs the program under test and reads its JSON report."""
import json
import os
import subprocess
import tempfile
import time
from collections import namedtuple

Run = namedtuple("Run", "code out err seconds peak_mb")
# Of the inputs that the plain build runs whole, the sanitized one, seven times as slow, runs every fourth.
EVERY = int(os.environ.get("WALLSIGHT_TEST_EVERY", "1"))
COMPUTE = ("gemm", "attention", "membound", "compute_other", "recompute")


def share(inputs):
    return list(inputs)[::EVERY]


def run(command, limit_s=60):
    """One run, stopped after limit_s (code -9 then)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        usage, status = None, None
        while time.monotonic() - began < limit_s:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.002)
        else:
            child.kill()
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Run(child.returncode, out.read(), err.read(), time.monotonic() - began, usage.ru_maxrss / 1024)


def analyze(binary, inputs, *flags, limit_s=60):
    """(Run, report or None); the report is parsed strictly: valid UTF-8, no NaN."""
    result = run([binary, "analyze", *inputs, "--report", "json", "--no-what-if", "--quiet", *flags], limit_s)
    if result.code != 0:
        return result, None
    return result, json.loads(result.out.decode("utf-8"), parse_constant=lambda word: 1 / 0)


def sums(partition):
    """Leaves of one window added up to wall, compute, comm, copy and idle."""
    out = {"wall": sum(partition.values()), "compute": sum(partition.get(leaf, 0) for leaf in COMPUTE)}
    for group in ("comm", "copy", "idle"):
        out[group] = sum(ns for leaf, ns in partition.items() if leaf.startswith(group + "."))
    return out
