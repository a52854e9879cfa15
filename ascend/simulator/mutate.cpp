#include "ascend/simulator/mutate.h"

#include <map>

namespace halyard::dv {
namespace {

// The names of the kinds of faults.
namespace kind {
constexpr const char *lost_flag = "lost-flag";
constexpr const char *lost_barrier = "lost-barrier";
constexpr const char *dropped_tail = "dropped-tail";
constexpr const char *late_start = "late-start";
constexpr const char *lost_guard = "lost-guard";
constexpr const char *missing_step = "missing-step";
constexpr const char *wrong_length = "wrong-length";
constexpr const char *wrong_mask = "wrong-mask";
constexpr const char *wrong_offset = "wrong-offset";
constexpr const char *wrong_stride = "wrong-stride";
constexpr const char *wrong_slot = "wrong-slot";
constexpr const char *wrong_comparison = "wrong-comparison";
constexpr const char *wrong_operator = "wrong-operator";
constexpr const char *swapped_operands = "swapped-operands";
constexpr const char *wrong_constant = "wrong-constant";
constexpr const char *wrong_rounding = "wrong-rounding";
constexpr const char *lost_sum = "lost-sum";
}  // namespace kind

}  // namespace

const std::vector<std::pair<std::string, std::string>> &fault_kinds() {
    static const std::vector<std::pair<std::string, std::string>> kinds = {
        {kind::lost_flag, "no side of a flag: one pipe doesn't wait for the other"},
        {kind::lost_barrier, "a pipe doesn't wait for itself"},
        {kind::dropped_tail,
         "a loop stops one turn early, or the code for what remains is missing"},
        {kind::late_start, "a loop begins one turn late"},
        {kind::lost_guard, "a condition is taken to hold"},
        {kind::missing_step, "an instruction is left out"},
        {kind::wrong_length, "one repeat, burst, row or column too few"},
        {kind::wrong_mask, "half of a repeat's elements"},
        {kind::wrong_offset, "an operand is one block further"},
        {kind::wrong_stride, "the step between repeats or bursts is one block longer"},
        {kind::wrong_slot, "always the first slot of a double buffer"},
        {kind::wrong_comparison, "lt for le, eq for ne, ..."},
        {kind::wrong_operator, "sub for add, add for mul, min for max, a fractal transposed, ..."},
        {kind::swapped_operands, "b - a for a - b, b / a for a / b, the other side of a selection"},
        {kind::wrong_constant, "a number has the other sign"},
        {kind::wrong_rounding, "another direction"},
        {kind::lost_sum,
         "a product or a move overwrites what it should add to, or adds to what it should begin"},
    };
    return kinds;
}

namespace {

struct Flag {
    Pipe src, dst;
    std::string id;
    bool operator==(const Flag &) const = default;
};

class Planter {
public:
    explicit Planter(std::string wanted) : wanted_(std::move(wanted)) {}
    std::vector<std::string> found;
    bool planted = false;

    void program(Program &p) {
        program_ = &p;
        body(p.body);
        if (lost_) erase_flags(p.body);
    }

private:
    // Returns true if the fault to plant is of this kind and at this place, and notes that it is
    // planted. Lists the fault if faults are listed. Equal places are numbered in the order of the
    // calls, so each place is tried once, and always in the same order.
    bool try_plant(const std::string &kind, const std::string &place) {
        std::string text = kind + ": " + place;
        if (const int n = ++place_counts_[text]; n > 1) text += " #" + std::to_string(n);
        if (wanted_.empty()) found.push_back(text);
        if (text != wanted_) return false;
        planted = true;
        return true;
    }

