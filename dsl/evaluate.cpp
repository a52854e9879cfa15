#include "dsl/evaluate.h"

#include <algorithm>
#include <array>

#include "dsl/evaluate_code.h"

namespace halyard {
using namespace Halide::Internal;
using Halide::Expr;

namespace evaluation {
namespace {

// The indices of an element. Those of kernels are few, and there are too many places for a
// std::vector each.
class Place {
public:
    explicit Place(size_t n = 0) : size_(n) {
        if (n > at_.size())
            throw UnsupportedDefinition("evaluate", "doesn't know Funcs of " + std::to_string(n) +
                                                        " dimensions");
    }
    size_t size() const { return size_; }
    int &operator[](size_t d) { return at_[d]; }
    int operator[](size_t d) const { return at_[d]; }
    const int *begin() const { return at_.data(); }
    const int *end() const { return at_.data() + size_; }

private:
    std::array<int, 10> at_ = {};
    size_t size_;
};

// Values by place, and several of them each. Places are found by hashing; an entry's number stays
// what it is.
class Table {
public:
    Table(size_t dimensions, size_t components)
        : dimensions_(dimensions), components_(components), heads_(64, -1) {}

    // The entry of a place; -1 where there is none.
    int find(const Place &at) const {
        for (int e = heads_[hash(at) & (heads_.size() - 1)]; e >= 0; e = next_[size_t(e)]) {
            if (std::equal(at.begin(), at.end(), places_.begin() + long(size_t(e) * dimensions_)))
                return e;
        }
        return -1;
    }
    int add(const Place &at) {
        if (next_.size() >= heads_.size()) grow();
        const int e = int(next_.size());
        places_.insert(places_.end(), at.begin(), at.end());
        values_.resize(values_.size() + components_);
        next_.push_back(-1);
        link(e, hash(at));
        return e;
    }
    Value &value(int entry, int component) {
        return values_[size_t(entry) * components_ + size_t(component)];
    }
    void clear() {
        std::fill(heads_.begin(), heads_.end(), -1);
        next_.clear();
        places_.clear();
        values_.clear();
    }

private:
    static size_t hash(const Place &at) {
        uint64_t h = 1469598103934665603u;
        for (int i : at)
            h = (h ^ uint32_t(i)) * 0x9e3779b97f4a7c15u;
        return size_t(h ^ (h >> 29));
    }
    void link(int e, size_t hashed) {
        int &head = heads_[hashed & (heads_.size() - 1)];
        next_[size_t(e)] = head;
        head = e;
    }
    void grow() {
        heads_.assign(heads_.size() * 2, -1);
        for (size_t e = 0; e < next_.size(); e++) {
            Place at(dimensions_);
            std::copy_n(places_.begin() + long(e * dimensions_), dimensions_, &at[0]);
            link(int(e), hash(at));
        }
    }

    size_t dimensions_, components_;
    std::vector<int> heads_, next_, places_;
    std::vector<Value> values_;
};

// The variables of one definition while it is evaluated.
struct Frame {
    std::vector<Value> values;
    std::vector<int> pending;  // of a let that nobody has needed yet: the place of its value
};

struct Definition {
    Code code;
    Frame frame;
    std::vector<int> values;  // of the components
};

struct Range {
    int slot, from, extent;  // the last two are places of expressions
};

struct UpdateDefinition : Definition {
    std::vector<int> places;    // where it writes
    int predicate = -1;         // -1: always
    std::vector<Range> ranges;  // of its reduction domain, innermost first
    std::vector<Value> next;    // of the components, until all are computed
    // bound dimensions that one of its pure variables runs over, and its slot
    std::vector<std::pair<int, int>> columns;
};

// The dimensions of a Func with updates are free, where every update and every read of itself
// stands at the same place as the element it writes, or bound. For each place in the free ones the
// updates run once, over whatever they write in the bound ones.
struct Column {
    Table elements;
    // of each bound dimension: what is asked for, where pure variables run over it
    Place least, most;
    bool is_done = false;
};

struct Func {
    Func(const Function &f, const Names &names)
        : function(f), pure{Code(names), {}, {}}, elements(f.args().size(), size_t(f.outputs())),
          columns(0, 1) {}

