"""checkpoint.safetensors and checkpoint.ckpt: the same tensors as safetensors' Python package and MindSpore write them.
Needs numpy, safetensors and mindspore.  python checkpoints.py OUT"""
import sys

import mindspore as ms
import numpy as np
from safetensors.numpy import save_file

out = sys.argv[1]
rng = np.random.default_rng(1)
tensors = {
    "conv.weight": rng.standard_normal((2, 3, 2, 2)).astype(np.float32), "conv.bias": np.array([1.5, -2.25], np.float16),
    "step": np.array(123456789012, np.int64), "mask": np.array([True, False, True]), "labels": np.array([[-3, 7]], np.int32),
    "mean": np.array([[1e-300], [np.inf]], np.float64), "bytes": np.array([0, 255], np.uint8),
}
save_file(tensors, f"{out}/checkpoint.safetensors", metadata={"format": "np", "epoch": "3"})
ms.save_checkpoint([{"name": name, "data": ms.Tensor(value)} for name, value in tensors.items()], f"{out}/checkpoint.ckpt", crc_check=True,
                   append_dict={"epoch_num": 3, "note": "as of today"})
np.savez(f"{out}/checkpoint.npz", **tensors)
