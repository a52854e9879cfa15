#include "registry/tensor/dlpack.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(Dlpack, GoesAndComesWithoutACopy) {
    Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
    const void *const memory = x.raw();
    dlpack::Managed *managed = dlpack::to_dlpack(x.transpose({1, 0}));
    x = {};  // the export keeps the memory
    EXPECT_EQ(managed->view.data, memory);
    EXPECT_EQ(managed->view.rank, 2);
    EXPECT_EQ(managed->view.dtype.code, 2);
    EXPECT_EQ(managed->view.dtype.bits, 32);
    EXPECT_EQ(managed->view.strides[0], 1);
    const dlpack::Imported back = dlpack::from_dlpack(managed);
    EXPECT_EQ(back.tensor().raw(), memory);
    EXPECT_EQ(back.tensor().shape(), (Shape{3, 2}));
    EXPECT_EQ(back.tensor().to_vector<double>(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(Dlpack, KeepsEachDtype) {
    for (const auto &type : dlpack::data_types) {
        const Tensor x = Tensor::full({2}, 1, type.dtype);
        const dlpack::Imported back = dlpack::from_dlpack(dlpack::to_dlpack(x));
        EXPECT_EQ(back.tensor().dtype(), type.dtype);
        EXPECT_EQ(back.tensor().to_vector<double>(), (std::vector<double>{1, 1}));
    }
}

// A tensor of another library, over `values`, that counts calls of its deleter.
struct Foreign {
    float values[6] = {0, 1, 2, 3, 4, 5};
    int64_t shape[2] = {1, 2};
    int released = 0;
    dlpack::Managed managed;

    Foreign() {
        managed.view.data = values;
        managed.view.rank = 2;
        managed.view.dtype = {2, 32, 1};
        managed.view.shape = shape;
        managed.view.byte_offset = 8;
        managed.owner = this;
        managed.deleter = [](dlpack::Managed *m) { static_cast<Foreign *>(m->owner)->released++; };
    }
};

TEST(Dlpack, ReleasesOnce) {
    Foreign foreign;
    {
        dlpack::Imported taken = dlpack::from_dlpack(&foreign.managed);
        EXPECT_EQ(taken.tensor().to_vector<double>(), (std::vector<double>{2, 3}));
        const dlpack::Imported moved = std::move(taken);
        EXPECT_EQ(moved.tensor().shape(), (Shape{1, 2}));
        EXPECT_EQ(foreign.released, 0);
    }
    EXPECT_EQ(foreign.released, 1);
    foreign.managed.deleter = nullptr;
    dlpack::from_dlpack(&foreign.managed);
    EXPECT_EQ(foreign.released, 1);
}

TEST(Dlpack, RefusesWhatNoTensorDescribes) {
    EXPECT_THROW(dlpack::to_dlpack({}), ShapeError);
    EXPECT_THROW(dlpack::from_dlpack(nullptr), ShapeError);
    Foreign foreign;
    const dlpack::View good = foreign.managed.view;
    dlpack::View &v = foreign.managed.view;
    const auto refused = [&] {
        try {
            dlpack::from_dlpack(&foreign.managed);
        } catch (const Error &e) {
            v = good;
            return std::string(e.what());
        }
        return std::string("nothing");
    };
    v.device.type = 2;
    EXPECT_NE(refused().find("device of type 2"), std::string::npos);
    v.rank = 9;
    EXPECT_NE(refused().find("rank is 9"), std::string::npos);
    v.rank = -1;
    EXPECT_NE(refused().find("rank is -1"), std::string::npos);
    v.shape = nullptr;
    EXPECT_NE(refused().find("with a shape"), std::string::npos);
    v.dtype.lanes = 4;
    EXPECT_NE(refused().find("4 lanes"), std::string::npos);
    v.data = nullptr;
    EXPECT_NE(refused().find("is null"), std::string::npos);
    v.byte_offset = 1;
    EXPECT_NE(refused().find("1 bytes off"), std::string::npos);
    int64_t backwards[] = {1, -1};
    v.strides = backwards;
    EXPECT_NE(refused().find("negative"), std::string::npos);
    foreign.shape[1] = -2;
    EXPECT_NE(refused().find("from_dlpack"), std::string::npos);
    EXPECT_EQ(foreign.released, 0);
}

}  // namespace
}  // namespace halyard
