#!/usr/bin/env bash
# scripts/onnx.sh [preset]: the node tests of PyPI's onnx wheel through the primitives (tests/onnx). The wheel goes into a virtual
# environment of its own, build/onnx/venv; without a network nothing is run, and that is said.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
wheel="onnx==1.23.2"
python="build/onnx/venv/bin/python"

if [ ! -e "build/onnx/cases/manifest.json" ] || [ tests/onnx/export_cases.py -nt "build/onnx/cases/manifest.json" ]; then
    mkdir -p build/onnx
    [ -x "$python" ] || phase "virtual environment build/onnx/venv" python3 -m venv build/onnx/venv
    phase "pip install $wheel" "$python" -m pip install --quiet --only-binary :all: --disable-pip-version-check "$wheel" ||
        { say "no onnx wheel here: its tests are skipped"; exit 0; }
    rm -rf build/onnx/cases
    phase "export of the cases" "$python" tests/onnx/export_cases.py build/onnx/cases
fi
phase "build of onnx_test" cmake --build --preset "$preset" --parallel "$(jobs)" --target onnx_test
"build/$preset/bin/onnx_test" build/onnx/cases