    Function function;
    Definition pure;
    std::vector<UpdateDefinition> updates;
    std::vector<int> free, bound;
    bool is_kept = true;  // pure, and worth a table
    Table elements;       // of a pure Func, and of one without bound dimensions
    Table columns;        // by the place in the free dimensions: the number of a column
    std::vector<std::unique_ptr<Column>> all_columns;
    Column *current = nullptr;          // whose updates run
    std::vector<Value> current_values;  // without bound dimensions: the element
    bool has_grown = false;             // a read reached past what pure variables run over
};

struct Argument {
    std::string name;
    halide_type_t type;
    bool is_buffer = false;
};

struct GaveUp {};

}  // namespace
}  // namespace evaluation

using namespace evaluation;

struct Evaluator::Parts {
    std::string op;
    std::vector<Function> outputs;
    std::vector<Argument> arguments;  // inputs and scalars, as the kernel takes them
    // arguments that expressions name: which, and what of a tensor
    std::vector<std::pair<int, int>> asked;
    std::map<std::string, int> funcs;  // by name
    std::vector<std::unique_ptr<evaluation::Func>> all;
    void **given = nullptr;
    int64_t steps = 0, limit = 0;

    explicit Parts(const Kernel &k) : op(k.op->name) {
        Halide::Pipeline pipeline = k.pipeline;
        for (const Halide::Func &f : pipeline.outputs())
            outputs.push_back(f.function());
        for (const Halide::Argument &a : k.arguments())
            arguments.push_back({a.name, a.type, a.is_buffer()});
        const auto environment = build_environment(outputs);
        for (auto &[name, f] : environment)
            funcs.emplace(name, int(funcs.size()));
        all.resize(funcs.size());
        for (auto &[name, f] : environment)
            all[size_t(funcs.at(name))] = func(f);
    }

    // Compiling.

    enum Field { scalar, least, extent, stride };

    int argument(const std::string &name) {
        static const std::pair<const char *, Field> fields[] = {
            {".min.", least}, {".extent.", extent}, {".stride.", stride}};
        for (size_t k = 0; k < arguments.size(); k++) {
            const Argument &a = arguments[k];
            if (!a.is_buffer && a.name == name) return ask(int(k), scalar);
            for (auto &[text, field] : fields) {
                const std::string from = a.name + text;
                if (a.is_buffer && name.starts_with(from))
                    return ask(int(k), field + 8 * std::stoi(name.substr(from.size())));
            }
        }
        throw UnsupportedDefinition("evaluate", "doesn't know the variable " + name);
    }
    int ask(int which, int what) {
        asked.emplace_back(which, what);
        return int(asked.size()) - 1;
    }
    int input(const std::string &name) const {
        for (size_t k = 0; k < arguments.size(); k++)
            if (arguments[k].is_buffer && arguments[k].name == name) return int(k);
        throw UnsupportedDefinition("evaluate", "doesn't know the tensor " + name);
    }
    Names names(const std::string &self) {
        Names n;
        n.self = self;
        n.func = [this](const Call *c) { return funcs.at(c->name); };
        n.argument = [this](const std::string &name, const Halide::Type &) {
            return argument(name);
        };
        n.input = [this](const std::string &name) { return input(name); };
        return n;
    }

    std::unique_ptr<evaluation::Func> func(const Function &f) {
        if (f.has_extern_definition())
            throw UnsupportedDefinition("evaluate", "doesn't know extern stages");
        Names pure = names("");
        for (const std::string &v : f.args())
            pure.slots.emplace(v, int(pure.slots.size()));
        auto made = std::make_unique<evaluation::Func>(f, pure);
        for (const Expr &v : f.definition().values())
            made->pure.values.push_back(made->pure.code.add(v));
        for (const auto &u : f.updates())
            made->updates.push_back(update(f, u));
        split_dimensions(*made);
        const std::vector<Node> &nodes = made->pure.code.nodes;
        const bool reads = std::any_of(nodes.begin(), nodes.end(),
                                       [](const Node &n) { return n.kind == Kind::read; });
        made->is_kept = reads || nodes.size() > 24;
        prepare(made->pure);
        for (UpdateDefinition &u : made->updates)
            prepare(u);
        made->columns = Table(made->free.size(), 1);
        return made;
    }
    static void prepare(Definition &d) {
        d.frame.values.resize(size_t(d.code.slots()));
        d.frame.pending.assign(size_t(d.code.slots()), -1);
    }

