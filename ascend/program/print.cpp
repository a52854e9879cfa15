#include <charconv>

#include "ascend/program/fields.h"
#include "ascend/program/text.h"

namespace halyard::dv {
namespace {

std::string text(const Expr &e) {
    return to_string(e);
}
std::string text(int v) {
    return std::to_string(v);
}
std::string text(bool v) {
    return v ? "1" : "0";
}
std::string text(DType t) {
    return name_of(t);
}
std::string text(Pipe p) {
    return name_of(p);
}
std::string text(Round r) {
    return name_of(r);
}
std::string text(ScalarOp op) {
    return name_of(op);
}
std::string text(const std::string &name) {
    return name;
}
std::string text(double v) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}
std::string text(const Number &n) {
    return n.is_reg() ? n.reg : text(n.imm);
}
std::string hex(uint64_t v) {
    char buffer[20] = "0x";
    return {buffer, std::to_chars(buffer + 2, buffer + sizeof buffer, v, 16).ptr};
}
std::string text(const Mask &m) {
    return m.bits ? "bits(" + hex(m.high) + ", " + hex(m.low) + ")" : text(m.count);
}
template<class T> std::string text(const Pack<T> &p) {
    std::string all;
    for (int i = 0; i < p.count; i++)
        all += (i ? "," : "") + text(*p.values[i]);
    return all;
}

// A visitor of fields(), which collects the texts of fields without and with a key.
struct Fields {
    const Program &program;
    std::vector<std::string> placed;
    std::vector<std::pair<std::string, std::string>> keyed;

    std::string text_of(const Ref &r) const {
        const Buffer *b = program.buffer(r.buffer);
        const GmTensor *t = b ? nullptr : program.tensor(r.buffer);
        const bool other = (b && b->dtype != r.dtype) || (t && t->dtype != r.dtype);
        const std::string slot = r.slot.constant() == 0 ? "" : "{" + text(r.slot) + "}";
        return r.buffer + (other ? std::string(":") + name_of(r.dtype) : "") + slot + "[" +
               text(r.offset) + "]";
    }
    void operator()(const Ref &r) { placed.push_back(text_of(r)); }
    void operator()(const Ref &r, const Number &n) {
        placed.push_back(r.buffer.empty() ? text(n) : text_of(r));
    }
    template<class T> void operator()(const T &v) { placed.push_back(text(v)); }
    template<class T> void operator()(const char *key, const T &v) {
        keyed.emplace_back(key, text(v));
    }
};

// Returns an instruction with default fields, which the text leaves out.
template<class T> T defaults(const T &) {
    return {};
}
Vec defaults(const Vec &v) {
    Vec d;
    d.op = v.op;
    return d;
}

class Printer {
public:
    explicit Printer(const Program &p) : program(p) {}

    std::string instr(const Instr &i) const {
        return std::visit(
            [&](auto op) {
                Fields f{program, {}, {}};
                Fields d{program, {}, {}};
                auto unset = defaults(op);
                fields(op, f);
                fields(unset, d);
                std::string line = name_of(i);
                for (size_t k = 0; k < f.placed.size(); k++)
                    line += (k ? ", " : " ") + f.placed[k];
                const char *space = "  ";
                for (size_t k = 0; k < f.keyed.size(); k++) {
                    if (f.keyed[k] != d.keyed[k]) {
                        line += space + f.keyed[k].first + "=" + f.keyed[k].second;
                        space = " ";
                    }
                }
                return line;
            },
            i.op);
    }

    std::string all() {
        out = "program " + program.name + " " + program.profile + " blocks=" + text(program.blocks);
        if (!program.schedule_hash.empty()) out += " schedule=" + program.schedule_hash;
        out += "\n";
        static constexpr const char *uses[] = {"in", "out", "inout", "workspace"};
        for (const GmTensor &t : program.tensors) {
            out += "gm " + t.name + " " + name_of(t.dtype) + "[" + text(t.size) + "] " +
                   uses[t.use] + (t.bypass_l2 ? " bypass_l2" : "") + "\n";
        }
        for (const ScalarParam &s : program.scalars)
            out += "scalar " + s.name + " " + name_of(s.dtype) + "\n";
        body(program.body);
        return out;
    }

private:
    void line(const std::string &s) { out += std::string(size_t(indent), ' ') + s + "\n"; }
    void body(const Body &nodes) {
        for (const Node &n : nodes)
            std::visit([&](const auto &x) { node(x); }, n.is);
    }
    void inside(const Body &nodes) {
        indent += 2;
        body(nodes);
        indent -= 2;
    }
    void node(const For &f) {
        line("for " + f.var + " in " + text(f.begin) + ", " + text(f.end) + " {");
        inside(f.body);
        line("}");
    }
    void node(const If &i) {
        line("if " + text(i.condition) + " {");
        inside(i.then);
        if (!i.otherwise.empty()) {
            line("} else {");
            inside(i.otherwise);
        }
        line("}");
    }
    void node(const Alloc &a) {
        const Buffer *b = program.buffer(a.buffer);
        if (!b) return line("alloc " + a.buffer);
        std::string s = std::string("alloc ") + name_of(b->scope) + " " + b->name + " " +
                        name_of(b->dtype) + "[" + text(Expr(b->size)) + "]";
        if (b->slots != 1) s += " slots=" + text(b->slots);
        if (b->align) s += " align=" + text(Expr(b->align));
        if (b->address >= 0) s += " @" + text(Expr(b->address));
        line(s);
    }
    void node(const Instr &i) { line(instr(i) + (i.where.empty() ? "" : "  // " + i.where)); }

    const Program &program;
    std::string out;
    int indent = 0;
};

}  // namespace

std::string to_text(const Program &p) {
    return Printer(p).all();
}
std::string to_text(const Program &p, const Instr &i) {
    return Printer(p).instr(i);
}

}  // namespace halyard::dv
