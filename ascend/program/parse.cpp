// Parses the text form of a program.
#include <map>
#include <set>
#include <sstream>

#include "ascend/program/fields.h"
#include "ascend/program/line.h"
#include "ascend/program/text.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

// A visitor of fields(), which reads the fields without a key first, then key=value in any order.
struct Reader {
    Line &line;
    const Program &program;
    bool keyed = false, first = true, matched = false;
    std::string key = {};

    void comma() {
        if (!first) line.expect(",");
        first = false;
    }
    DType type_of(const std::string &buffer) const {
        if (const Buffer *b = program.buffer(buffer)) return b->dtype;
        if (const GmTensor *t = program.tensor(buffer)) return t->dtype;
        line.fail("no buffer and no tensor is called '" + buffer + "'");
    }
    void read(Ref &r) {
        r.buffer = line.name();
        r.dtype = line.eat(":") ? dtype_of(line.name()) : type_of(r.buffer);
        if (line.eat("{")) {
            r.slot = line.expr();
            line.expect("}");
        }
        line.expect("[");
        r.offset = line.expr();
        line.expect("]");
    }
    void read(Number &n) {
        const size_t at = line.mark();
        const std::string word = line.at_name() ? line.name() : "inf";
        if (word != "inf" && word != "nan") return (void)(n.reg = word);
        line.back_to(at);
        n.imm = line.number<double>();
    }
    void read(Mask &m) {
        if (!line.eat("bits")) return (void)(m.count = line.expr());
        m.bits = true;
        line.expect("(");
        line.expect("0x");
        m.high = line.number<uint64_t>(16);
        line.expect(",");
        line.expect("0x");
        m.low = line.number<uint64_t>(16);
        line.expect(")");
    }
    void read(std::string &s) { s = line.name(); }
    void read(Expr &e) { e = line.expr(); }
    void read(int &v) { v = line.number<int>(); }
    void read(bool &v) { v = line.number<int>() != 0; }
    void read(double &v) { v = line.number<double>(); }
    void read(DType &t) { t = dtype_of(line.name()); }
    void read(Pipe &p) { p = pipe_of(line.name()); }
    void read(Round &r) { r = one_of<Round>(int(Round::truncate), line.word()); }
    void read(ScalarOp &op) { op = one_of<ScalarOp>(int(ScalarOp::to_int), line.name()); }
    template<class T> void read(const Pack<T> &p) {
        for (int i = 0; i < p.count; i++) {
            if (i) line.expect(",");
            read(*p.values[i]);
        }
    }
    template<class E> E one_of(int last, const std::string &word) {
        for (int i = 0; i <= last; i++)
            if (word == name_of((E)i)) return (E)i;
        line.fail("unknown value '" + word + "'");
    }

    template<class T> void operator()(T &v) {
        if (!keyed) {
            comma();
            read(v);
        }
    }
    // Reads a reference if the name is a buffer's or a tensor's, otherwise a number.
    void operator()(Ref &r, Number &n) {
        if (keyed) return;
        comma();
        const size_t at = line.mark();
        const std::string word = line.at_name() ? line.name() : "";
        line.back_to(at);
        if (program.buffer(word) || program.tensor(word))
            read(r);
        else
            read(n);
    }
    template<class T> void operator()(const char *name, T &&v) {
        if (keyed && key == name) {
            read(v);
            matched = true;
        }
    }
};

// Returns every instruction by its name, with default fields.
const std::map<std::string, Instr::Op> &instructions() {
    static const std::map<std::string, Instr::Op> all = [] {
        std::map<std::string, Instr::Op> m;
        const auto add = [&](const Instr::Op &op) { m.emplace(name_of(Instr{op, ""}), op); };
        for (int i = 0; i < vec_op_count; i++) {
            Vec v;
            v.op = static_cast<VecOp>(i);
            add(v);
        }
        for (int i = 0; i < 6; i++) {
            VecCmp c;
            c.op = static_cast<CmpOp>(i);
            VecReduce r;
            r.op = static_cast<ReduceOp>(i / 2);
            r.group = i % 2 != 0;
            add(c);
            add(r);
        }
        add(Dma());
        add(DmaPad());
        add(Nd2Nz());
        add(VecConv());
        add(VecSel());
        add(VecTrans());
        add(Load2d());
        add(Load3d());
        add(Mmad());
        add(CcToUb());
        add(Fixpipe());
        add(Set());
        add(ScalarLd());
        add(ScalarSt());
        add(ScalarMath());
        add(SetFlag());
        add(WaitFlag());
        add(Barrier());
        return m;
    }();
    return all;
}

class Parser {
public:
    explicit Parser(const std::string &text) {
        std::istringstream in(text);
        for (std::string s; std::getline(in, s);)
            lines.push_back(s);
    }

