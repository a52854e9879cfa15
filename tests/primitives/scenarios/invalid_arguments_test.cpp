// Calls composite ops with wrong attributes: they give a result, or an error that names the op.
// (tools/check/refusals.cpp tests the other ops.)
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "primitives/autograd/tape.h"
#include "primitives/autograd/views.h"
#include "primitives/composites/clip.h"
#include "primitives/composites/concat.h"
#include "primitives/composites/einsum.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();
constexpr int64_t extremes[] = {lowest, -3, -1, 0, 1, 2, 7, int64_t{1} << 40, highest};

std::vector<AttrValue> values_for(const AttrSpec &a) {
    std::vector<AttrValue> all;
    if (a.kind == AttrKind::ints) {
        all.emplace_back(Ints{});
        all.emplace_back(Ints(9, 1));
        for (const int64_t v : extremes) {
            for (const int64_t w : extremes)
                all.emplace_back(Ints{v, w});
        }
    }
    if (a.kind == AttrKind::real) {
        for (const double v : {-1.0, 0.0, 0.5, 2.0, std::nan(""), HUGE_VAL})
            all.emplace_back(v);
    }
    if (a.kind == AttrKind::choice) all.emplace_back("none");
    if (a.kind == AttrKind::dtype) {
        for (const char *v : {"none", "bool", "bf16"})
            all.emplace_back(v);
    }
    for (const int64_t v : extremes)
        all.emplace_back(v);
    return all;
}

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

// Returns lists of attributes with one value that may be wrong, and a second list of the rank's
// length: begin and size have equal lengths.
std::vector<AttrList> attribute_lists(const OpRecord &record, int rank) {
    std::vector<AttrList> lists = {{}};
    for (const AttrSpec &a : record.attrs) {
        for (const AttrValue &v : values_for(a)) {
            lists.push_back({{a.name, v}});
            for (const AttrSpec &other : record.attrs) {
                if (other.name != a.name && other.kind == AttrKind::ints)
                    lists.push_back({{a.name, v}, {other.name, Ints(size_t(rank), 1)}});
            }
        }
    }
    return lists;
}

// Calls the op; returns true if it throws, and expects that the error names the op.
bool is_rejected(const std::string &op, const AttrList &attrs, const std::vector<Tensor> &in) {
    try {
        (void)Primitive(op.c_str(), attrs).run(in);
        return false;
    } catch (const Error &e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("[" + op + "] "))
            << op << " of " << (in.empty() ? "nothing" : in[0].shape().text()) << ": " << e.what();
        return true;
    }
}

TEST(InvalidArguments, ErrorsNameTheCompositeOp) {
    int calls = 0, rejected = 0;
    for (const RegisteredOp *op : library().ops()) {
        if (op->record.form != Form::composite) continue;
        for (const Shape &shape :
             {Shape{2, 3}, Shape{}, Shape{0, 3}, Shape{1, 1, 1, 1, 1, 1, 1, 1}}) {
            const std::vector<Tensor> in(op->signature.inputs.size(), Tensor::ones(shape));
            for (const AttrList &attrs : attribute_lists(op->record, shape.rank())) {
                calls++;
                rejected += is_rejected(op->record.name, attrs, in);
            }
        }
    }
    EXPECT_GT(calls, 1000);
    EXPECT_GT(rejected, 100);
}

// What is wrong is said of the caller's tensors, not of those of the ops inside.
TEST(InvalidArguments, ErrorsNameTheCallersTensors) {
    const auto expect = [](const std::string &op, const AttrList &attrs,
                           const std::vector<Tensor> &in, const std::string &detail) {
        EXPECT_EQ(message([&] { (void)Primitive(op.c_str(), attrs).run(in); }),
                  "[" + op + "] " + detail);
    };
    const auto ones = [](const Shape &s, DType d = DType::f32) { return Tensor::ones(s, d); };
    const std::string floats = "there are f32 f16 bf16 f64";
    expect("dense", {}, {ones({2, 3}), ones({4, 3}, DType::f64), ones({4})},
           "weight is f64, expected f32 like x");
    expect("layer_norm", {}, {ones({2, 3}), ones({3}), ones({3}, DType::i32)},
           "beta is i32, expected f32 like x");
    expect("lstm_cell", {},
           {ones({2, 3}), ones({2, 4}), ones({2, 4}), ones({16, 3}, DType::f64), ones({16, 4}),
            ones({16}), ones({16})},
           "w_ih is f64, expected f32 like x");
    expect("scaled_dot_product_attention", {},
           {ones({2, 7, 3}), ones({2, 5, 3}, DType::f64), ones({2, 5, 3}), Tensor()},
           "key is f64, expected f32 like query");
    expect("max_pool1d", {}, {ones({1, 2, 8}, DType::i32)}, "no kernels for i32, " + floats);
    expect("fold", {{"output_size", Ints{4, 4}}, {"kernel_size", Ints{2, 2}}},
           {ones({1, 4, 9}, DType::i8)}, "no kernels for i8, " + floats);
    expect("mse_loss", {}, {ones({2, 3}), ones({3, 4})},
           "dimension 0 is 2 against 3: [2,3] and [3,4] don't broadcast");
    expect("binary_cross_entropy", {}, {ones({2, 3}), ones({2, 4}), Tensor()},
           "dimension 1 is 3 against 4: [2,3] and [2,4] don't broadcast");
    expect("cosine_similarity", {}, {ones({5, 18}), ones({5, 17})},
           "input2.c is 17, expected 18 from input1[5,18] (input2 has shape [5,17])");
    expect("addmm", {{"alpha", 0.5}},
           {ones({2, 2}, DType::i32), ones({2, 3}, DType::i32), ones({3, 2}, DType::i32)},
           "alpha is 0.500000, expected an integer for i32");
}

