#include "registry/op/expr_cache.h"

#include <unordered_map>

namespace halyard {
namespace {

// The ops of the kit have about 1,000 expressions; conditions that a user writes come on top.
constexpr size_t most_kept = 4096;

// A static destructor may run an op after the thread's own objects are destroyed, so that this flag
// has no destructor.
thread_local bool is_destroyed = false;

// Each thread has its own: there is no lock that could be held at a fork.
struct Kept {
    std::unordered_map<std::string, std::shared_ptr<const ParsedExpr>> by_text;
    ~Kept() { is_destroyed = true; }
};

}  // namespace

std::shared_ptr<const ParsedExpr> parsed(const std::string &text, const std::string &op) {
    if (is_destroyed) return std::make_shared<const ParsedExpr>(text, op);
    thread_local Kept kept;
    if (const auto it = kept.by_text.find(text); it != kept.by_text.end()) return it->second;
    auto expression = std::make_shared<const ParsedExpr>(text, op);
    if (kept.by_text.size() < most_kept) kept.by_text.emplace(text, expression);
    return expression;
}

}  // namespace halyard