    UpdateDefinition update(const Function &f, const Halide::Internal::Definition &d) {
        Names names_of = names(f.name());
        for (const std::string &v : f.args())
            names_of.slots.emplace(v, int(names_of.slots.size()));
        const auto &domain = d.schedule().rvars();
        for (const ReductionVariable &v : domain)
            names_of.slots.emplace(v.var, int(names_of.slots.size()));
        UpdateDefinition u{
            {Code(names_of), {}, {}}, {}, -1, {}, std::vector<Value>(d.values().size()), {}};
        for (size_t k = 0; k < domain.size(); k++) {
            u.ranges.push_back({int(f.args().size() + k), u.code.add(domain[k].min),
                                u.code.add(domain[k].extent)});
        }
        if (!is_const_one(d.predicate())) u.predicate = u.code.add(d.predicate());
        for (const Expr &p : d.args())
            u.places.push_back(u.code.add(p));
        for (const Expr &v : d.values())
            u.values.push_back(u.code.add(v));
        return u;
    }

    // Is this place of an update, or of a read in it, the definition's own variable of the
    // dimension?
    static bool is_own(const Code &code, int place, size_t dimension) {
        const Node &n = code.nodes[size_t(place)];
        return n.kind == Kind::slot && n.index == int(dimension);
    }
    static void split_dimensions(evaluation::Func &f) {
        for (size_t d = 0; d < f.function.args().size(); d++) {
            bool is_free = true;
            for (const UpdateDefinition &u : f.updates) {
                is_free &= is_own(u.code, u.places[d], d);
                for (const Node &n : u.code.nodes)
                    if (n.kind == Kind::read_self) is_free &= is_own(u.code, n.places[d], d);
            }
            (is_free ? f.free : f.bound).push_back(int(d));
        }
        for (UpdateDefinition &u : f.updates) {
            for (size_t b = 0; b < f.bound.size(); b++) {
                const auto d = size_t(f.bound[b]);
                if (is_own(u.code, u.places[d], d)) u.columns.emplace_back(int(b), int(d));
            }
        }
    }

    // Evaluating.

    void step() {
        if (++steps > limit) throw GaveUp();
    }

    Value evaluated(Definition &d, evaluation::Func &self, int at) {
        step();
        const Node *n = &d.code.nodes[size_t(at)];
        while (n->kind == Kind::let) {
            d.frame.pending[size_t(n->index)] = n->args[0];
            n = &d.code.nodes[size_t(n->args[1])];
        }
        const auto operand = [&](int k) { return evaluated(d, self, n->args[size_t(k)]); };
        switch (n->kind) {
        case Kind::constant: return n->value;
        case Kind::slot: {
            int &pending = d.frame.pending[size_t(n->index)];
            if (pending >= 0) {
                const int value = pending;
                pending = -1;
                const Value v = evaluated(d, self, value);
                d.frame.values[size_t(n->index)] = v;
            }
            return d.frame.values[size_t(n->index)];
        }
        case Kind::argument: return argument_value(*n);
        case Kind::both: return operand(0).i ? operand(1) : Value{.i = 0};
        case Kind::either: return operand(0).i ? Value{.i = 1} : operand(1);
        case Kind::choose: return operand(operand(0).i ? 1 : 2);
        case Kind::load: return load(*n, place(d, self, *n));
        case Kind::read: {
            const Place at_place = place(d, self, *n);
            return element(*all[size_t(n->index)], at_place, n->component);
        }
        case Kind::read_self: return old_value(self, place(d, self, *n), n->component);
        case Kind::cast:
        case Kind::reinterpret:
        case Kind::negate:
        case Kind::bit_not:
        case Kind::absolute:
        case Kind::floor: return computed(*n, operand(0), {});
        default: {
            const Value a = operand(0);
            return computed(*n, a, operand(1));
        }
        }
    }
    Place place(Definition &d, evaluation::Func &self, const Node &n) {
        Place p(n.places.size());
        for (size_t k = 0; k < p.size(); k++)
            p[k] = int(evaluated(d, self, n.places[k]).i);
        return p;
    }

