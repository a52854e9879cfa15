#!/usr/bin/env bash
# A tour of a built project: what is registered, one op proved, one op measured, one network trained.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
halyard=build/demo/bin/halyard
[ -x "$halyard" ] || die "$halyard is not built; run: make demo"

phase "1/4 the registered operators" "$halyard" ops
phase "2/4 softmax: reference, exact schedules, gradients" "$halyard" check softmax
phase "3/4 softmax: its variants side by side" "$halyard" bench softmax
say "LeNet5 starts from weights of deviation 0.02: expect a plateau at 2.303 for some twenty epochs, then the loss falls"
phase "4/4 LeNet5 on the digits of data/digits, 60 epochs" "$halyard" train lenet5 --epochs 60 --out build/demo/lenet5

page=build/demo/lenet5/lenet5_run.html
[ -s "$page" ] || die "the training wrote no $page"
say "the training's curves are in $page: open it in a browser"
