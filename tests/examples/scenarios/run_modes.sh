#!/usr/bin/env bash
# Trains all example networks and runs the example programs that train, op by op and in graph mode, with one and with two threads: the
# checkpoints are the same bytes, and the programs print the same. Then trainings that one mode began are resumed in the other.
# Usage: run_modes.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build="$1" source="$2"
dir="$(mktemp -d "${TMPDIR:-/tmp}/halyard_modes_test.XXXXXX")"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
halyard="$build/bin/halyard" programs="$build/bin/examples" digits="$source/data/digits/28"
fail() { echo "modes: $*"; exit 1; }

"$programs/make_images" photographs images 64 5 "$source/data"
"$programs/make_motions" motions 64
mkdir texts
head -c 1200 "$source/docs/ulps.md" >texts/page.md

# in_mode MODE THREADS LOG COMMAND...: runs it, with standard output in LOG.
in_mode() {
    local mode="$1" threads="$2" log="$3"
    shift 3
    HALYARD_MODE="$mode" HALYARD_THREADS="$threads" "$@" >"$log" 2>"$log.err" || fail "$*: $(cat "$log.err")"
    if [ "$mode" = GRAPH_MODE ] && grep "op by op" "$log.err"; then fail "$* is not captured"; fi
}

# same_bytes NAME FILE: compares FILE of all runs of NAME.
same_bytes() {
    local run
    for run in PYNATIVE_MODE_2 GRAPH_MODE_1 GRAPH_MODE_2; do
        cmp "PYNATIVE_MODE_1/$2" "$run/$2" || fail "$1 trains to other bits in $run"
    done
}

# in_all_modes NAME COMMAND...: runs it in both modes with one and two threads, with MODE_THREADS/NAME.txt as standard output; RUN_FOLDER
# in the command stands for MODE_THREADS.
in_all_modes() {
    local name="$1" mode other
    shift
    mkdir -p {PYNATIVE,GRAPH}_MODE_{1,2}
    in_mode PYNATIVE_MODE 1 "PYNATIVE_MODE_1/$name.txt" "${@//RUN_FOLDER/PYNATIVE_MODE_1}" &
    other=$!
    in_mode GRAPH_MODE 1 "GRAPH_MODE_1/$name.txt" "${@//RUN_FOLDER/GRAPH_MODE_1}"
    wait "$other" || exit 1
    for mode in PYNATIVE_MODE GRAPH_MODE; do
        in_mode $mode 2 "${mode}_2/$name.txt" "${@//RUN_FOLDER/${mode}_2}"
    done
}

# options NETWORK: the options of a training of a few steps.
options() {
    case "$1" in
    lenet5) echo "--data $source/data/digits --batch-size 128 --epochs 2" ;;
    transformer | lstm) echo "--data texts --batch-size 4 --length 16 --epochs 2" ;;
    motion) echo "--data motions --batch-size 4 --epochs 2" ;;
    mobilenetv2) echo "--data images --image-size 32 --batch-size 2 --epochs 2 --lr 0.01" ;;
    *) echo "--data images --image-size 32 --batch-size 2 --epochs 1 --lr 0.01" ;;  # these take longest
    esac
}

networks="$("$halyard" train --help | sed -n 's/^  *\([a-z0-9]*\)  *--data .*/\1/p')"
[ "$(wc -w <<<"$networks")" -ge 9 ] || fail "halyard train knows $networks"
for network in $networks; do
    # shellcheck disable=SC2046
    in_all_modes "$network" "$halyard" train "$network" $(options "$network") --out RUN_FOLDER
    (cd PYNATIVE_MODE_1 && ls "$network"-*.safetensors) >checkpoints
    while read -r checkpoint; do same_bytes "$network" "$checkpoint"; done <checkpoints
    case "$network" in resnet*) rm ./*/"$network"-*.safetensors ;; esac
    echo "$network: the same bytes in both modes"
done

# A training of which only the first epoch's checkpoint is left is resumed in the other mode.
for network in lenet5 lstm mobilenetv2; do
    for modes in "PYNATIVE_MODE GRAPH_MODE" "GRAPH_MODE PYNATIVE_MODE"; do
        read -r first second <<<"$modes"
        rm -rf resumed && mkdir resumed
        begun="$(cd "${first}_1" && ls "$network"-1_*.safetensors)" ended="$(cd "${first}_1" && ls "$network"-2_*.safetensors)"
        cp "${first}_1/$begun" resumed/
        # shellcheck disable=SC2046
        in_mode "$second" 2 log "$halyard" train "$network" $(options "$network") --resume --out resumed
        grep -q "^from resumed/$begun" log || fail "$network is not resumed: $(cat log)"
        cmp "${first}_1/$ended" "resumed/$ended" || fail "$network of $first ends with other bits when resumed in $second"
    done
    echo "$network: the same bytes when resumed in the other mode"
done

# run PROGRAM ARGUMENTS...: an example program, whose last argument is the checkpoint that it writes.
run() {
    local name="$1"
    shift
    in_all_modes "$name" "$programs/$name" "$@" "RUN_FOLDER/$name.ckpt"
    same_bytes "$name" "$name.txt"
    same_bytes "$name" "$name.ckpt"
    echo "$name: the same bytes in both modes"
}
run lenet5 1 "$digits/train" "$digits/test"
run custom_network
run custom_training_loop 2 20 "$digits/train"
run data_sink 2 30 "$digits/train"
run evaluate_while_training 2 2 "$digits"
run clip_and_stop 2 "$digits"
run gradient_accumulation 1 "$digits/train"
