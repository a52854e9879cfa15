#include "registry/op/shape_binder.h"

#include <gtest/gtest.h>

#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

// An op with the shape rule of a signature.
struct ShapeRule {
    OpRecord op;
    Signature sig;

    ShapeRule(const std::string &name, const std::string &signature) : sig(name, signature) {
        op.name = name;
        op.signature = signature;
    }
    // Returns the shapes of the outputs. `dims` holds attributes, and receives what is bound.
    std::vector<Shape> infer(const std::vector<Shape> &in, Dims &dims) const {
        ShapeBinder binder(op, sig, in, dims);
        binder.bind(in);
        std::vector<Shape> out;
        for (size_t k = 0; k < sig.outputs.size(); k++)
            out.push_back(binder.output(k));
        return out;
    }
    std::vector<Shape> operator()(const std::vector<Shape> &in, Dims dims = {}) const {
        return infer(in, dims);
    }
};

TEST(ShapeBinder, Inference) {
    const ShapeRule matmul("matmul", "a[m,k] b[k,n] -> c[m,n]");
    EXPECT_EQ(matmul({{2, 3}, {3, 4}}), (std::vector<Shape>{{2, 4}}));
    EXPECT_EQ(matmul({{0, 3}, {3, 4}}), (std::vector<Shape>{{0, 4}}));
    const ShapeRule conv(
        "conv2d",
        "x[n,c,h,w] f[o,c/groups,u,v] -> y[n,o,(h+2*pad-u)/stride+1,(w+2*pad-v)/stride+1]");
    Dims dims = {{"groups", 2}, {"pad", 1}, {"stride", 2}};
    EXPECT_EQ(conv.infer({{5, 6, 8, 9}, {4, 3, 3, 3}}, dims), (std::vector<Shape>{{5, 4, 4, 5}}));
    EXPECT_EQ(dims.at("o"), 4);
    EXPECT_EQ(dims.at("w"), 9);
    EXPECT_EQ(ShapeRule("f", "x[a+b] y[a] z[b] -> w[a]")({{5}, {2}, {3}}),
              (std::vector<Shape>{{2}}))
        << "names may be bound after their use";
    const ShapeRule any("add", "x[*] y[*] bias[c] -> z[*] m[c]");
    EXPECT_EQ(any({{2, 3}, {3}, {9}}), (std::vector<Shape>{{2, 3}, {9}}));
    EXPECT_EQ(ShapeRule("range", "-> y[n]")({}, {{"n", 4}}), std::vector<Shape>{Shape{4}});
}

TEST(ShapeBinder, GroupsOfLeadingDimensions) {
    const ShapeRule softmax("softmax", "x[..n,c] w[..n] -> y[..n,c] total[n]");
    EXPECT_EQ(softmax({{2, 3, 4}, {2, 3}}), (std::vector<Shape>{{2, 3, 4}, {6}}));
    EXPECT_EQ(softmax({{4}, {}}), (std::vector<Shape>{{4}, {1}}));
    EXPECT_EQ(softmax({{7, 4}, {7}}), (std::vector<Shape>{{7, 4}, {7}}));
    EXPECT_EQ(softmax({{2, 3, 4}, {3}}), (std::vector<Shape>{{2, 3, 4}, {6}}));
    expect_error<ShapeError>(
        "[softmax] dimension 0 is 2 against 3: [2,3] and [3,2] don't broadcast (..n of w)", [&] {
            softmax({{2, 3, 4}, {3, 2}});
        });
    expect_error<ShapeError>("[softmax] x has rank 0, expected at least 1 (..n,c)", [&] {
        softmax({{}, {}});
    });
    expect_error<ShapeError>("[rows] w.n is 5, expected 6 from x[2,3,4] (w has shape [5])", [] {
        ShapeRule("rows", "x[..n,c] w[n] -> y[..n,c]")({{2, 3, 4}, {5}});
    });
}

TEST(ShapeBinder, ErrorsNameTheDimension) {
    const ShapeRule matmul("matmul", "a[m,k] b[k,n] -> c[m,n]");
    const ShapeRule conv("conv2d", "x[n,c,h,w] f[o,c/groups,u,v] -> y[n,o,h-u+1,w-v+1]");
    const Dims attrs = {{"groups", 2}};
    expect_error<ShapeError>("[matmul] b.k is 4, expected 3 from a[2,3] (b has shape [4,5])", [&] {
        matmul({{2, 3}, {4, 5}});
    });
    expect_error<ShapeError>("[matmul] a.m is 2, expected 6 (a has shape [2,3])", [&] {
        matmul({{2, 3}, {3, 5}}, {{"m", 6}});
    });
    expect_error<ShapeError>("[conv2d] x has rank 3, expected 4 (n,c,h,w)", [&] {
        conv({{1, 2, 3}, {1, 1, 1, 1}}, attrs);
    });
    expect_error<ShapeError>(
        "[conv2d] f.c/groups is 6, expected 3 from x[1,6,8,8] (f has shape [4,6,3,3])", [&] {
            conv({{1, 6, 8, 8}, {4, 6, 3, 3}}, attrs);
        });
    expect_error<ShapeError>("[rows] x.2*n is 5, expected 6 with n=3 (x has shape [5])", [] {
        ShapeRule("rows", "x[2*n] -> y[n]")({{5}}, {{"n", 3}});
    });
    expect_error<ShapeError>("[conv2d] y.h-u+1 is -1, expected 0 or more with h=1, u=3", [&] {
        conv({{1, 6, 1, 8}, {4, 3, 3, 3}}, attrs);
    });
    expect_error<ShapeError>("[conv2d] division by zero: 6 / 0 in 'c/groups'", [&] {
        conv({{1, 6, 8, 8}, {4, 6, 3, 3}}, {{"groups", 0}});
    });
    expect_error<AttrError>("[conv2d] unknown name 'groups' in 'c/groups'", [&] {
        conv({{1, 6, 8, 8}, {4, 6, 3, 3}});
    });
    expect_error<ShapeError>("[matmul] takes 2 tensors (a[m,k] b[k,n] -> c[m,n]), got 1", [&] {
        matmul({{2, 3}});
    });
    expect_error<ShapeError>("[add] dimension 0 is 2 against 3: [2] and [3] don't broadcast", [] {
        ShapeRule("add", "x[*] y[*] -> z[*]")({{2}, {3}});
    });
}

TEST(ShapeBinder, LetsComeBetweenTheInputs) {
    ShapeRule pool("pool_dx", "x[n,w] dy[n,ow] -> dx[n,w]");
    pool.op.lets = {{"ow", "w/stride"}};
    EXPECT_EQ(pool({{2, 7}, {2, 3}}, {{"stride", 2}}), (std::vector<Shape>{{2, 7}}));
    expect_error<ShapeError>("[pool_dx] dy.ow is 4, expected 3 (dy has shape [2,4])", [&] {
        pool({{2, 7}, {2, 4}}, {{"stride", 2}});
    });
}

TEST(ShapeBinder, ConditionExplainsANegativeExtent) {
    ShapeRule windows("windows", "x[w] -> y[ow]");
    windows.op.lets = {{"ow", "w-size+1"}};
    expect_error<ShapeError>("[windows] y.ow is -2, expected 0 or more with w=2, size=5", [&] {
        windows({{2}}, {{"size", 5}});
    });
    windows.op.conditions = {"size<=w"};
    expect_error<ShapeError>("[windows] needs size<=w: size is 5, w is 2", [&] {
        windows({{2}}, {{"size", 5}});
    });
}

}  // namespace
}  // namespace halyard
