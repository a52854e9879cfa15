#!/usr/bin/env bash
# scripts/gpu.sh [op...]: CUDA kernels on a GPU: the checks of the ops, by default all, a training and single ops beside the CPU's. Writes
# bench/results/gpu.md. Without a GPU nothing is run, and that is said. HALYARD_CUDA_DRIVER names another driver than libcuda.so.1.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
export HALYARD_CUDA_DRIVER="${HALYARD_CUDA_DRIVER:-libcuda.so.1}"
halyard=build/release/bin/halyard
work=build/gpu
measured=bench/results/gpu.md
checked="halyard check --device cuda${*:+ $*}"

# trained DEVICE: trains on the device and prints the accuracy, the loss and the time of a step. The model driver isn't trained on: it
# interprets each instruction of each thread.
trained() {
    local log="$work/$1.log"
    if [ "$1" = cuda ] && [ "$results" != "$measured" ]; then
        echo "not trained: $device is no GPU | not measured"
        return
    fi
    "$halyard" train lenet5 --data data/digits --device "$1" --out "$work/$1" >"$log" 2>&1 || die "training on $1 failed: $(tail -n 3 "$log")"
    if grep "stays on the CPU" "$log" >&2; then die "these ops of the training stay on the CPU"; fi
    echo "$(sed -n "s/^last epoch's mean loss [0-9.]*, //p" "$log") | $(grep -o '[0-9.]* ms/step' "$log" | tail -n 1)"
}

# What `halyard bench` prints of some ops, each beside the CPU's kernels.
times() {
    local op
    if [ "$results" != "$measured" ]; then
        echo "not measured: $device is no GPU"
        return
    fi
    for op in relu exp add reduce_sum softmax layer_norm_kernel matmul conv2d; do
        "$halyard" bench "$op" --device cuda --rounds 9 --min-time 0.005 || die "bench $op failed"
    done
}

page() {
    cat <<END
# CUDA kernels on $device

\`make test-gpu\`, $(date +%F), at $(git rev-parse --short HEAD); $("$halyard" devices | sed -n 's/^cpu *//p').

| what | result |
|---|---|
| \`$checked\` | $(tail -n 1 "$work/check") |

Training of LeNet-5 on the digits of the repository:

| device | after the last epoch | a step |
|---|---|---|
| cuda | $on_cuda |
| cpu | $on_cpu |

Single ops, \`halyard bench OP --device cuda\`; a time on the GPU is that of calls one after another, host included:

\`\`\`
$single_ops
\`\`\`
END
}

device="$("$halyard" devices | sed -n 's/^cuda *//p')"
case "$device" in
    none*)
        say "not measured, no GPU: $device"
        exit 0 ;;
    *"PTX machine"*) results="$work/gpu.md" ;;
    *) results="$measured" ;;
esac
mkdir -p "$work"
"$halyard" check --device cuda "$@" | tee "$work/check"
on_cuda="$(trained cuda)"
on_cpu="$(trained cpu)"
single_ops="$(times)"
page >"$results"
say "wrote $results"