    const halide_buffer_t &buffer(int argument) const {
        return *(const halide_buffer_t *)given[argument];
    }
    Value argument_value(const Node &n) const {
        const auto &[which, what] = asked[size_t(n.index)];
        if (what == scalar) return loaded(given[which], arguments[size_t(which)].type);
        const halide_dimension_t &d = buffer(which).dim[what / 8];
        return {.i = what % 8 == least ? d.min : what % 8 == extent ? d.extent : d.stride};
    }
    // The address of an element; null where the tensor has none there.
    static void *address(const halide_buffer_t &b, const Place &at) {
        int64_t offset = 0;
        for (size_t d = 0; d < at.size(); d++) {
            const halide_dimension_t &dim = b.dim[d];
            if (at[d] < dim.min || at[d] >= dim.min + dim.extent) return nullptr;
            offset += int64_t(at[d] - dim.min) * dim.stride;
        }
        return b.host + offset * b.type.bytes();
    }
    Value load(const Node &n, const Place &at) const {
        const void *from = address(buffer(n.index), at);
        if (from) return loaded(from, buffer(n.index).type);
        std::string text;
        for (int i : at)
            text += (text.empty() ? "" : ", ") + std::to_string(i);
        throw Error(op, "the algorithm reads " + arguments[size_t(n.index)].name + "(" + text +
                            "), which the tensor doesn't have");
    }

    Value element(evaluation::Func &f, const Place &at, int component) {
        if (f.updates.empty() && !f.is_kept) return first_value(f, at, component);
        if (!f.bound.empty()) return column_element(f, at, component);
        int entry = f.elements.find(at);
        if (entry < 0) {
            std::vector<Value> values(static_cast<size_t>(f.function.outputs()));
            for (size_t c = 0; c < values.size(); c++)
                values[c] = first_value(f, at, int(c));
            if (!f.updates.empty()) {
                f.current_values = values;
                for (UpdateDefinition &u : f.updates)
                    run(f, u, at);
                values = f.current_values;
            }
            entry = f.elements.add(at);
            for (size_t c = 0; c < values.size(); c++)
                f.elements.value(entry, int(c)) = values[c];
        }
        return f.elements.value(entry, component);
    }
    Value first_value(evaluation::Func &f, const Place &at, int component) {
        for (size_t d = 0; d < at.size(); d++)
            f.pure.frame.values[d].i = at[d];
        return evaluated(f.pure, f, f.pure.values[size_t(component)]);
    }

    static Place part(const Place &at, const std::vector<int> &dimensions) {
        Place p(dimensions.size());
        for (size_t k = 0; k < p.size(); k++)
            p[k] = at[size_t(dimensions[k])];
        return p;
    }
    Value column_element(evaluation::Func &f, const Place &at, int component) {
        const Place key = part(at, f.free);
        const Place inside = part(at, f.bound);
        int number = f.columns.find(key);
        if (number < 0) {
            number = f.columns.add(key);
            f.all_columns.push_back(std::make_unique<Column>(Column{
                Table(f.bound.size(), size_t(f.function.outputs())), inside, inside, false}));
        }
        Column &c = *f.all_columns[size_t(number)];
        if (widen(f, c, inside)) c.is_done = false;
        while (!c.is_done) {
            c.elements.clear();
            c.is_done = true;
            f.has_grown = false;
            f.current = &c;
            for (UpdateDefinition &u : f.updates)
                run(f, u, at);
            if (f.has_grown) c.is_done = false;
        }
        return c.elements.value(column_entry(f, c, at), component);
    }
    // Does what pure variables run over have to grow for this place?
    static bool widen(const evaluation::Func &f, Column &c, const Place &inside) {
        bool grew = false;
        for (const UpdateDefinition &u : f.updates) {
            for (auto &[b, slot] : u.columns) {
                const auto d = size_t(b);
                grew |= inside[d] < c.least[d] || inside[d] > c.most[d];
                c.least[d] = std::min(c.least[d], inside[d]);
                c.most[d] = std::max(c.most[d], inside[d]);
            }
        }
        return grew;
    }
    // Of an element of the column; one that no update has written yet has its first value.
    int column_entry(evaluation::Func &f, Column &c, const Place &at) {
        const Place inside = part(at, f.bound);
        if (const int known = c.elements.find(inside); known >= 0) return known;
        std::vector<Value> values(static_cast<size_t>(f.function.outputs()));
        for (size_t k = 0; k < values.size(); k++)
            values[k] = first_value(f, at, int(k));
        const int entry = c.elements.add(inside);
        for (size_t k = 0; k < values.size(); k++)
            c.elements.value(entry, int(k)) = values[k];
        return entry;
    }
    Value old_value(evaluation::Func &f, const Place &at, int component) {
        if (f.bound.empty()) return f.current_values[size_t(component)];
        f.has_grown |= widen(f, *f.current, part(at, f.bound));
        return f.current->elements.value(column_entry(f, *f.current, at), component);
    }

