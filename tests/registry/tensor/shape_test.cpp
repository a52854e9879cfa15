#include "registry/tensor/shape.h"

#include <gtest/gtest.h>

#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

TEST(Shapes, Basics) {
    Shape s{2, 3};
    s.push_back(5);
    s.insert(0, 7);
    EXPECT_EQ(s.text(), "[7,2,3,5]");
    s.erase(1);
    EXPECT_EQ(s, (Shape{7, 3, 5}));
    EXPECT_EQ(s.elements(), 105);
    EXPECT_EQ(dense_strides(s), (Shape{15, 5, 1}));
    EXPECT_EQ(Shape().elements(), 1);
    EXPECT_EQ(Shape().text(), "[]");
    EXPECT_EQ(dense_strides({2, 0, 3}), (Shape{3, 3, 1}));
    expect_error<ShapeError>("[shape] rank is 9, the limit is 8",
                             [] { Shape(std::vector<int64_t>(9, 1)); });
}

TEST(Shapes, Broadcast) {
    EXPECT_EQ(broadcast("add", {2, 3}, {3}), (Shape{2, 3}));
    EXPECT_EQ(broadcast("add", {3}, {2, 1}), (Shape{2, 3}));
    EXPECT_EQ(broadcast("add", {}, {2, 1}), (Shape{2, 1}));
    EXPECT_EQ(broadcast("add", {0, 3}, {1, 1}), (Shape{0, 3}));
    EXPECT_EQ(broadcast("add", {4, 1, 2}, {1, 5, 1}), (Shape{4, 5, 2}));
    expect_error<ShapeError>("[add] dimension 1 is 3 against 4: [2,3] and [4] don't broadcast", [] {
        broadcast("add", {2, 3}, {4});
    });
    expect_error<ShapeError>("[add] dimension 1 is 4 against 3: [4] and [2,3] don't broadcast", [] {
        broadcast("add", {4}, {2, 3});
    });
    expect_error<ShapeError>("[add] dimension 0 is 0 against 2: [0] and [2] don't broadcast",
                             [] { broadcast("add", {0}, {2}); });
}

TEST(Shapes, AxesFromBothEnds) {
    EXPECT_EQ(normal_axis("softmax", -1, 4), 3);
    EXPECT_EQ(normal_axis("softmax", 0, 4), 0);
    expect_error<ShapeError>("[softmax] axis is 4, expected -4 to 3",
                             [] { normal_axis("softmax", 4, 4); });
}

TEST(Shapes, LimitsOfSizes) {
    EXPECT_EQ(checked_elements("t", {2147483647}), 2147483647);
    EXPECT_EQ(checked_elements("t", {}), 1);
    EXPECT_EQ(checked_elements("t", {5, 0}), 0);
    expect_error<ShapeError>("[t] shape [65536,32768] has more than 2147483647 elements (sizes "
                             "past 2^31 are not supported)",
                             [] {
                                 checked_elements("t", {65536, 32768});
                             });
    EXPECT_THROW(checked_elements("t", {int64_t{1} << 62, 8}), ShapeError) << "the product is 2^65";
    EXPECT_THROW(checked_elements("t", {0, int64_t{1} << 40}), ShapeError)
        << "strides would not fit";
    expect_error<ShapeError>("[t] extent 1 of [2,-3] is negative", [] {
        checked_elements("t", {2, -3});
    });
}

}  // namespace
}  // namespace halyard
