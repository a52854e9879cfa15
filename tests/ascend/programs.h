// Programs that several tests run, and memory to run them on.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascend/program/builder.h"
#include "ascend/simulator/simulate.h"

namespace halyard::dv::test {

// The caller's tensors of a program whose sizes are constants.
class Gm {
public:
    explicit Gm(const Program &p) {
        for (const GmTensor &t : p.tensors)
            memory_.emplace_back(size_t(t.size.value() * int64_t(bytes_of(t.dtype))));
    }
    std::vector<Binding> bindings() {
        std::vector<Binding> all;
        for (auto &m : memory_)
            all.push_back({m.data(), int64_t(m.size())});
        return all;
    }
    template<class T> T *as(size_t tensor) { return (T *)memory_[tensor].data(); }
    size_t size(size_t tensor) const { return memory_[tensor].size(); }

private:
    std::vector<std::vector<uint8_t>> memory_;
};

// Builds z = relu(x + y) in f16: `n` elements over `blocks` blocks, in tiles.
inline Builder add_relu_builder(int64_t n, int64_t blocks, int64_t tile, int threads = 2,
                                const std::string &profile = "ascend910", bool auto_sync = true) {
    Builder b("add_relu", profile, {auto_sync});
    const Tensor x = b.input(DType::f16, n, "x");
    const Tensor y = b.input(DType::f16, n, "y");
    const Tensor z = b.output(DType::f16, n, "z");
    const int64_t share = n / blocks;
    b.for_range(0, blocks, {.block_num = blocks}, [&](const Expr &block) {
        b.for_range(0, share / tile, {.thread_num = threads}, [&](const Expr &i) {
            const auto ub = [&](const char *name) {
                return b.tensor(DType::f16, tile, Scope::ub, name);
            };
            const Tensor ux = ub("ux"), uy = ub("uy"), us = ub("us"), uz = ub("uz");
            const Expr at = block * share + i * tile;
            b.data_move(ux, x[at], 1, tile / 16, 0, 0);
            b.data_move(uy, y[at], 1, tile / 16, 0, 0);
            b.vec_add(128, us, ux, uy, tile / 128, {8, 8, 8});
            b.vec_relu(128, uz, us, tile / 128, {8, 8});
            b.data_move(z[at], uz, 1, tile / 16, 0, 0);
        });
    });
    return b;
}

// Builds y = exp(x) / sum exp(x), without subtracting the maximum, in rows of c f32 elements (a
// multiple of 64, at most 4096). A scalar is read back from ubuf.
inline Builder softmax_builder(int64_t rows, int64_t c, const std::string &profile = "ascend910") {
    Builder b("softmax", profile);
    const Tensor x = b.input(DType::f32, rows * c, "x");
    const Tensor y = b.output(DType::f32, rows * c, "y");
    b.for_range(0, rows, {.thread_num = 2}, [&](const Expr &row) {
        const auto ub = [&](const char *name, int64_t size) {
            return b.tensor(DType::f32, size, Scope::ub, name);
        };
        const Tensor ux = ub("ux", c);
        const Tensor uy = ub("uy", c);
        const Tensor work = ub("work", c / 64 * 2 + 64);
        const Tensor sum = ub("sum", 8);
        b.data_move(ux, x[row * c], 1, c / 8, 0, 0);
        b.vec_exp(64, uy, ux, c / 64, {8, 8});
        b.vec_reduce_add(64, sum, uy, work, int(c / 64), 8);
        const Scalar s = b.scalar(DType::f32, "s");
        b.set_as(s, sum);
        b.scalar_math(ScalarOp::div, s, 1.0, s);
        b.vec_muls(64, uy, uy, s, c / 64, {8, 8});
        b.data_move(y[row * c], uy, 1, c / 8, 0, 0);
    });
    return b;
}

// Builds c[m][n] (f32, as [n/16][m][16]) = a b, both f16 in GM as fractals [k/16][m][16] and
// [k/16][n][16]. Tiles of tm x tn are distributed over the cores; l1 has two slots of tk.
inline Builder matmul_builder(int64_t m, int64_t k, int64_t n, int64_t tm, int64_t tk, int64_t tn) {
    Builder b("matmul", "ascend910");
    const Tensor a = b.input(DType::f16, m * k, "a");
    const Tensor w = b.input(DType::f16, k * n, "b");
    const Tensor c = b.output(DType::f32, m * n, "c");
    const int64_t tiles_m = m / tm;
    const int64_t tiles_n = n / tn;
    b.for_range(0, tiles_m * tiles_n, {.block_num = tiles_m * tiles_n}, [&](const Expr &tile) {
        const Expr row = tile / tiles_n * tm;
        const Expr column = tile % tiles_n * tn;
        const Tensor sum = b.tensor(DType::f32, tm * tn, Scope::l0c, "sum");
        b.for_range(0, k / tk, {.thread_num = 2}, [&](const Expr &i) {
            const Tensor al = b.tensor(DType::f16, tm * tk, Scope::l1, "al");
            const Tensor bl = b.tensor(DType::f16, tk * tn, Scope::l1, "bl");
            b.data_move(al, a[(i * (tk / 16) * m + row) * 16], tk / 16, tm, m - tm, 0);
            b.data_move(bl, w[(i * (tk / 16) * n + column) * 16], tk / 16, tn, n - tn, 0);
            // The first slice of k writes the sum, the others add to it.
            b.matmul(sum, al, bl, tm, tk, tn, i == 0);
        });
        b.for_range(0, tn / 16, {.thread_num = 2}, [&](const Expr &j) {
            const Tensor out = b.tensor(DType::f32, tm * 16, Scope::ub, "out");
            b.l0c_to_ub(out, sum[j * tm * 16], 1, tm / 16);
            b.data_move(c[(column / 16 + j) * m * 16 + row * 16], out, 1, tm * 2, 0, 0);
        });
    });
    return b;
}

}  // namespace halyard::dv::test