    Program all() {
        if (!more()) fail("expected 'program NAME PROFILE blocks=N'");
        program_line(next());
        while (more()) {
            Line line = next();
            if (line.eat("gm"))
                tensor(line);
            else if (line.eat("scalar"))
                scalar(line);
            else {
                at--;
                program.body = body(false);
            }
        }
        return std::move(program);
    }

private:
    [[noreturn]] void fail(const std::string &what) const {
        throw AttrError("dv",
                        "line " + std::to_string(at + 1) + ": " + what + ", but the text ends");
    }
    // Skips blank lines and those that begin with #. Returns false at the end of the text.
    bool more() {
        for (; at < lines.size(); at++) {
            if (const size_t i = lines[at].find_first_not_of(" \t");
                i != std::string::npos && lines[at][i] != '#')
                return true;
        }
        return false;
    }
    Line next() {
        if (!more()) fail("expected '}'");
        std::string s = lines[at++];
        where.clear();
        if (const size_t comment = s.find("  // "); comment != std::string::npos) {
            where = s.substr(comment + 5);
            s.erase(comment);
        }
        return {s, int(at)};
    }
    void program_line(Line line) {
        line.expect("program");
        program.name = line.name();
        program.profile = line.name();
        line.expect("blocks");
        line.expect("=");
        program.blocks = line.expr();
        if (line.eat("schedule")) {
            line.expect("=");
            program.schedule_hash = line.word();
        }
        line.end();
    }
    void tensor(Line &line) {
        GmTensor t;
        t.name = fresh(line);
        t.dtype = dtype_of(line.name());
        line.expect("[");
        t.size = line.expr();
        line.expect("]");
        static const std::map<std::string, GmTensor::Use> uses = {
            {"in", GmTensor::in},
            {"out", GmTensor::out},
            {"inout", GmTensor::inout},
            {"workspace", GmTensor::workspace}};
        const auto use = uses.find(line.name());
        if (use == uses.end()) line.fail("expected in, out, inout or workspace");
        t.use = use->second;
        t.bypass_l2 = line.eat("bypass_l2");
        line.end();
        program.tensors.push_back(t);
    }
    void scalar(Line &line) {
        ScalarParam s;
        s.name = line.name();
        s.dtype = dtype_of(line.name());
        line.end();
        program.scalars.push_back(s);
    }
    std::string fresh(Line &line) {
        const std::string name = line.name();
        if (!names.insert(name).second) line.fail("a second '" + name + "'");
        return name;
    }
    Alloc alloc(Line &line) {
        Buffer b;
        b.scope = scope_of(line.name());
        b.name = fresh(line);
        b.dtype = dtype_of(line.name());
        line.expect("[");
        b.size = line.number<int64_t>();
        line.expect("]");
        if (b.size <= 0)
            line.fail("a buffer has at least one element, not " + std::to_string(b.size));
        if (line.eat("slots")) {
            line.expect("=");
            b.slots = line.number<int>();
        }
        if (b.slots <= 0)
            line.fail("a buffer has at least one slot, not " + std::to_string(b.slots));
        if (line.eat("align")) {
            line.expect("=");
            b.align = line.number<int64_t>();
        }
        if (line.eat("@")) b.address = line.number<int64_t>();
        line.end();
        program.buffers.push_back(b);
        return {b.name};
    }
    Instr instruction(Line &line) {
        const std::string name = line.word();
        const auto it = instructions().find(name);
        if (it == instructions().end()) line.fail("unknown instruction '" + name + "'");
        Instr i{it->second, where};
        std::visit(
            [&](auto &op) {
                Reader r{line, program};
                fields(op, r);
                r.keyed = true;
                std::set<std::string> seen;
                while (!line.at_end()) {
                    r.key = line.name();
                    r.matched = false;
                    line.expect("=");
                    if (!seen.insert(r.key).second) line.fail("a second '" + r.key + "'");
                    fields(op, r);
                    if (!r.matched) line.fail(name + " has no field '" + r.key + "'");
                }
            },
            i.op);
        return i;
    }
    For loop(Line &line) {
        For f;
        f.var = line.name();
        line.expect("in");
        f.begin = line.expr();
        line.expect(",");
        f.end = line.expr();
        line.expect("{");
        line.end();
        f.body = body(true);
        Line last = next();
        last.expect("}");
        last.end();
        return f;
    }
    If branch(Line &line) {
        If i;
        i.condition = line.expr();
        line.expect("{");
        line.end();
        i.then = body(true);
        Line last = next();
        last.expect("}");
        if (last.eat("else")) {
            last.expect("{");
            i.otherwise = body(true);
            last = next();
            last.expect("}");
        }
        last.end();
        return i;
    }
    // Reads up to the '}' that ends the body (inner), or to the end of the text.
    Body body(bool inner) {
        Body nodes;
        while (inner || more()) {
            Line line = next();
            if (inner && line.peek() == '}') {
                at--;
                return nodes;
            }
            Node &node = nodes.emplace_back();
            if (line.eat("for"))
                node.is = loop(line);
            else if (line.eat("if"))
                node.is = branch(line);
            else if (line.eat("alloc"))
                node.is = alloc(line);
            else
                node.is = instruction(line);
        }
        return nodes;
    }

    std::vector<std::string> lines;
    size_t at = 0;
    std::string where;
    Program program;
    std::set<std::string> names;
};

}  // namespace

Program parse_program(const std::string &text) {
    return Parser(text).all();
}

}  // namespace halyard::dv