    void body(Body &nodes) {
        for (size_t k = 0; k < nodes.size();) {
            bool stays = true;
            if (For *f = std::get_if<For>(&nodes[k].is))
                loop(*f);
            else if (If *c = std::get_if<If>(&nodes[k].is))
                stays = condition(nodes, k, *c);
            else if (Instr *i = std::get_if<Instr>(&nodes[k].is))
                stays = instr(*i);
            if (stays)
                k++;
            else
                nodes.erase(nodes.begin() + long(k));
        }
    }
    void loop(For &f) {
        const bool runs = !(f.end - f.begin).constant() || *(f.end - f.begin).constant() > 0;
        if (runs && try_plant(kind::dropped_tail, "loop")) f.end = f.end - 1;
        if (runs && try_plant(kind::late_start, "loop")) f.begin = f.begin + 1;
        body(f.body);
    }
    // Returns false if the branch is to be removed.
    bool condition(Body &nodes, size_t k, If &c) {
        if (c.otherwise.empty() && try_plant(kind::dropped_tail, "guarded code")) return false;
        if (try_plant(kind::lost_guard, c.otherwise.empty() ? "guard" : "special case")) {
            const Body then = c.then;
            nodes.erase(nodes.begin() + long(k));
            nodes.insert(nodes.begin() + long(k), then.begin(), then.end());
            return true;
        }
        body(c.then);
        body(c.otherwise);
        return true;
    }

    bool instr(Instr &i) {
        const std::string name = name_of(i);
        if (const SetFlag *f = std::get_if<SetFlag>(&i.op))
            flag({f->src, f->dst, to_string(f->id)});
        if (std::get_if<SetFlag>(&i.op) || std::get_if<WaitFlag>(&i.op)) return true;
        if (std::get_if<Barrier>(&i.op)) return !try_plant(kind::lost_barrier, name);
        if (try_plant(kind::missing_step, name)) return false;
        if (!std::get_if<Set>(&i.op)) operands_of(i, name);
        std::visit([&](auto &op) { numbers(op, name); }, i.op);
        return true;
    }
    // Both sides of a flag are removed everywhere: without one of them its uses would not be
    // balanced, which every check finds.
    void flag(const Flag &f) {
        for (const Flag &known : flags_)
            if (known == f) return;
        flags_.push_back(f);
        if (try_plant(kind::lost_flag, std::string(name_of(f.src)) + " to " + name_of(f.dst))) {
            lost_ = true;
            gone_ = f;
        }
    }
    void erase_flags(Body &nodes) const {
        std::erase_if(nodes, [&](const Node &n) {
            const Instr *i = std::get_if<Instr>(&n.is);
            if (!i) return false;
            const SetFlag *s = std::get_if<SetFlag>(&i->op);
            const WaitFlag *w = std::get_if<WaitFlag>(&i->op);
            return (s && Flag{s->src, s->dst, to_string(s->id)} == gone_) ||
                   (w && Flag{w->src, w->dst, to_string(w->id)} == gone_);
        });
        for (Node &n : nodes) {
            if (For *f = std::get_if<For>(&n.is)) erase_flags(f->body);
            If *c = std::get_if<If>(&n.is);
            if (!c) continue;
            erase_flags(c->then);
            erase_flags(c->otherwise);
        }
    }

    void operands_of(Instr &i, const std::string &name) {
        for (const Operand &o : operands(i)) {
            if (o.ref->buffer.empty()) continue;
            const Buffer *b = program_->buffer(o.ref->buffer);
            const bool scalar = std::get_if<ScalarLd>(&i.op) || std::get_if<ScalarSt>(&i.op);
            if (try_plant(kind::wrong_offset, name))
                o.ref->offset = o.ref->offset + (scalar ? 1 : c0(o.ref->dtype));
            if (b && b->slots > 1 && !o.ref->slot.constant() && try_plant(kind::wrong_slot, name))
                o.ref->slot = 0;
        }
    }
    static bool several(const Expr &e) { return !e.constant() || *e.constant() > 1; }
    void shorter(Expr &count, const std::string &name, int64_t step = 1) {
        const bool is_less = !count.constant() || *count.constant() > step;
        if (is_less && try_plant(kind::wrong_length, name)) count = count - step;
    }
    void longer(Expr &stride, const Expr &count, const std::string &name) {
        if (several(count) && try_plant(kind::wrong_stride, name)) stride = stride + 1;
    }
    void half(Mask &m, const std::string &name) {
        if (m.bits || !several(m.count) || !try_plant(kind::wrong_mask, name)) return;
        m.count = m.count / 2;
    }
    void negate(Number &n, const std::string &name) {
        if (!n.is_reg() && n.imm != 0 && try_plant(kind::wrong_constant, name)) n.imm = -n.imm;
    }

