#include <algorithm>

#include "ascend/simulator/check.h"

namespace halyard::dv {
namespace {

class Verifier {
public:
    explicit Verifier(const Program &p) : program_(p) {
        known_.push_back(
            {"block_idx", Range{0, p.blocks.constant() ? std::max<int64_t>(p.blocks.value() - 1, 0)
                                                       : 0x7fffffff}});
    }
    std::vector<Issue> run() {
        for (const Buffer &b : program_.buffers)
            capacity(b);
        body(program_.body);
        return log_.all();
    }

private:
    void capacity(const Buffer &b) {
        const int64_t has = program_.chip().bytes(b.scope);
        const int64_t end = b.address + b.slot_bytes() * b.slots;
        if (b.address >= 0 && end > has) {
            log_.add("E-CAP", &b, [&] {
                return program_.name + ": '" + b.name + "' ends at byte " + std::to_string(end) +
                       " of " + name_of(b.scope) + ", which has " + std::to_string(has);
            });
        }
        if (b.address >= 0 &&
            b.address % std::max<int64_t>(program_.chip().align(b.scope), 1) != 0) {
            log_.add("E-ALIGN", &b, [&] {
                return program_.name + ": '" + b.name + "' begins at byte " +
                       std::to_string(b.address) + " of " + name_of(b.scope) +
                       ", which must be a multiple of " +
                       std::to_string(program_.chip().align(b.scope));
            });
        }
        if (b.scope >= Scope::l0a && b.size * int64_t(bytes_of(b.dtype)) % fractal_bytes != 0) {
            log_.add("E-FRACTAL", &b, [&] {
                return program_.name + ": '" + b.name + "' in " + name_of(b.scope) + " has " +
                       std::to_string(b.size * int64_t(bytes_of(b.dtype))) +
                       " B, not a multiple of " + std::to_string(fractal_bytes);
            });
        }
    }
    std::optional<Range> range(const std::string &name) const {
        for (size_t i = known_.size(); i-- > 0;)
            if (known_[i].first == name) return known_[i].second;
        return {};
    }
    void body(const Body &nodes) {
        const Ranges ranges = [this](const std::string &name) { return range(name); };
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is)) {
                const auto begin = range_of(f->begin, ranges);
                const auto end = range_of(f->end, ranges);
                if (begin && end && end->max <= begin->min) continue;  // the loop never runs
                known_.emplace_back(f->var, begin && end
                                                ? std::optional(Range{begin->min, end->max - 1})
                                                : std::nullopt);
                body(f->body);
                known_.pop_back();
            } else if (const If *c = std::get_if<If>(&n.is)) {
                body(c->then);
                body(c->otherwise);
            } else if (const Instr *i = std::get_if<Instr>(&n.is))
                instr(*i, ranges);
        }
    }
    void instr(const Instr &i, const Ranges &ranges) {
        check_instr(program_, i, ranges, [&](const std::string &id, const std::string &text) {
            log_.add(id, &i, [&] { return text; });
        });
        int k = 0;
        for (const ConstOperand &o : operands(i)) {
            const Buffer *b = program_.buffer(o.ref->buffer);
            const int64_t unit = alignment(program_.chip(), i.op, k++, b ? b->scope : Scope::gm,
                                           o.ref->dtype);
            const auto offset = o.ref->offset.constant();
            if (b && offset && *offset * int64_t(bytes_of(o.ref->dtype)) % unit != 0) {
                log_.add("E-ALIGN", &i, [&] {
                    return describe(program_, i) + ": '" + b->name + "' is used from byte " +
                           std::to_string(*offset * int64_t(bytes_of(o.ref->dtype))) +
                           ", which must be a multiple of " + std::to_string(unit);
                });
            }
        }
    }

    const Program &program_;
    std::vector<std::pair<std::string, std::optional<Range>>> known_;
    IssueLog log_;
};

}  // namespace

std::vector<Issue> verify(const Program &p) {
    return Verifier(p).run();
}

}  // namespace halyard::dv
