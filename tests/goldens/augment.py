"""Writes augment.npz: images, and what MindSpore's deterministic transforms make of them.

needs: mindspore, numpy
"""
import mindspore.dataset.transforms as t
import mindspore.dataset.vision as v
import numpy as np
from mindspore.dataset.vision import Border, Inter

rng = np.random.default_rng(7)
h, w = 15, 22
y, x = np.mgrid[:h, :w]
smooth = np.stack([4 * x + 3 * y, 255 - 5 * x, 120 + 60 * np.sin(x / 4) * np.cos(y / 3)], -1).astype(np.uint8)
noise = rng.integers(0, 256, (9, 11, 3), dtype=np.uint8)
out = {"smooth": smooth, "noise": noise}
for name, image in [("smooth", smooth), ("noise", noise)]:
    def put(op, result):
        out[f"{name}_{op}"] = np.asarray(result)
    put("hflip", v.HorizontalFlip()(image))
    put("vflip", v.VerticalFlip()(image))
    put("crop", v.Crop((2, 3), (5, 6))(image))
    for mode in ("CONSTANT", "EDGE", "REFLECT", "SYMMETRIC"):
        put(f"pad_{mode.lower()}", v.Pad((1, 2, 3, 4), (9, 8, 7), getattr(Border, mode))(image))
    for degrees in (0, 30, 90, -47.5, 180):
        put(f"rotate_{degrees}_nearest", v.Rotate(degrees, Inter.NEAREST)(image))
        put(f"rotate_{degrees}_bilinear", v.Rotate(degrees, Inter.BILINEAR, fill_value=(9, 8, 7))(image))
        put(f"rotate_{degrees}_expand", v.Rotate(degrees, Inter.NEAREST, True)(image))
    put("rotate_30_center", v.Rotate(30, Inter.BILINEAR, center=(3, 4))(image))
    for f in (0, 0.3, 1, 1.7):
        put(f"brightness_{f}", v.AdjustBrightness(f)(image))
        put(f"contrast_{f}", v.AdjustContrast(f)(image))
        put(f"saturation_{f}", v.AdjustSaturation(f)(image))
    for f in (-0.5, -0.1, 0, 0.2, 0.5):
        put(f"hue_{f}", v.AdjustHue(f)(image))
    put("resized_crop", v.ResizedCrop(1, 2, 7, 8, (5, 6), Inter.BILINEAR)(image))
    put("resize_down", v.Resize((4, 5), Inter.BILINEAR)(image))
    put("resize_shorter", v.Resize(13, Inter.BILINEAR)(image))
out["one_hot"] = t.OneHot(5)(np.array([3, 0], np.int32))
out["one_hot_smooth"] = t.OneHot(5, 0.1)(np.array(3, np.int32))
np.savez("augment.npz", **out)
