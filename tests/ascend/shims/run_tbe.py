"""usage: run_tbe.py FOLDER NAME [ATTRIBUTE=VALUE ..]: runs FOLDER/haly_NAME.py under the stand-ins beside this file, through the entry that
FOLDER/haly_NAME_info.py registers. A placeholder NAME holds FOLDER/NAME.bin; result K of the tensor list goes to FOLDER/result_K.bin."""
import importlib
import sys
from pathlib import Path

folder, name, *numbers = sys.argv[1:]
sys.path[:0] = [folder, str(Path(__file__).parent)]
tvm, cce = importlib.import_module("te.tvm"), importlib.import_module("te.lang.cce")
for path in Path(folder).glob("*.bin"):
    tvm.inputs[path.stem] = path.read_bytes()
importlib.import_module(f"haly_{name}_info")
(info, entry), = importlib.import_module("mindspore.ops").registered
if info["name"] != name or info["kernel_name"] != "haly_" + name:
    sys.exit(f"the registration is of {info['name']}")
tensors = [n for _, n, *_ in info["inputs"]] + [n for _, n, *_ in info["outputs"]]
given = dict(n.split("=") for n in numbers)
if set(given) != {n for n, *_ in info["attributes"]}:
    sys.exit(f"the registration has attributes {info['attributes']}")
entry(*[None] * len(tensors), **{n: float(v) for n, v in given.items()})
config, = cce.built
for k, tensor in enumerate(t for t in config["tensor_list"] if t.name is None):
    (Path(folder) / f"result_{k}.bin").write_bytes(tensor.bytes())
