// Tests reductions over ranges that depend on data: only the first len indices of a row count,
// which may be none.
#include <gtest/gtest.h>

#include <cstring>

#include "ascend/simulator/simulate.h"
#include "dsl/ascend/compile.h"
#include "dsl/op.h"

namespace halyard::ascend {
namespace {

constexpr int batches = 3, heads = 8, places = 37, width = 16;
constexpr int lengths[batches] = {0, 5, 37};

enum class Kind { products, products_by_row, sum, largest, place_of_largest };

// o[b,h,e] is the sum of w[b,h,t] v[b,t,e] over t < len[b].
struct Ragged : Op {
    const Kind kind;
    explicit Ragged(Kind k) : Op("ragged", "w[b,h,t] v[b,t,e] len:i32[b] -> o[b,h,e]"), kind(k) {
        dtypes = {"f32", "f16"};
        samples = {"b=3 h=8 t=37 e=16"};
    }
    Func w = input("w"), v = input("v"), len = input("len");
    Func o = output("o");
    Func all{"all"};
    Var x{"x"}, h{"h"}, b{"b"};
    RDom t;

    void algorithm() override {
        t = RDom(0, size("t"));
        t.where(kind == Kind::products_by_row ? t + h < len(b) : t < len(b));
        const Expr weight = w(t, h, b);
        const Expr value = v(x, t, b);
        if (kind == Kind::products || kind == Kind::products_by_row) all(x, h, b) += weight * value;
        if (kind == Kind::sum) all(x, h, b) += value;
        if (kind == Kind::largest) {
            all(x, h, b) = -1000_r;
            all(x, h, b) = max(all(x, h, b), value);
        }
        if (kind == Kind::place_of_largest) {
            all(x, h, b) = Halide::Tuple(-1000_r, -1);
            const Expr larger = value > all(x, h, b)[0];
            all(x, h, b) = Halide::Tuple(select(larger, value, all(x, h, b)[0]),
                                         select(larger, t, all(x, h, b)[1]));
        }
        o(x, h, b) = kind == Kind::place_of_largest ? math::real(all(x, h, b)[1])
                                                    : Expr(all(x, h, b));
    }
    void reference(Problem &) const override {}
};

double weight_at(int b, int h, int t) {
    return ((b * 7 + h * 3 + t * 5) % 9 - 4) / 4.0;
}
double value_at(int b, int t, int e) {
    return ((b * 5 + t * 11 + e * 7) % 23 - 11) / 8.0;
}

double expected(Kind kind, int b, int h, int e) {
    const int shift = kind == Kind::products_by_row ? h : 0;
    double sum = 0, largest = -1000;
    int place = -1;
    for (int t = 0; t + shift < lengths[b]; t++) {
        const double value = value_at(b, t, e);
        const bool multiplies = kind == Kind::products || kind == Kind::products_by_row;
        sum += multiplies ? weight_at(b, h, t) * value : value;
        if (value > largest) {
            largest = value;
            place = t;
        }
    }
    if (kind == Kind::largest) return largest;
    return kind == Kind::place_of_largest ? place : sum;
}

FixedCall::Layout dense(const std::vector<int> &outermost_first) {
    FixedCall::Layout layout;
    int stride = 1;
    for (size_t k = outermost_first.size(); k-- > 0;) {
        layout.push_back({outermost_first[k], stride});
        stride *= outermost_first[k];
    }
    return layout;
}

void put(std::vector<uint8_t> &memory, DType t, size_t at, double value) {
    if (t == DType::f16) {
        const float16 half(static_cast<float>(value));
        std::memcpy(&memory[at * 2], &half, 2);
    } else if (t == DType::i32) {
        const int whole = int(value);
        std::memcpy(&memory[at * 4], &whole, 4);
    } else {
        const float real = float(value);
        std::memcpy(&memory[at * 4], &real, 4);
    }
}

double get(const std::vector<uint8_t> &memory, DType t, size_t at) {
    if (t == DType::f16) {
        float16 half;
        std::memcpy(&half, &memory[at * 2], 2);
        return float(half);
    }
    float real;
    std::memcpy(&real, &memory[at * 4], 4);
    return real;
}

class RaggedRanges : public testing::TestWithParam<std::tuple<Kind, const char *>> {};

TEST_P(RaggedRanges, SumOnlyTheirTerms) {
    const auto &[kind, dtypes] = GetParam();
    auto call = std::make_shared<FixedCall>();
    call->inputs = {dense({batches, heads, places}), dense({batches, places, width}),
                    dense({batches})};
    call->outputs = {dense({batches, heads, width})};
    Instance instance;
    instance.backend = "ascend";
    instance.dtypes = dtypes;
    instance.call = call;
    OpTable ops;
    ops.add<Ragged>(kind);
    const Compiled compiled = compile(ops, "ragged", instance);

    const auto &tensors = compiled.lowered.programs[0].tensors;
    std::vector<std::vector<uint8_t>> memory;
    std::vector<dv::Binding> gm;
    for (auto &t : tensors)
        memory.emplace_back(size_t(*t.size.constant()) * bytes_of(t.dtype));
    for (auto &m : memory)
        gm.push_back({m.data(), int64_t(m.size())});
    for (int b = 0; b < batches; b++) {
        put(memory[2], DType::i32, size_t(b), lengths[b]);
        for (int t = 0; t < places; t++) {
            for (int h = 0; h < heads; h++) {
                put(memory[0], tensors[0].dtype, size_t((b * heads + h) * places + t),
                    weight_at(b, h, t));
            }
            for (int e = 0; e < width; e++) {
                put(memory[1], tensors[1].dtype, size_t((b * places + t) * width + e),
                    value_at(b, t, e));
            }
        }
    }
    for (auto &program : compiled.lowered.programs) {
        const dv::SimResult result = dv::simulate(program, gm);
        ASSERT_TRUE(result.ok()) << dv::to_text(result.issues);
    }
    for (int b = 0; b < batches; b++) {
        for (int h = 0; h < heads; h++) {
            for (int e = 0; e < width; e++) {
                const double got = get(memory[3], tensors[3].dtype,
                                       size_t((b * heads + h) * width + e));
                const double wanted = expected(kind, b, h, e);
                ASSERT_NEAR(got, wanted, 2e-3 * std::max(1.0, std::abs(wanted)))
                    << "o[" << b << "," << h << "," << e << "] of " << lengths[b] << " places";
            }
        }
    }
}
std::string named(const testing::TestParamInfo<std::tuple<Kind, const char *>> &p) {
    static const char *const names[] = {"Products", "ProductsByRow", "Sum", "Largest",
                                        "PlaceOfLargest"};
    return std::string(names[int(std::get<0>(p.param))]) + "_" + std::get<1>(p.param);
}
INSTANTIATE_TEST_SUITE_P(All, RaggedRanges,
                         testing::Combine(testing::Values(Kind::products, Kind::products_by_row,
                                                          Kind::sum, Kind::largest,
                                                          Kind::place_of_largest),
                                          testing::Values("f32", "f16")),
                         named);

}  // namespace
}  // namespace halyard::ascend
