// Expressions that are parsed once. An op's record holds them as text, and each plan of the op
// reads them several times; parsing took most of a plan's time.
#pragma once
#include <memory>
#include <string>

#include "registry/op/expr.h"

namespace halyard {

// Returns the parsed text, which this thread keeps. `op` stands in front of messages. Throws what
// ParsedExpr throws.
std::shared_ptr<const ParsedExpr> parsed(const std::string &text, const std::string &op = "expr");

}  // namespace halyard