    // One update of the column, or the element, at `at`: over its domain, and around that over the
    // columns of its pure variables.
    void run(evaluation::Func &f, UpdateDefinition &u, const Place &at) {
        for (size_t d = 0; d < at.size(); d++)
            u.frame.values[d].i = at[d];
        run_columns(f, u, 0);
    }
    void run_columns(evaluation::Func &f, UpdateDefinition &u, size_t k) {
        if (k == u.columns.size()) return run_domain(f, u, u.ranges.size());
        const auto &[b, slot] = u.columns[k];
        // as they were when the update began
        const int from = f.current->least[size_t(b)];
        const int to = f.current->most[size_t(b)];
        for (int i = from; i <= to; i++) {
            u.frame.values[size_t(slot)].i = i;
            run_columns(f, u, k + 1);
        }
    }
    void run_domain(evaluation::Func &f, UpdateDefinition &u, size_t outer) {
        if (outer == 0) return run_point(f, u);
        const Range &r = u.ranges[outer - 1];
        const int64_t from = evaluated(u, f, r.from).i;
        const int64_t extent = evaluated(u, f, r.extent).i;
        for (int64_t i = from; i < from + extent; i++) {
            u.frame.values[size_t(r.slot)].i = i;
            run_domain(f, u, outer - 1);
        }
    }
    void run_point(evaluation::Func &f, UpdateDefinition &u) {
        if (u.predicate >= 0 && !evaluated(u, f, u.predicate).i) return;
        std::vector<Value> &values = u.next;
        for (size_t c = 0; c < values.size(); c++)
            values[c] = evaluated(u, f, u.values[c]);
        if (f.bound.empty()) {
            f.current_values = values;
            return;
        }
        Place at(u.places.size());
        for (size_t d = 0; d < at.size(); d++)
            at[d] = int(evaluated(u, f, u.places[d]).i);
        const int entry = column_entry(f, *f.current, at);
        for (size_t c = 0; c < values.size(); c++)
            f.current->elements.value(entry, int(c)) = values[c];
    }

    // Calling.

    void forget() {
        for (auto &f : all) {
            f->elements.clear();
            f->columns.clear();
            f->all_columns.clear();
        }
    }
    void write(evaluation::Func &f, int component, const halide_buffer_t &to) {
        Place at(static_cast<size_t>(to.dimensions));
        for (int d = 0; d < to.dimensions; d++) {
            if (to.dim[d].extent <= 0) return;
            at[size_t(d)] = to.dim[d].min;
        }
        while (true) {
            stored(address(to, at), to.type, element(f, at, component));
            size_t d = 0;
            for (; d < at.size(); d++) {
                if (++at[d] < to.dim[d].min + to.dim[d].extent) break;
                at[d] = to.dim[d].min;
            }
            if (d == at.size()) return;
        }
    }
};

Evaluator::Evaluator(const Kernel &k) : parts_(std::make_unique<Parts>(k)) {}
Evaluator::~Evaluator() = default;

int64_t Evaluator::run(void **arguments, int64_t limit) {
    Parts &p = *parts_;
    p.given = arguments;
    p.steps = 0;
    p.limit = limit;
    p.forget();
    size_t next = p.arguments.size();
    try {
        for (const Function &f : p.outputs) {
            for (int c = 0; c < f.outputs(); c++) {
                p.write(*p.all[size_t(p.funcs.at(f.name()))], c,
                        *(const halide_buffer_t *)arguments[next++]);
            }
        }
    } catch (const GaveUp &) {
        return gave_up;
    }
    return p.steps;
}

}  // namespace halyard
