"""Writes promotion.txt: the dtype of a + b in PyTorch and in NumPy, for tensors of every pair of dtypes, and for a tensor and a number.

    python tests/goldens/make_promotion.py > tests/goldens/promotion.txt
"""
import numpy as np
import torch

TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
         "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}
NAMES = {**{str(t).removeprefix("torch."): name for name, t in TORCH.items()}, "int16": "i16"}

print("# a b PyTorch NumPy, - where NumPy has no such dtype; int and float are Python's numbers. PyTorch", torch.__version__.split("+")[0], "NumPy", np.__version__)
for a in TORCH:
    for b in [*TORCH, "int", "float"]:
        number = {"int": 2, "float": 0.5}.get(b)
        ours = torch.ones(1, dtype=TORCH[a]) + (number if number else torch.ones(1, dtype=TORCH[b]))
        numpy = "-"
        if a in NUMPY and (number or b in NUMPY):
            numpy = NAMES[str((np.ones(1, NUMPY[a]) + (number if number else np.ones(1, NUMPY[b]))).dtype)]
        print(a, b, NAMES[str(ours.dtype).removeprefix("torch.")], numpy)
