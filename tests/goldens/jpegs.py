"""Writes jpeg_*.jpg, small images of every kind, and jpegs.npz with what Pillow decodes.

needs: numpy, pillow, and cjpeg for 4:4:0, which Pillow doesn't write
"""
import subprocess

import numpy as np
from PIL import Image

h, w = 37, 52
y, x = np.mgrid[:h, :w]
rgb = np.stack([3 * x + y, 255 - 3 * y, 128 + 100 * np.sin(x / 5) * np.cos(y / 4)], -1).astype(np.uint8)
rgb[10:20, 20:35] = (250, 10, 60)  # edges, so that colours bleed over them
image = Image.fromarray(rgb)
for kind, arguments in {"444": {"subsampling": 0}, "422": {"subsampling": 1}, "420": {"subsampling": 2}, "progressive": {"progressive": True}}.items():
    image.save(f"jpeg_{kind}.jpg", quality=80, **arguments)
image.convert("L").save("jpeg_grey.jpg", quality=80)
image.convert("CMYK").save("jpeg_cmyk.jpg", quality=80)
image.save("/tmp/jpegs.ppm")
subprocess.run(["cjpeg", "-quality", "80", "-sample", "1x2", "-outfile", "jpeg_440.jpg", "/tmp/jpegs.ppm"], check=True)
kinds = ("444", "422", "420", "440", "grey", "progressive")
np.savez("jpegs.npz", **{k: np.asarray(Image.open(f"jpeg_{k}.jpg").convert("RGB")) for k in kinds})
