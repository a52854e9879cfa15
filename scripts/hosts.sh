#!/usr/bin/env bash
# scripts/hosts.sh [preset]: ops exported into PyTorch (tests/export/run_torch.sh) and MindSpore (tests/export/run_mindspore.sh). PyPI's
# wheels, with all they need several GB, go into virtual environments of their own, build/hosts/torch and build/hosts/mindspore; PYTHON and
# MINDSPORE_PYTHON name interpreters that have torch or mindspore instead. Without a network nothing is run, and that is said.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
python="${PYTHON:-$ROOT/build/hosts/torch/bin/python}"
mindspore_python="${MINDSPORE_PYTHON:-$ROOT/build/hosts/mindspore/bin/python}"

# has_host HOST PYTHON WHEEL...: true if PYTHON has the host. The wheels are installed where PYTHON is that of build/hosts/HOST.
has_host() {
    local host="$1" python="$2" venv="$ROOT/build/hosts/$1"
    shift 2
    "$python" -c "import $host" 2>/dev/null && return
    if [ "$python" = "$venv/bin/python" ]; then
        mkdir -p build/hosts
        [ -x "$python" ] || phase "virtual environment build/hosts/$host" python3 -m venv "$venv"
        phase "pip install of $*" "$python" -m pip install --quiet --only-binary :all: --disable-pip-version-check "$@" && return
    fi
    say "$python has no $host: its tests are skipped"
    return 1
}

phase "build of what exports ops" cmake --build --preset "$preset" --parallel "$(jobs)" --target halyard_command halyard_export_files custom_op_kernels
arguments=("$ROOT/build/$preset" "$ROOT" "$ROOT/build/$preset/lib/libcustom_op_kernels.so")
if has_host torch "$python" torch==2.15.0 numpy setuptools; then
    phase "ops exported into PyTorch" tests/export/run_torch.sh "${arguments[@]}" "$python"
fi
if has_host mindspore "$mindspore_python" mindspore==2.10.0 'numpy<2' setuptools; then
    phase "ops exported into MindSpore" tests/export/run_mindspore.sh "${arguments[@]}" "$mindspore_python"
fi
