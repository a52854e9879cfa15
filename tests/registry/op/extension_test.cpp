#include "registry/op/extension.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(Extension, VariantsDeclareItWhateverTheirNames) {
    OpRecord op;
    op.variants = {{"dots", "n>=16", Extension::vnni}, {"vnni", "n>=4"}, {"any", ""}};
    EXPECT_EQ(extension_of(op, "dots"), Extension::vnni);
    EXPECT_EQ(extension_of(op, "vnni"), Extension::none);
    EXPECT_EQ(extension_of(op, "absent"), Extension::none);
}

TEST(Extension, OnlyAvx512HasKernelsWithOne) {
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
        EXPECT_TRUE(builds(Extension::none, isa));
        EXPECT_EQ(builds(Extension::vnni, isa), isa == Isa::avx512);
        EXPECT_EQ(builds(Extension::amx, isa), isa == Isa::avx512);
    }
    EXPECT_TRUE(host_has(Extension::none));
    EXPECT_STREQ(name_of(Extension::vnni), "vnni");
    EXPECT_STREQ(name_of(Extension::amx), "amx");
}

}  // namespace
}  // namespace halyard
