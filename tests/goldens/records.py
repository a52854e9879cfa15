"""Writes records.tfrecord and records.tar, and records.npz with what MindSpore reads in the former.

needs: mindspore, google-crc32c, numpy, protobuf
"""
import io
import struct
import tarfile

import google_crc32c
import mindspore.dataset as ds
import numpy as np


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(value):
    """A tf.train.Feature: bytes, floats or ints."""
    if isinstance(value, bytes):
        return field(1, field(1, value))
    if value.dtype.kind == "f":
        return field(2, field(1, value.astype("<f4").tobytes()))
    return field(3, field(1, b"".join(varint(int(v)) for v in value)))


def record(features):
    entries = b"".join(field(1, field(1, name.encode()) + field(2, feature(v))) for name, v in features.items())
    data = field(1, entries)
    crc = lambda b: struct.pack("<I", ((c := google_crc32c.value(b)) >> 15 | c << 17) + 0xA282EAD8 & 0xFFFFFFFF)
    length = struct.pack("<Q", len(data))
    return length + crc(length) + data + crc(data)


def main():
    rng = np.random.default_rng(0)
    with open("records.tfrecord", "wb") as f:
        for i in range(5):
            f.write(record({"image": bytes(range(i, 40 + i)), "label": np.array([i - 2]), "box": rng.random(4, np.float32) - 0.5}))
    rows = list(ds.TFRecordDataset("records.tfrecord", shuffle=False).create_dict_iterator(output_numpy=True))
    np.savez("records.npz", label=np.stack([r["label"] for r in rows]), box=np.stack([r["box"] for r in rows]))

    with tarfile.open("records.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        def put(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for i in range(3):
            key = f"./a.b/é{i}"
            put(key + ".JPG", bytes([i, 1, 2]))
            put(key + ".cls", f"{10 * i}\n".encode())
            put(key + ".seg.png", b"unused")
        put("./a.b/README", b"no sample")


main()
