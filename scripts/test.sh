#!/usr/bin/env bash
# scripts/test.sh [preset]: the rules that scripts check, then every test of a built preset.
# The last line is "N passed, N failed": the tests as ctest counted them; a broken rule counts as one more failure.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
junit="build/$preset/ctest.xml"
broken_rules=0

phase "rule check: include direction, sizes, generated files" python3 scripts/check_includes.py || broken_rules=1
phase "rule check: self-test" python3 scripts/check_includes.py --self-test || broken_rules=1
phase "rule check: formatting" scripts/lint.sh format-check || broken_rules=1
phase "rule check: long and complex functions, comma statements" .venv/bin/python scripts/complexity.py || broken_rules=1

rm -f "$junit"
ctest_status=0
phase "tests of build/$preset" ctest --preset "$preset" -j2 --output-on-failure --output-junit "$ROOT/$junit" || ctest_status=$?

# ctest's own counts: <testsuite tests="12" failures="1" disabled="0" skipped="0" ...>
attribute() { grep -m1 -oE "[[:space:]]$1=\"[0-9]+\"" "$junit" 2>/dev/null | grep -oE '[0-9]+' || echo 0; }
total="$(attribute tests)" broken="$(attribute failures)" skipped="$(( $(attribute skipped) + $(attribute disabled) ))"
if [ "$ctest_status" != 0 ] && [ "$broken" = 0 ]; then broken=1 total=$((total + 1)); fi
passed=$((total - broken - skipped)) failed=$((broken + broken_rules))
[ "$skipped" = 0 ] || say "$skipped tests did not run (skipped or disabled)"
[ "$broken_rules" = 0 ] || say "a rule check FAILED; see above"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
