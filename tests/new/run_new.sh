#!/usr/bin/env bash
# Tests a user's project outside of the tree: installs the kit, creates the project and an op of every kind with `halyard new`,
# builds, runs its program, checks all ops with the installed command, and exports some. Usage: run_new.sh BUILD_DIR PYTHON_WITH_ONNXRUNTIME
set -euo pipefail
build_dir="$1" python="$2"
digits="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../data/digits" && pwd)"
dir="$(mktemp -d "${TMPDIR:-/tmp}/halyard_new.XXXXXX")"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# One instruction set is enough. The compiler's cache must not depend on this folder's name.
export HALYARD_ISAS="${HALYARD_ISAS:-avx2}" CCACHE_BASEDIR="$dir" CCACHE_NOHASHDIR=true
fail() { echo "new: $*"; exit 1; }
# expect TEXT command... expects that the command succeeds and prints the text.
expect() {
    local text="$1" out
    shift
    out="$("$@" 2>&1)" || fail "$* failed: $out"
    [[ "$out" == *"$text"* ]] || fail "$* doesn't say '$text' but: $out"
}

cmake --install "$build_dir" --prefix "$dir/first" >/dev/null
mv "$dir/first" "$dir/kit"  # an installed kit can be moved: nothing in it names the place it was installed to
unset HALIDE_ROOT
for file in bin/halyard lib/libhalyard.so lib/libhalyard_dsl.so lib/libhalyard_registry.so lib/cmake/Halyard/HalyardConfig.cmake libexec/halyard/kernel_runner \
    include/halyard/dsl/op.h include/halyard/primitives/ops.h include/halyard/kernels/rowwise/rows.h include/halyard/halyard.h share/halyard/templates/unary.cpp \
    share/halyard/export/lib/runtime.a share/halyard/export/project/hy.h share/halyard/export/project/torch/torch.cpp \
    share/halyard/report/page.html share/halyard/report/chart.min.js share/halyard/shapes/tails.txt share/halyard/peers/driver.py; do
    [ -e "kit/$file" ] || fail "$file was not installed"
done

expect "n=32 c=10 f32  # probabilities" kit/bin/halyard bench softmax --shapes lenet5 --threads 1 --rounds 1 --min-time 0.0005
kit/bin/halyard new soft_step --project shop
(cd shop && for kind in softmax matmul conv2d; do ../kit/bin/halyard new "my_$kind" --like "$kind"; done)
# Writes a chain of the kit's ops like those of kernels/contraction/fused.cpp.
cat > shop/add_silu.cpp <<'CPP'
#include "dsl/chain.h"

namespace halyard {
void halyard_list_binary(OpTable &ops);
void halyard_list_unary(OpTable &ops);
namespace {
const OpTable &parts() {
    static const OpTable table = [] {
        OpTable t;
        halyard_list_binary(t), halyard_list_unary(t);
        return t;
    }();
    return table;
}
struct AddSilu : Chain {
    AddSilu() : Chain(parts(), "add_silu", "x[*] z[*] -> y[*]", "s = add(x, z); y = silu(s)") {
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=37"};
        contract.ulps = 4;
    }
};
}  // namespace
HALYARD_OPS { ops.add<AddSilu>(); }
}  // namespace halyard
CPP
# An op with choices, one of which is no C++ identifier, and one attribute has a name of the kit's but other choices.
cat > shop/rescale.cpp <<'CPP'
#include "dsl/op.h"

namespace halyard {
namespace {
struct Rescale : Op {
    Rescale() : Op("rescale", "x[..n,c] -> y[..n,c]") {
        doc = "y = x / 2, 2 x or x, by mode";
        choice("mode", {"half", "2x", "default"});
        choice("pad_mode", {"zero", "edge"});
        dtypes = {"f32"};
        samples = {"n=1 c=1", "n=3 c=7 mode=2x", "n=3 c=17 mode=default pad_mode=edge"};
    }
    Func x = input("x");
    Func y = output("y");
    Expr mode = derived("which", "mode");
    Var c{"c"}, n{"n"};
    void algorithm() override { y(c, n) = select(mode == 0, x(c, n) / 2_r, mode == 1, x(c, n) * 2_r, x(c, n)); }
    void reference(Problem &p) const override {
        const double factor[] = {0.5, 2, 1};
        p("y") = p("x");
        for (double &v : p("y").v) v *= factor[p["mode"]];
    }
};
}  // namespace
HALYARD_OPS { ops.add<Rescale>(); }
}  // namespace halyard
CPP
cat > shop/choices.cpp <<'CPP'
#include <cstdio>
#include <type_traits>

#include "primitives/ops/conv2d.h"
#include "registry/base/error.h"
#include "shop/ops.h"

