"""usage: run_tik.py FOLDER NAME: runs FOLDER/haly_NAME.py under the stand-ins beside this file and prints the program it builds; with
FOLDER/haly_NAME_info.py there, through the entry it registers."""
import importlib
import sys
from pathlib import Path

folder, name = sys.argv[1:]
sys.path[:0] = [folder, str(Path(__file__).parent)]
entry = getattr(importlib.import_module("haly_" + name), "haly_" + name)
if (Path(folder) / f"haly_{name}_info.py").exists():
    importlib.import_module(f"haly_{name}_info")
    ops = importlib.import_module("mindspore.ops")
    (info, entry), = ops.registered
    tensors = [n for _, n, *_ in info["inputs"]] + [n for _, n, *_ in info["outputs"]]
    arguments = list(entry.__code__.co_varnames[:entry.__code__.co_argcount])
    if arguments != tensors + ["kernel_name"] or info["name"] != name or info["kernel_name"] != "haly_" + name:
        sys.exit(f"the registration of {info['name']} has tensors {tensors}, its entry {arguments}")
sys.stdout.write(entry(*[None] * (entry.__code__.co_argcount - 1)).text)