TEST(InvalidArguments, ErrorsNameAnUndefinedTensor) {
    for (const RegisteredOp *op : library().ops()) {
        const auto &inputs = op->signature.inputs;
        const Primitive primitive(*op, Attrs(op->record, std::initializer_list<AttrValue>{}));
        for (size_t k = 0; k < inputs.size(); k++) {
            const std::string &name = op->record.name;
            if (is_optional(name, inputs[k].name)) continue;
            std::vector<Tensor> in(inputs.size(), Tensor::ones({2, 3}));
            in[k] = {};
            expect_error<ShapeError>("[" + name + "] " + inputs[k].name + " is an undefined tensor",
                                     [&] { (void)primitive.run(in); });
            expect_error<ShapeError>(
                "[" + name + "] " + inputs[0].name + " is an undefined tensor",
                [&] { (void)primitive.run(std::vector<Tensor>(inputs.size())); });
        }
    }
}

TEST(InvalidArguments, AnUndefinedArgumentIsNoNumber) {
    const Tensor x = Tensor::ones({2});
    expect_error<ShapeError>("[add] b is an undefined tensor", [&] { F::add(x, Tensor()); });
    expect_error<ShapeError>("[mul] a is an undefined tensor", [&] { F::mul(Tensor(), 2); });
    expect_error<ShapeError>("[concat] x1 is an undefined tensor", [&] {
        F::concat({x, Tensor()});
    });
    expect_error<ShapeError>("[stack] x0 is an undefined tensor", [&] { F::stack({Tensor(), x}); });
    expect_error<ShapeError>("[split] x0 is an undefined tensor", [&] { F::split(Tensor()); });
    expect_error<ShapeError>("[unstack] x0 is an undefined tensor", [&] { F::unstack(Tensor()); });
    expect_error<ShapeError>("[meshgrid] x1 is an undefined tensor", [&] {
        F::meshgrid({x, Tensor()});
    });
    expect_error<ShapeError>("[broadcast_tensors] x1 is an undefined tensor", [&] {
        F::broadcast_tensors({x, Tensor()});
    });
    expect_error<ShapeError>("[einsum] x1 is an undefined tensor", [&] {
        F::einsum("i,i->i", {x, Tensor()});
    });
    expect_error<ShapeError>("[clip_by_global_norm] x1 is an undefined tensor", [&] {
        F::clip_by_global_norm({x, Tensor()}, 1);
    });
}

TEST(InvalidArguments, ResizeTablesAreWithinTheMap) {  // The forward pass reads the nearest pixels.
    const Tensor x = Tensor::ones({1, 4, 4});
    const Tensor inside = Tensor::from<int32_t>({0, 3}, {1, 2}),
                 outside = Tensor::from<int32_t>({0, 2000000000}, {1, 2});
    const Tensor weight = Tensor::ones({1, 2}, DType::f64);
    const auto differentiate = [&](const Tensor &row, const Tensor &column) {
        Tape tape;
        tape.watch(x);
        const Tensor y = run1("resize_kernel", {x, row, weight, column, weight});
        (void)tape.gradient(y, {x});
    };
    differentiate(inside, inside);
    expect_error<ShapeError>("[resize_kernel] row 1 is 2000000000, expected 0 to 3",
                             [&] { differentiate(outside, inside); });
    expect_error<ShapeError>("[resize_kernel] column 1 is 2000000000, expected 0 to 3",
                             [&] { differentiate(inside, outside); });
}

TEST(InvalidArguments, VariadicOps) {
    const Tensor x = Tensor::ones({2, 3}), deep = Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_THROW(F::stack({deep, deep}, 0), ShapeError);
    EXPECT_THROW(F::stack({x, deep}, 0), ShapeError);
    EXPECT_THROW(F::concat({}, 0), ShapeError);
    EXPECT_THROW(F::concat({x, x}, 7), ShapeError);
    EXPECT_THROW(F::split(x, 1, 0), ShapeError);
    EXPECT_THROW(F::split(x, 1, 2), ShapeError);
    EXPECT_THROW(
        F::concat({Tensor::scalar(1).expand({1 << 30, 1}), Tensor::scalar(1).expand({1 << 30, 1})},
                  0),
        ShapeError);
}

}  // namespace
}  // namespace halyard
