#include "dsl/ascend/lowering/uses.h"

#include <algorithm>

#include "dsl/ascend/lowering/update.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

bool is_tile_loop(const std::string &halide_name) {
    const size_t dot = halide_name.rfind('.');
    return halide_name.compare(dot == std::string::npos ? 0 : dot + 1, 4, "tile") == 0;
}

namespace {

// Collects the stores that read and write a buffer, in their order.
struct Stores : IRVisitor {
    explicit Stores(const Allocate *op) : name(op->name) { op->body.accept(this); }
    const std::string &name;
    std::vector<const Store *> readers, writers;
    bool once = true;  // no reader is in a branch or in a loop that is kept

private:
    using IRVisitor::visit;
    int around_ = 0;  // the number of such loops and branches around
    void visit(const For *f) override {
        const bool stays = is_tile_loop(f->name) || f->for_type != ForType::Serial;
        around_ += stays;
        IRVisitor::visit(f);
        around_ -= stays;
    }
    void visit(const IfThenElse *op) override {
        around_++;
        IRVisitor::visit(op);
        around_--;
    }
    void visit(const Store *s) override {
        if (s->name == name) writers.push_back(s);
        if (read_by(*s).count(name)) {
            readers.push_back(s);
            once &= around_ == 0;
        }
    }
};

}  // namespace

Uses::Buffer Uses::add(const Allocate *op, bool only_loaded) {
    const Stores stores(op);
    Buffer b;
    if (stores.writers.size() == 1) {
        for (auto &[name, other] : last_)
            if (can_reuse(op, stores.writers[0], other)) b.reused = name;
    }
    if (!stores.once) return b;
    b.readers = int64_t(stores.readers.size());
    if (!stores.readers.empty() && !only_loaded) last_[op->name] = {stores.readers.back(), op};
    return b;
}

bool Uses::can_reuse(const Allocate *op, const Store *writer, const Last &other) {
    const auto same = [](const Expr &a, const Expr &b) { return graph_equal(a, b); };
    const auto &of = *other.of.as<Allocate>();
    const auto &a = op->extents;
    const auto &b = of.extents;
    if (other.reader.get() != writer || of.type != op->type ||
        !std::equal(a.begin(), a.end(), b.begin(), b.end(), same))
        return false;
    const auto loads = loads_of(writer->value);
    return std::all_of(loads.begin(), loads.end(), [&](const Load *l) {
        return l->name != of.name || same(l->index, writer->index);
    });
}

}  // namespace halyard::ascend