    void numbers(Dma &op, const std::string &name) {
        shorter(op.nburst, name);
        shorter(op.burst, name);
        longer(op.src_gap, op.nburst, name);
        longer(op.dst_gap, op.nburst, name);
        if (op.atomic && try_plant(kind::lost_sum, name)) op.atomic = false;
    }
    void numbers(DmaPad &op, const std::string &name) {
        shorter(op.nburst, name);
        shorter(op.bytes, name, 4);
        longer(op.src_gap, op.nburst, name);
        longer(op.dst_gap, op.nburst, name);
    }
    void numbers(Nd2Nz &op, const std::string &name) {
        shorter(op.rows, name);
        shorter(op.columns, name);
        longer(op.pitch, op.rows, name);
    }
    void numbers(Vec &op, const std::string &name) {
        static const std::map<VecOp, VecOp> others = {
            {VecOp::add, VecOp::sub},   {VecOp::mul, VecOp::add},   {VecOp::max, VecOp::min},
            {VecOp::min, VecOp::max},   {VecOp::and_, VecOp::or_},  {VecOp::or_, VecOp::and_},
            {VecOp::adds, VecOp::muls}, {VecOp::muls, VecOp::adds}, {VecOp::maxs, VecOp::mins},
            {VecOp::mins, VecOp::maxs}, {VecOp::exp, VecOp::ln},    {VecOp::sqrt, VecOp::rsqrt},
            {VecOp::abs, VecOp::relu},  {VecOp::mla, VecOp::mul},
        };
        const auto other = others.find(op.op);
        if (other != others.end() && try_plant(kind::wrong_operator, name)) op.op = other->second;
        if ((op.op == VecOp::sub || op.op == VecOp::div) && try_plant(kind::swapped_operands, name))
            std::swap(op.src[0], op.src[1]);
        if (has_number(op.op)) negate(op.number, name);
        shorter(op.repeat, name);
        half(op.mask, name);
        longer(op.dst_rep, op.repeat, name);
        for (int k = 0; k < sources_of(op.op); k++)
            longer(op.src_rep[k], op.repeat, name);
    }
    void numbers(VecReduce &op, const std::string &name) {
        if (op.op != ReduceOp::add && try_plant(kind::wrong_operator, name))
            op.op = op.op == ReduceOp::max ? ReduceOp::min : ReduceOp::max;
        shorter(op.repeat, name);
        half(op.mask, name);
        longer(op.dst_rep, op.repeat, name);
        longer(op.src_rep, op.repeat, name);
    }
    void numbers(VecConv &op, const std::string &name) {
        if (op.round != Round::none && try_plant(kind::wrong_rounding, name))
            op.round = op.round == Round::floor ? Round::ceil : Round::floor;
        shorter(op.repeat, name);
        half(op.mask, name);
        longer(op.dst_rep, op.repeat, name);
        longer(op.src_rep, op.repeat, name);
    }
    void numbers(VecCmp &op, const std::string &name) {
        static const std::map<CmpOp, CmpOp> others = {
            {CmpOp::lt, CmpOp::le}, {CmpOp::le, CmpOp::lt}, {CmpOp::gt, CmpOp::ge},
            {CmpOp::ge, CmpOp::gt}, {CmpOp::eq, CmpOp::ne}, {CmpOp::ne, CmpOp::eq},
        };
        if (try_plant(kind::wrong_comparison, name)) op.op = others.at(op.op);
        shorter(op.repeat, name);
        for (Expr &step : op.src_rep)
            longer(step, op.repeat, name);
    }
    void numbers(VecSel &op, const std::string &name) {
        if (!op.src[1].buffer.empty() && try_plant(kind::swapped_operands, name))
            std::swap(op.src[0], op.src[1]);
        negate(op.number, name);
        shorter(op.repeat, name);
        half(op.mask, name);
        longer(op.dst_rep, op.repeat, name);
        for (int k = 0; k < (op.src[1].buffer.empty() ? 1 : 2); k++)
            longer(op.src_rep[k], op.repeat, name);
    }
    void numbers(VecTrans &op, const std::string &name) {
        shorter(op.repeat, name);
        longer(op.dst_rep, op.repeat, name);
        longer(op.src_rep, op.repeat, name);
    }
    void numbers(Load2d &op, const std::string &name) {
        shorter(op.repeat, name);
        longer(op.src_stride, op.repeat, name);
        longer(op.dst_gap, op.repeat, name);
        if (try_plant(kind::wrong_operator, name)) op.transpose = !op.transpose;
    }
    void numbers(Load3d &op, const std::string &name) {
        shorter(op.m_extent, name, cube);
        shorter(op.k_extent, name, cube);
        if (try_plant(kind::wrong_length, name)) op.pad[0] = op.pad[0] + 1;
        if (try_plant(kind::wrong_length, name)) op.pad[2] = op.pad[2] + 1;
    }
    void numbers(Mmad &op, const std::string &name) {
        shorter(op.m, name, cube);
        shorter(op.k, name, cube);
        shorter(op.n, name, cube);
        if (try_plant(kind::lost_sum, name)) op.accumulate = op.accumulate == 0;
    }
    void numbers(CcToUb &op, const std::string &name) {
        shorter(op.nburst, name);
        shorter(op.burst, name);
        longer(op.src_gap, op.nburst, name);
        longer(op.dst_gap, op.nburst, name);
        if (op.relu && try_plant(kind::wrong_operator, name)) op.relu = false;
    }
    void numbers(Fixpipe &op, const std::string &name) {
        shorter(op.m, name);
        shorter(op.n, name);
        longer(op.pitch, op.m, name);
        if (op.relu && try_plant(kind::wrong_operator, name)) op.relu = false;
    }
    void numbers(Set &op, const std::string &name) {
        if (try_plant(kind::wrong_constant, name)) op.value = op.value + 1;
    }
    void numbers(ScalarMath &op, const std::string &name) {
        static const std::map<ScalarOp, ScalarOp> others = {{ScalarOp::add, ScalarOp::sub},
                                                            {ScalarOp::mul, ScalarOp::add},
                                                            {ScalarOp::max, ScalarOp::min},
                                                            {ScalarOp::min, ScalarOp::max}};
        const auto other = others.find(op.op);
        if (other != others.end() && try_plant(kind::wrong_operator, name)) op.op = other->second;
        if ((op.op == ScalarOp::sub || op.op == ScalarOp::div) &&
            try_plant(kind::swapped_operands, name))
            std::swap(op.a, op.b);
        negate(op.a, name);
        negate(op.b, name);
    }
    void numbers(ScalarSt &op, const std::string &name) { negate(op.value, name); }
    // Scalar loads, flags and barriers have none.
    template<class Op> void numbers(Op &, const std::string &) {}

    const std::string wanted_;
    const Program *program_ = nullptr;
    std::map<std::string, int> place_counts_;
    std::vector<Flag> flags_;
    Flag gone_ = {};  // the flag that is lost
    bool lost_ = false;
};

}  // namespace

std::vector<std::string> faults_of(const Program &p) {
    Planter lister("");
    Program copy = p;
    lister.program(copy);
    return lister.found;
}

bool plant(Program &p, const std::string &fault) {
    Planter planter(fault);
    planter.program(p);
    return planter.planted;
}

}  // namespace halyard::dv
