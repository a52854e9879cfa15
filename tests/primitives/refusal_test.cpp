// What composite ops make of wrong attributes: a result, or an error that names the op. (tools/check/refusals.cpp has the others.)
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "primitives/concat.h"
#include "primitives/library.h"
#include "primitives/primitive.h"

namespace halyard {
namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
constexpr int64_t extremes[] = {lowest, -3, -1, 0, 1, 2, 7, int64_t{1} << 40, highest};

std::vector<AttrValue> values_for(const AttrSpec &a) {
    std::vector<AttrValue> all;
    if (a.kind == AttrKind::ints) {
        all.emplace_back(Ints{});
        all.emplace_back(Ints(9, 1));
        for (const int64_t v : extremes)
            for (const int64_t w : extremes) all.emplace_back(Ints{v, w});
    }
    if (a.kind == AttrKind::real)
        for (const double v : {-1.0, 0.0, 0.5, 2.0, std::nan(""), HUGE_VAL}) all.emplace_back(v);
    if (a.kind == AttrKind::choice) all.emplace_back("none");
    if (a.kind == AttrKind::dtype)
        for (const char *v : {"none", "bool", "bf16"}) all.emplace_back(v);
    for (const int64_t v : extremes) all.emplace_back(v);
    return all;
}

TEST(Refusals, CompositeOpsNameThemselves) {
    int calls = 0, refused = 0;
    for (const RegisteredOp *op : library().ops()) {
        if (op->record.form != Form::composite) continue;
        for (const Shape &shape : {Shape{2, 3}, Shape{}, Shape{0, 3}, Shape{1, 1, 1, 1, 1, 1, 1, 1}}) {
            const std::vector<Tensor> in(op->signature.inputs.size(), Tensor::ones(shape));
            std::vector<std::vector<std::pair<std::string, AttrValue>>> lists = {{}};
            for (const AttrSpec &a : op->record.attrs)
                for (const AttrValue &v : values_for(a)) {
                    lists.push_back({{a.name, v}});
                    for (const AttrSpec &other : op->record.attrs)  // lists that belong together: begin and size
                        if (other.name != a.name && other.kind == AttrKind::ints) lists.push_back({{a.name, v}, {other.name, Ints((size_t)shape.rank(), 1)}});
                }
            for (const auto &attrs : lists) try {
                    calls++;
                    (void)Primitive(op->record.name.c_str(), attrs).run(in);
                } catch (const Error &e) {
                    refused++;
                    EXPECT_TRUE(std::string(e.what()).starts_with("[" + op->record.name + "] "))
                        << op->record.name << " of " << shape.text() << ": " << e.what();
                }
        }
    }
    EXPECT_GT(calls, 1000);
    EXPECT_GT(refused, 100);
}

TEST(Refusals, OpsOfAnyNumberOfTensors) {
    const Tensor x = Tensor::ones({2, 3}), deep = Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_THROW(F::stack({deep, deep}, 0), ShapeError);
    EXPECT_THROW(F::stack({x, deep}, 0), ShapeError);
    EXPECT_THROW(F::concat({}, 0), ShapeError);
    EXPECT_THROW(F::concat({x, x}, 7), ShapeError);
    EXPECT_THROW(F::split(x, 1, 0), ShapeError);
    EXPECT_THROW(F::split(x, 1, 2), ShapeError);
    EXPECT_THROW(F::concat({Tensor::scalar(1).expand({1 << 30, 1}), Tensor::scalar(1).expand({1 << 30, 1})}, 0), ShapeError);
}

}  // namespace
}  // namespace halyard