using namespace halyard;

int main() {
    static_assert(std::is_same_v<ops::MyConv2d::PadMode, ops::Conv2D::PadMode>);
    static_assert(!std::is_same_v<ops::Rescale::PadMode, ops::Conv2D::PadMode>);
    library().add(shop_op_files());
    const Tensor x = Tensor::full({2, 3}, 1.5);
    const double constant = F::rescale(x, F::Mode::as_2x, ops::Rescale::PadMode::edge).to_vector<double>()[5];
    const double text = F::rescale(x, "2x", "edge").to_vector<double>()[5];
    const double usual = F::rescale(x, F::Mode::default_).to_vector<double>()[5];
    std::printf("%g %g %g\n", constant, text, usual);
    try {
        F::rescale(x, "3x");
    } catch (const AttrError &e) {
        std::printf("%s\n", e.what());
    }
}
CPP
sed -i 's/^halyard_library/halyard_op(add_silu)\nhalyard_op(rescale)\n&/' shop/CMakeLists.txt
printf 'add_executable(choices choices.cpp)\ntarget_link_libraries(choices PRIVATE shop)\n' >> shop/CMakeLists.txt
for file in shop/*.cpp; do
    ! grep -n 'new_op\|NewOp\|new_project' "$file" || fail "$file kept a name of the template"
done
cmake -S shop -B shop/build -G Ninja -DCMAKE_PREFIX_PATH="$dir/kit" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)"
cmake --build shop/build --parallel 2
[ "$(shop/build/shop_main)" = "[[0, 0.333333, 0.5], [0.6, 0.666667, 0.714286]] f32[2,3]" ] || fail "shop_main says $(shop/build/shop_main)"
[ "$(shop/build/choices)" = "3 3 1.5
[rescale] mode is '3x', expected one of half, 2x, default" ] || fail "choices says $(shop/build/choices)"

halyard() { "$dir/kit/bin/halyard" --kernels "$dir/shop/build/libshop_kernels.so" "$@"; }
halyard check
expect "x[*] -> y[*]" halyard ops soft_step
expect ": chosen" halyard explain my_matmul
expect "my_matmul.cpp:" halyard ablate my_matmul --shape "g=1 m=32 k=32 n=64" --rounds 8 --time 0.002
expect "against the reference" halyard bench my_softmax --shape "n=3 c=7" --rounds 2 --min-time 0.0005
python3 - <<'PY'
import struct
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(117) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<2f", 1, -3))
PY
expect "f32[2]" halyard run soft_step --in x.npy --grad y=x.npy --out-dir out
[ -e out/d_x.npy ] || fail "run gave no gradient"
(cd shop/build && ctest --output-on-failure -R main)
halyard export soft_step my_matmul rescale -o exported --for onnxruntime --python "$python" >/dev/null
(cd exported && cmake --workflow --preset all) >log 2>&1 || fail "$(cat log)"

# A graph becomes a library of a project, which is compiled anew when the file changes.
mkdir graph_user
kit/bin/halyard graph lenet5 --part forward --save graph_user/net.graph --counts --batch-size 2 --data "$digits" >log || fail "$(cat log)"
cat > graph_user/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(graph_user LANGUAGES CXX)
find_package(Halyard REQUIRED)
halyard_compile_graph(net net.graph)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE net)
CMAKE
cat > graph_user/main.cpp <<'CPP'
#include <cstdio>
#include <vector>

#include "net.h"

int main() {
    hy_error error;
    net_step *const net = net_open(&error);
    const std::vector<float> image(2 * 32 * 32, 1);
    float y[20] = {};
    if (!net || net_run(net, image.data(), y, &error)) return std::puts(error.text), 1;
    net_close(net);
    std::printf("equal rows: %d\n", y[3] == y[13] && y[3] != y[4]);
    return 0;
}
CPP
(cd graph_user && cmake -B build -DCMAKE_PREFIX_PATH="$dir/kit" && cmake --build build) >log 2>&1 || fail "$(cat log)"
expect "equal rows: 1" graph_user/build/main
kit/bin/halyard graph lenet5 --part step --save graph_user/net.graph --counts --batch-size 2 --data "$digits" >log || fail "$(cat log)"
(cd graph_user && cmake --build build --target net) >log 2>&1 || fail "$(cat log)"
grep -q "NET_NUMBERS 8" graph_user/build/net_graph/include/net.h || fail "the graph wasn't compiled anew"
rm graph_user/net.graph
if cmake -B graph_user/build graph_user >log 2>&1; then fail "a graph that isn't there is compiled"; fi
grep -q "halyard_compile_graph(net): there is no file" log || fail "$(cat log)"
echo "new: a project of six ops, built and checked against the installed kit"
