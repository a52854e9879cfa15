#!/usr/bin/env bash
# A tour of a built project: what is registered, one op proved, one op measured, one network trained.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
halyard=build/release/bin/halyard
[ -x "$halyard" ] || die "$halyard is not built; run: make build"

phase "1/4 the registered operators" "$halyard" ops
phase "2/4 softmax: reference, exact schedules, gradients" "$halyard" check softmax
phase "3/4 softmax: its variants side by side" "$halyard" bench softmax
phase "4/4 LeNet5 on the digits of data/digits, 60 epochs" "$halyard" train lenet5 --epochs 60 --out build/demo

curve="$(find build/demo -type f \( -iname '*loss*' -o -iname '*curve*' \) | sort | head -n 1)"
[ -n "$curve" ] || die "the training wrote no loss curve into build/demo"
say "the loss curve is in $curve (open it beside the other files of build/demo)"
