"""Answers the driver's requests once the framework is loaded."""
import os
import time

import numpy as np
from driver_task import Task, Unsupported


class Driver:
    def __init__(self, framework):
        self.framework = framework
        self.calls = []
        self.next = 0
        self.per_round = 0

    def prepare(self, question):
        self.calls, self.next, self.per_round = [], 0, 0
        for _ in range(question["copies"]):
            self.calls.append(self.framework.prepare(Task(question)))
        results = self.framework.arrays(self.calls[0]())
        files = [os.path.join(question["dir"], f"out_{k}.npy") for k in range(len(results))]
        for file, result in zip(files, results):
            np.save(file, np.ascontiguousarray(result))
        return {"out": files}

    def run(self, times):
        begin = time.perf_counter()
        for _ in range(times):
            self.calls[self.next % len(self.calls)]()
            self.next += 1
        self.framework.wait()
        return time.perf_counter() - begin

    def time(self, seconds):
        if not self.per_round:
            times = 1
            while (taken := self.run(times)) < seconds / 4 and times < 1 << 24:
                times *= 2
            self.per_round = max(1, round(times * seconds / taken))
        if self.per_round > 3:
            self.run(1)  # after another subject, as for Halyard's kernels
        return {"seconds": self.run(self.per_round) / self.per_round}

    def answer(self, question):
        try:
            return self.time(question["seconds"]) if "seconds" in question else self.prepare(question)
        except Unsupported as e:
            return {"refused": str(e)}
        except Exception as e:  # whatever the framework throws is the answer
            return {"refused": f"{type(e).__name__}: {e}".splitlines()[0]}
        finally:
            time.sleep(self.framework.spins)  # or its threads hold a core of the next subject
