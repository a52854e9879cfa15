// expect_error<ShapeError>("[op] message", [] { ... }): the body throws exactly this, type and text.
#pragma once
#include <gtest/gtest.h>

#include <string>

namespace halyard {

template<class E, class F> void expect_error(const std::string &message, const F &body) {
    try {
        body();
        ADD_FAILURE() << "nothing was thrown; expected " << message;
    } catch (const E &e) { EXPECT_EQ(e.what(), message); }
}

}  // namespace halyard
