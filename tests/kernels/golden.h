// Reads arrays that MindSpore or PyTorch computed (tests/goldens), and compares tensors with them.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "primitives/primitive.h"
#include "registry/tensor/npy.h"

namespace halyard {

inline std::map<std::string, Tensor> golden(const std::string &name) {
    std::string path = HALYARD_SOURCE_DIR "/tests/goldens/";
    path += name;
    path += ".npz";
    return load_npz(path);
}

inline void expect_close(const Tensor &got, const Tensor &want, double tolerance,
                         const std::string &what) {
    ASSERT_EQ(got.shape().text(), want.shape().text()) << what;
    const std::vector<double> a = got.to_vector<double>();
    const std::vector<double> b = want.to_vector<double>();
    double worst = 0, largest = 1;
    for (double v : b)
        largest = std::max(largest, std::fabs(v));
    for (size_t i = 0; i < a.size(); i++)
        worst = std::max(worst, a[i] == b[i] ? 0 : std::fabs(a[i] - b[i]));
    EXPECT_LE(worst, tolerance * largest) << what;
}

using Given = std::vector<std::pair<std::string, AttrValue>>;
inline Tensor run_op(const char *op, std::initializer_list<Tensor> in, const Given &attrs = {}) {
    return Primitive(op, attrs).run(in)[0];
}

}  // namespace halyard
