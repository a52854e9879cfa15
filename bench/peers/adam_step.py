"""Updates by Adam of the 200 parameters of bench/adam_step.cpp in PyTorch: eager, its fused kernel, and torch.compile of the step. Prints
"NAME MEDIAN_US MIN_US PEAK_MB" per framework.

usage: adam_step.py [pytorch|pytorch-fused|pytorch-compiled ...] [--threads N] [--steps N]
"""
from step import main, timed


def pytorch(kind):
    def run(threads, steps):
        import torch

        torch.set_num_threads(threads)
        parameters = [torch.nn.Parameter(torch.full(shape, 0.5)) for _ in range(100) for shape in ((256, 512), (512,))]
        for p in parameters:
            p.grad = torch.full(p.shape, 0.25)
        # A rate that changes must be a tensor for torch.compile.
        rate = torch.tensor(1e-3) if kind == "compiled" else 1e-3
        adam = torch.optim.Adam(parameters, lr=rate, fused=kind == "fused")
        step = torch.compile(adam.step) if kind == "compiled" else adam.step
        timed(f"PyTorch-{torch.__version__}-{kind}", step, steps, warm=5)
    return run


if __name__ == "__main__":
    main({"pytorch": pytorch("eager"), "pytorch-fused": pytorch("fused"), "pytorch-compiled": pytorch("compiled")}, 30)
