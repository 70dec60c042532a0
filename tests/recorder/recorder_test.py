#!/usr/bin/env python3
"""The recorder in a process, end to end: workload -> record -> analyze.

recorder_test.py WALLSIGHT WORKLOAD SIMULATOR SOURCE_DIR [TEST...]
RECORDER_KILLS sets the number of kill tests (6).
"""
import sys
import unittest

from cost import *  # noqa: F401,F403
from exits import *  # noqa: F401,F403
from job import *  # noqa: F401,F403
from library import *  # noqa: F401,F403
from nccl_profiler import *  # noqa: F401,F403
from pattern import *  # noqa: F401,F403
from preload import *  # noqa: F401,F403
from records import *  # noqa: F401,F403
from python_hook import *  # noqa: F401,F403
from same_answer import *  # noqa: F401,F403
from segments import *  # noqa: F401,F403
from trouble import *  # noqa: F401,F403
from windows import *  # noqa: F401,F403

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
