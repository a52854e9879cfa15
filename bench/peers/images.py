"""The steps of bench/image_pipeline with Pillow, torchvision or OpenCV: prints a line "STEP MICROSECONDS" per image, the least of the rounds.

usage: images.py {pillow,torchvision,opencv} FOLDER ROUNDS
"""
import io
import math
import pathlib
import random
import sys
import time

import numpy as np

MEAN = np.array([123.675, 116.28, 103.53], np.float32)
STD = np.array([58.395, 57.12, 57.375], np.float32)


def box(h, w):
    """Returns top, left, height and width of a part of 8 to 100 % of the area, as RandomResizedCrop draws it."""
    for _ in range(10):
        area, aspect = h * w * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        cw, ch = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < cw <= w and 0 < ch <= h:
            return random.randint(0, h - ch), random.randint(0, w - cw), ch, cw
    return 0, 0, h, w


def pillow():
    from PIL import Image

    def decode(data):
        return Image.open(io.BytesIO(data)).convert("RGB")

    def shorter(image, to):
        w, h = image.size
        size = (to, to * h // w) if w < h else (to * w // h, to)
        return image.resize(size, Image.BILINEAR)

    def middle(image, side):
        w, h = image.size
        left, top = (w - side) // 2, (h - side) // 2
        return image.crop((left, top, left + side, top + side))

    def evaluate(data):
        return np.asarray(middle(shorter(decode(data), 256), 224))

    def train(data):
        image = decode(data)
        top, left, h, w = box(image.size[1], image.size[0])
        part = image.resize((224, 224), Image.BILINEAR, (left, top, left + w, top + h))
        return np.asarray(part.transpose(Image.FLIP_LEFT_RIGHT) if random.random() < 0.5 else part)

    def chw(data):
        return np.ascontiguousarray(((evaluate(data).astype(np.float32) - MEAN) / STD).transpose(2, 0, 1))

    return {"decode": lambda data: np.asarray(decode(data)), "eval": evaluate, "train": train, "eval_chw": chw}


def torchvision():
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2
    torch.set_num_threads(1)

    def decode(data):
        return decode_jpeg(data, mode=ImageReadMode.RGB)

    evaluate = v2.Compose([v2.Resize(256, antialias=False), v2.CenterCrop(224)])
    train = v2.Compose([v2.RandomResizedCrop(224, antialias=False), v2.RandomHorizontalFlip()])
    normal = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    return {"decode": decode, "eval": lambda data: evaluate(decode(data)), "train": lambda data: train(decode(data)),
            "eval_chw": lambda data: normal(evaluate(decode(data))), "prepare": lambda data: torch.frombuffer(bytearray(data), dtype=torch.uint8)}


def opencv():
    import cv2
    cv2.setNumThreads(1)

    def decode(data):
        return cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)

    def evaluate(data):
        image = decode(data)
        h, w = image.shape[:2]
        image = cv2.resize(image, (256, 256 * h // w) if w < h else (256 * w // h, 256))
        top, left = (image.shape[0] - 224) // 2, (image.shape[1] - 224) // 2
        return np.ascontiguousarray(image[top:top + 224, left:left + 224])

    def train(data):
        image = decode(data)
        top, left, h, w = box(*image.shape[:2])
        part = cv2.resize(image[top:top + h, left:left + w], (224, 224))
        return cv2.flip(part, 1) if random.random() < 0.5 else part

    def chw(data):
        return np.ascontiguousarray(((evaluate(data).astype(np.float32) - MEAN) / STD).transpose(2, 0, 1))

    return {"decode": decode, "eval": evaluate, "train": train, "eval_chw": chw, "prepare": lambda data: np.frombuffer(data, np.uint8)}


def main():
    steps = {"pillow": pillow, "torchvision": torchvision, "opencv": opencv}[sys.argv[1]]()
    prepare = steps.pop("prepare", lambda data: data)
    files = [prepare(p.read_bytes()) for p in sorted(pathlib.Path(sys.argv[2]).iterdir())]
    least = {}
    for _ in range(int(sys.argv[3])):
        for name, step in steps.items():
            begin = time.perf_counter()
            for data in files:
                step(data)
            least[name] = min(least.get(name, math.inf), (time.perf_counter() - begin) / len(files) * 1e6)
    for name, us in least.items():
        print(f"{name} {us:.1f}")


main()
