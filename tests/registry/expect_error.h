// expect_error<ShapeError>("[op] message", [] { ... }) expects that the body throws exactly this
// type and text. message([] { ... }) returns the text that it throws.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "registry/base/error.h"

namespace halyard {

template<class E, class F> void expect_error(const std::string &message, const F &body) {
    try {
        body();
        ADD_FAILURE() << "nothing was thrown; expected " << message;
    } catch (const E &e) {
        EXPECT_EQ(e.what(), message);
    }
}

template<class F> std::string message(const F &body) {
    try {
        body();
    } catch (const Error &e) {
        return e.what();
    }
    return "no error";
}

}  // namespace halyard
