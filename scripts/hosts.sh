#!/usr/bin/env bash
# scripts/hosts.sh [preset]: ops exported into PyTorch (tests/export/run_torch.sh). PyPI's torch wheel, with all it needs several GB, goes
# into a virtual environment of its own, build/hosts/venv; PYTHON names an interpreter that has torch instead. Without a network nothing is
# run, and that is said.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
wheels=(torch==2.15.0 numpy setuptools)
python="${PYTHON:-$ROOT/build/hosts/venv/bin/python}"

if [ -z "${PYTHON:-}" ] && ! "$python" -c 'import torch' 2>/dev/null; then
    mkdir -p build/hosts
    [ -x "$python" ] || phase "virtual environment build/hosts/venv" python3 -m venv build/hosts/venv
    phase "pip install of ${wheels[*]}" "$python" -m pip install --quiet --only-binary :all: --disable-pip-version-check "${wheels[@]}" ||
        { say "no torch wheel here: its tests are skipped"; exit 0; }
fi
phase "build of what exports ops" cmake --build --preset "$preset" --parallel "$(jobs)" --target halyard_command halyard_export_files custom_op_kernels
phase "ops exported into PyTorch" tests/export/run_torch.sh "$ROOT/build/$preset" "$ROOT" "$ROOT/build/$preset/lib/libcustom_op_kernels.so" "$python"
