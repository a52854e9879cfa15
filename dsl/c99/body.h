// Halide's lowered statements as the body of a C99 function.
#pragma once
#include <string>

#include "dsl/c99/expressions.h"

namespace halyard::c99 {

struct Body {
    std::string text;         // lines, each with four spaces of margin or more
    int64_t arena_bytes = 0;  // of memory that its larger arrays need, in `arena`
};

// Returns the statements as text. The function's parameters are declared in `context`.
// `arena_begin` is the number of the arena's bytes that its caller uses.
Body body_of(FunctionContext &context, const Halide::Internal::Stmt &statements,
             int64_t arena_begin);

}  // namespace halyard::c99
