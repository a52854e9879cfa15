"""Runs one framework for `halyard bench --peers`: a request per line on standard input, an answer per line on standard output.

usage: driver.py pytorch|onnxruntime|mindspore THREADS [ISA]

It begins with {"name": "PyTorch 2.1"}, or {"refused": why}. Then
  {"op": ..., "attrs": {...}, "dims": {...}, "in": [{"name", "dtype", "file"}, ...], "dir": ..., "copies": n}
      prepares a task and runs it once: {"out": [files, float32 or integers]}
  {"seconds": s}   runs the task for about so long: {"seconds": per call}
and whatever can't be done is answered by {"refused": why}.
"""
import importlib
import json
import os
import sys
import warnings


def replies():
    """Returns the real standard output, which frameworks' own output can't reach."""
    replies_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies_to


def main():
    name, threads, isa = (sys.argv + [""])[1:4]
    out = replies()
    warnings.simplefilter("ignore")
    try:
        framework = importlib.import_module("driver_" + name).Framework(int(threads), isa)
        driver = importlib.import_module("driver_session").Driver(framework)
        print(json.dumps({"name": framework.name}), file=out, flush=True)
    except Exception as e:  # not installed, not for this ISA, or broken
        print(json.dumps({"refused": str(e)}), file=out, flush=True)
        return
    for line in sys.stdin:
        print(json.dumps(driver.answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
