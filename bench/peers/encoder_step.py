"""An encoder layer of BERT-base in evaluation on 128 tokens, as in bench/encoder_step.cpp: PyTorch eager and with torch.compile, and ONNX
Runtime with the model that PyTorch exports. Prints "NAME MEDIAN_US MIN_US PEAK_MB" per framework.

usage: encoder_step.py [pytorch|pytorch-compiled|onnxruntime ...] [--threads N] [--steps N]
"""
import contextlib
import io

import numpy as np

from step import main, timed

X = (np.arange(128 * 768) * 7919 % 2003 / 1001 - 1).astype(np.float32).reshape(1, 128, 768)


def pytorch_layer():
    from torch import nn

    return nn.TransformerEncoderLayer(768, 12, dim_feedforward=3072, activation="gelu", batch_first=True).eval()


def pytorch(compiled):
    def run(threads, steps):
        import torch

        torch.set_num_threads(threads)
        layer = pytorch_layer()
        call = torch.compile(layer) if compiled else layer
        x = torch.from_numpy(X)
        with torch.inference_mode():
            timed(f"PyTorch-{torch.__version__}-{'compiled' if compiled else 'eager'}", lambda: call(x), steps)
    return run


def onnxruntime(threads, steps):
    import onnxruntime as ort
    import torch

    torch.backends.mha.set_fastpath_enabled(False)  # its op has no ONNX form
    model = io.BytesIO()
    with contextlib.redirect_stdout(io.StringIO()):  # the exporter says what it does
        torch.onnx.export(pytorch_layer(), (torch.from_numpy(X),), input_names=["x"], dynamo=True).save(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.getvalue(), options, providers=["CPUExecutionProvider"])
    timed(f"ONNX-Runtime-{ort.__version__}", lambda: session.run(None, {"x": X}), steps)


if __name__ == "__main__":
    main({"pytorch": pytorch(False), "pytorch-compiled": pytorch(True), "onnxruntime": onnxruntime}, 100)
