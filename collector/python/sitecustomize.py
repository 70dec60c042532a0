"""Tells the wallsight recorder what Python does: garbage collection, and waiting for a DataLoader.

`wallsight record --python` puts this folder in front of PYTHONPATH. Python then runs this file at its start; it arranges for two
things to be timed, hides its folder again, and hands over to the sitecustomize that would have run without it. Nothing is
imported, loaded or printed for it before the program itself uses ctypes, as every GPU framework does. Whatever goes wrong here
is left alone: the program is not ours.
"""
import gc
import os
import sys
import time

# Collections that are shorter cost less than writing them down.
SHORTEST_NS = 20_000

_record = None  # wallsight_range(name, begin_ns, end_ns) of the library
_gc_begin_ns = 0


def _on_gc(phase, info):
    global _gc_begin_ns
    if phase == "start":
        _gc_begin_ns = time.monotonic_ns()
        return
    end_ns = time.monotonic_ns()
    if end_ns - _gc_begin_ns >= SHORTEST_NS:
        _record(b"python gc", _gc_begin_ns, end_ns)


def _begin(ctypes):
    global _record
    # PyDLL keeps the interpreter's lock: the call is shorter than giving it away.
    function = ctypes.PyDLL(os.environ["NVTX_INJECTION64_PATH"]).wallsight_range
    function.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
    function.restype = None
    _record = function
    gc.callbacks.append(_on_gc)


def _time_dataloader(module):
    iterator = module._BaseDataLoaderIter
    get_next = iterator.__next__

    def __next__(self):
        begin_ns = time.monotonic_ns()
        try:
            return get_next(self)
        finally:
            if _record is not None:
                _record(b"dataloader wait", begin_ns, time.monotonic_ns())

    __next__.__wrapped__ = get_next
    iterator.__next__ = __next__


class _AfterImport:
    """Finds nothing itself; runs an action when a module has been imported."""

    def __init__(self, actions):
        self.actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self.actions.get(name)
        if action is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type):
            return spec

        def exec_module(module):
            execute(module)
            self.actions.pop(name, None)
            _guarded(action, module)

        loader.exec_module = exec_module
        return spec


def _guarded(action, *arguments):
    try:
        action(*arguments)
    except Exception:
        pass


def _install():
    actions = {"ctypes": _begin, "torch.utils.data.dataloader": _time_dataloader}
    for name in [n for n in actions if n in sys.modules]:
        _guarded(actions.pop(name), sys.modules[name])
    sys.meta_path.insert(0, _AfterImport(actions))


def _hand_over():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    sys.modules["wallsight_sitecustomize"] = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401  the one that comes next
    except ImportError as error:
        sys.modules["sitecustomize"] = sys.modules["wallsight_sitecustomize"]
        if error.name != "sitecustomize":
            raise


if __name__ == "sitecustomize":
    if os.environ.get("NVTX_INJECTION64_PATH") and hasattr(time, "monotonic_ns"):
        _guarded(_install)
    _hand_over()
