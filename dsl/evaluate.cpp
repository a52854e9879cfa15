#include "dsl/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "registry/base/text.h"

namespace halyard {
using namespace Halide::Internal;
using Halide::Expr;

namespace evaluation {
namespace {

// Index: the indices of an element. It has no memory of its own, unlike a std::vector, because
// there are many.
class Index {
public:
    explicit Index(size_t n = 0) : size_(n) {
        if (n > at_.size())
            throw UnsupportedDefinition("evaluate", "doesn't support Funcs of " +
                                                        std::to_string(n) + " dimensions");
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

// Table: a hash table from indices to the values of `components` components. Entries are numbered
// in the order in which they were added.
class Table {
public:
    Table(size_t dimensions, size_t components)
        : dimensions_(dimensions), components_(components), heads_(64, -1) {}

    // Returns the number of the entry at an index, or -1.
    int find(const Index &at) const {
        for (int e = heads_[hash(at) & (heads_.size() - 1)]; e >= 0; e = next_[size_t(e)]) {
            if (std::equal(at.begin(), at.end(), indices_.begin() + long(size_t(e) * dimensions_)))
                return e;
        }
        return -1;
    }
    // Adds an entry, and returns its number.
    int add(const Index &at) {
        if (next_.size() >= heads_.size()) grow();
        const int e = int(next_.size());
        indices_.insert(indices_.end(), at.begin(), at.end());
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
        indices_.clear();
        values_.clear();
    }

private:
    static size_t hash(const Index &at) {
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
            Index at(dimensions_);
            std::copy_n(indices_.begin() + long(e * dimensions_), dimensions_, &at[0]);
            link(int(e), hash(at));
        }
    }

    size_t dimensions_, components_;
    std::vector<int> heads_, next_, indices_;
    std::vector<Value> values_;
};

// The variables of one definition while it is evaluated.
struct Frame {
    std::vector<Value> values;
    // By slot: for a let whose value has not been computed yet, the node of its value; else -1.
    std::vector<int> pending;
};

struct Definition {
    Code code;
    Frame frame;
    std::vector<int> values;  // the nodes of the components
};

struct Range {
    int slot;
    int min, extent;  // nodes
};

struct UpdateDefinition : Definition {
    std::vector<int> indices;   // the nodes of the index that it writes
    int predicate = -1;         // a node; -1: always true
    std::vector<Range> ranges;  // the reduction domain, innermost first
    // The components of the current point, which are stored when all are computed.
    std::vector<Value> next;
    // A dimension that is indexed by a pure variable although it is bound (see Column).
    struct PureLoop {
        size_t bound;  // the number of the dimension in Func::bound
        int slot;
    };
    std::vector<PureLoop> pure_loops;
};

// A dimension of a Func with updates is free if every update writes, and reads its own Func, only
// at the index of the element itself. All other dimensions are bound. For each index in the free
// dimensions there is a column: the elements along the bound ones. The updates run once per column.
struct Column {
    Table elements;
    // The range of each bound dimension that pure variables have to visit. It grows as elements are
    // needed, and then the updates run again.
    Index min, max;
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
    // False for a pure Func that is cheaper to compute again than to keep.
    bool is_kept = true;
    Table elements;  // of a Func without bound dimensions
    Table columns;   // from the index in the free dimensions to the number of a column
    std::vector<std::unique_ptr<Column>> all_columns;
    // While updates run: the column or, without bound dimensions, the components of the element.
    Column *current = nullptr;
    std::vector<Value> current_values;
    // True if an update read an element beyond the range of its column.
    bool has_grown = false;
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
    std::vector<Argument> arguments;  // inputs and scalars, in the order of the kernel
    // The values that expressions use: a scalar, or a property of a tensor's dimension.
    enum class Property { scalar, min, extent, stride };
    struct ArgumentValue {
        int argument;
        Property property;
        int dimension;
    };
    std::vector<ArgumentValue> argument_values;
    std::map<std::string, int> numbers;  // of Funcs, by name
    std::vector<std::unique_ptr<evaluation::Func>> funcs;
    // The state of a run: the kernel's arguments, and the steps so far and at most.
    void **kernel_arguments = nullptr;
    int64_t steps = 0, limit = 0;

    explicit Parts(const Kernel &k) : op(k.op->name) {
        Halide::Pipeline pipeline = k.pipeline;
        for (const Halide::Func &f : pipeline.outputs())
            outputs.push_back(f.function());
        for (const Halide::Argument &a : k.arguments())
            arguments.push_back({a.name, a.type, a.is_buffer()});
        const auto environment = build_environment(outputs);
        for (auto &[name, f] : environment)
            numbers.emplace(name, int(numbers.size()));
        funcs.resize(numbers.size());
        for (auto &[name, f] : environment)
            funcs[size_t(numbers.at(name))] = compile(f);
    }

    // ---- Compilation of definitions

    // Returns the number of a value: of a scalar "eps", or of "x.extent.0" or the like.
    int argument(const std::string &name) {
        static const std::pair<const char *, Property> properties[] = {
            {".min.", Property::min},
            {".extent.", Property::extent},
            {".stride.", Property::stride}};
        for (size_t k = 0; k < arguments.size(); k++) {
            const Argument &a = arguments[k];
            if (!a.is_buffer && a.name == name) return add_value({int(k), Property::scalar, 0});
            for (auto &[text, property] : properties) {
                const std::string prefix = a.name + text;
                if (a.is_buffer && name.starts_with(prefix))
                    return add_value({int(k), property, std::stoi(name.substr(prefix.size()))});
            }
        }
        throw UnsupportedDefinition("evaluate", "doesn't support the variable " + name);
    }
    int add_value(const ArgumentValue &v) {
        argument_values.push_back(v);
        return int(argument_values.size()) - 1;
    }
    int input(const std::string &name) const {
        for (size_t k = 0; k < arguments.size(); k++)
            if (arguments[k].is_buffer && arguments[k].name == name) return int(k);
        throw UnsupportedDefinition("evaluate", "doesn't support the tensor " + name);
    }
    Names names(const std::string &self) {
        Names n;
        n.self = self;
        n.func = [this](const Call *c) { return numbers.at(c->name); };
        n.argument = [this](const std::string &name, const Halide::Type &) {
            return argument(name);
        };
        n.input = [this](const std::string &name) { return input(name); };
        return n;
    }

    std::unique_ptr<evaluation::Func> compile(const Function &f) {
        if (f.has_extern_definition())
            throw UnsupportedDefinition("evaluate", "doesn't support extern stages");
        Names pure_names = names("");
        for (const std::string &v : f.args())
            pure_names.slots.emplace(v, int(pure_names.slots.size()));
        auto func = std::make_unique<evaluation::Func>(f, pure_names);
        for (const Expr &v : f.definition().values())
            func->pure.values.push_back(func->pure.code.add(v));
        for (const auto &u : f.updates())
            func->updates.push_back(compile_update(f, u));
        split_dimensions(*func);
        const std::vector<Node> &nodes = func->pure.code.nodes;
        const bool reads = std::any_of(nodes.begin(), nodes.end(),
                                       [](const Node &n) { return n.kind == Kind::read; });
        func->is_kept = reads || nodes.size() > max_nodes_to_repeat;
        prepare(func->pure);
        for (UpdateDefinition &u : func->updates)
            prepare(u);
        func->columns = Table(func->free.size(), 1);
        return func;
    }
    // A pure definition with at most this many nodes, which reads no other Func, is not kept.
    static constexpr size_t max_nodes_to_repeat = 24;

    static void prepare(Definition &d) {
        d.frame.values.resize(size_t(d.code.slots()));
        d.frame.pending.assign(size_t(d.code.slots()), -1);
    }

    UpdateDefinition compile_update(const Function &f, const Halide::Internal::Definition &d) {
        Names update_names = names(f.name());
        for (const std::string &v : f.args())
            update_names.slots.emplace(v, int(update_names.slots.size()));
        const auto &domain = d.schedule().rvars();
        for (const ReductionVariable &v : domain)
            update_names.slots.emplace(v.var, int(update_names.slots.size()));
        UpdateDefinition u{{Code(update_names), {}, {}},          {}, -1, {},
                           std::vector<Value>(d.values().size()), {}};
        for (size_t k = 0; k < domain.size(); k++) {
            u.ranges.push_back({int(f.args().size() + k), u.code.add(domain[k].min),
                                u.code.add(domain[k].extent)});
        }
        if (!is_const_one(d.predicate())) u.predicate = u.code.add(d.predicate());
        for (const Expr &index : d.args())
            u.indices.push_back(u.code.add(index));
        for (const Expr &v : d.values())
            u.values.push_back(u.code.add(v));
        return u;
    }

    // Returns true if an index is the pure variable of its dimension.
    static bool is_pure(const Code &code, int index, size_t dimension) {
        const Node &n = code.nodes[size_t(index)];
        return n.kind == Kind::slot && n.target == int(dimension);
    }
    // Finds the free and the bound dimensions.
    static void split_dimensions(evaluation::Func &f) {
        for (size_t d = 0; d < f.function.args().size(); d++) {
            bool is_free = true;
            for (const UpdateDefinition &u : f.updates) {
                is_free &= is_pure(u.code, u.indices[d], d);
                for (const Node &n : u.code.nodes)
                    if (n.kind == Kind::read_self) is_free &= is_pure(u.code, n.indices[d], d);
            }
            (is_free ? f.free : f.bound).push_back(int(d));
        }
        for (UpdateDefinition &u : f.updates) {
            for (size_t b = 0; b < f.bound.size(); b++) {
                const auto d = size_t(f.bound[b]);
                if (is_pure(u.code, u.indices[d], d)) u.pure_loops.push_back({b, int(d)});
            }
        }
    }

    // ---- Evaluation

    void step() {
        if (++steps > limit) throw GaveUp();
    }

    // Returns the value of a node, at the current values of the slots.
    Value evaluate(Definition &d, evaluation::Func &self, int node) {
        step();
        const Node *n = &d.code.nodes[size_t(node)];
        while (n->kind == Kind::let) {
            d.frame.pending[size_t(n->target)] = n->args[0];
            n = &d.code.nodes[size_t(n->args[1])];
        }
        const auto operand = [&](int k) { return evaluate(d, self, n->args[size_t(k)]); };
        switch (n->kind) {
        case Kind::constant: return n->value;
        case Kind::slot: return slot_value(d, self, size_t(n->target));
        case Kind::argument: return argument_value(*n);
        case Kind::logical_and: return operand(0).i ? operand(1) : Value{.i = 0};
        case Kind::logical_or: return operand(0).i ? Value{.i = 1} : operand(1);
        case Kind::select: return operand(operand(0).i ? 1 : 2);
        case Kind::load: return load(*n, index_of(d, self, *n));
        case Kind::read: {
            const Index at = index_of(d, self, *n);
            return element(*funcs[size_t(n->target)], at, n->component);
        }
        case Kind::read_self: return old_value(self, index_of(d, self, *n), n->component);
        case Kind::cast:
        case Kind::reinterpret:
        case Kind::logical_not:
        case Kind::bit_not:
        case Kind::absolute:
        case Kind::floor: return apply(*n, operand(0), {});
        default: {
            const Value a = operand(0);
            return apply(*n, a, operand(1));
        }
        }
    }
    // Returns the value of a variable. The value of a let is computed the first time.
    Value slot_value(Definition &d, evaluation::Func &self, size_t slot) {
        if (const int node = std::exchange(d.frame.pending[slot], -1); node >= 0) {
            const Value v = evaluate(d, self, node);
            d.frame.values[slot] = v;
        }
        return d.frame.values[slot];
    }
    Index index_of(Definition &d, evaluation::Func &self, const Node &n) {
        Index at(n.indices.size());
        for (size_t k = 0; k < at.size(); k++)
            at[k] = int(evaluate(d, self, n.indices[k]).i);
        return at;
    }

    const halide_buffer_t &buffer(int argument) const {
        return *static_cast<const halide_buffer_t *>(kernel_arguments[argument]);
    }
    Value argument_value(const Node &n) const {
        const auto &[argument, property, dimension] = argument_values[size_t(n.target)];
        if (property == Property::scalar)
            return load_value(kernel_arguments[argument], arguments[size_t(argument)].type);
        const halide_dimension_t &d = buffer(argument).dim[dimension];
        if (property == Property::min) return {.i = d.min};
        return {.i = property == Property::extent ? d.extent : d.stride};
    }
    // Returns the address of an element, or null if the tensor has no such element.
    static void *address(const halide_buffer_t &b, const Index &at) {
        int64_t offset = 0;
        for (size_t d = 0; d < at.size(); d++) {
            const halide_dimension_t &dim = b.dim[d];
            if (at[d] < dim.min || at[d] >= dim.min + dim.extent) return nullptr;
            offset += int64_t(at[d] - dim.min) * dim.stride;
        }
        return b.host + offset * b.type.bytes();
    }
    Value load(const Node &n, const Index &at) const {
        const void *from = address(buffer(n.target), at);
        if (from) return load_value(from, buffer(n.target).type);
        std::vector<std::string> indices;
        for (int i : at)
            indices.push_back(std::to_string(i));
        throw Error(op, fmt::format("the algorithm reads {}({}), which the tensor doesn't have",
                                    arguments[size_t(n.target)].name, join(indices)));
    }

    // Returns an element of a Func after all updates.
    Value element(evaluation::Func &f, const Index &at, int component) {
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
    // Returns the value that the pure definition gives to an element.
    Value first_value(evaluation::Func &f, const Index &at, int component) {
        for (size_t d = 0; d < at.size(); d++)
            f.pure.frame.values[d].i = at[d];
        return evaluate(f.pure, f, f.pure.values[size_t(component)]);
    }

    // Returns the index in some of the dimensions.
    static Index part(const Index &at, const std::vector<int> &dimensions) {
        Index in_part(dimensions.size());
        for (size_t k = 0; k < in_part.size(); k++)
            in_part[k] = at[size_t(dimensions[k])];
        return in_part;
    }
    // Returns an element of a Func with bound dimensions, after the updates of its column.
    Value column_element(evaluation::Func &f, const Index &at, int component) {
        const Index key = part(at, f.free);
        const Index inside = part(at, f.bound);
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
    // Extends the range of pure variables to an index. Returns true if the range has grown.
    static bool widen(const evaluation::Func &f, Column &c, const Index &inside) {
        bool grew = false;
        for (const UpdateDefinition &u : f.updates) {
            for (const auto &[d, slot] : u.pure_loops) {
                grew |= inside[d] < c.min[d] || inside[d] > c.max[d];
                c.min[d] = std::min(c.min[d], inside[d]);
                c.max[d] = std::max(c.max[d], inside[d]);
            }
        }
        return grew;
    }
    // Returns the entry of an element in its column. An element that no update has written yet gets
    // its first value.
    int column_entry(evaluation::Func &f, Column &c, const Index &at) {
        const Index inside = part(at, f.bound);
        if (const int found = c.elements.find(inside); found >= 0) return found;
        std::vector<Value> values(static_cast<size_t>(f.function.outputs()));
        for (size_t k = 0; k < values.size(); k++)
            values[k] = first_value(f, at, int(k));
        const int entry = c.elements.add(inside);
        for (size_t k = 0; k < values.size(); k++)
            c.elements.value(entry, int(k)) = values[k];
        return entry;
    }
    // Returns the current value of an element of the Func whose updates run.
    Value old_value(evaluation::Func &f, const Index &at, int component) {
        if (f.bound.empty()) return f.current_values[size_t(component)];
        f.has_grown |= widen(f, *f.current, part(at, f.bound));
        return f.current->elements.value(column_entry(f, *f.current, at), component);
    }

    // Runs one update of the column, or the element, at `at`: first the loops over bound dimensions
    // that pure variables index, then those of the reduction domain.
    void run(evaluation::Func &f, UpdateDefinition &u, const Index &at) {
        for (size_t d = 0; d < at.size(); d++)
            u.frame.values[d].i = at[d];
        run_pure_loops(f, u, 0);
    }
    void run_pure_loops(evaluation::Func &f, UpdateDefinition &u, size_t k) {
        if (k == u.pure_loops.size()) return run_domain(f, u, u.ranges.size());
        const auto &[bound, slot] = u.pure_loops[k];
        // The range may grow while the update runs, but this run keeps to the old one.
        const int min = f.current->min[bound];
        const int max = f.current->max[bound];
        for (int i = min; i <= max; i++) {
            u.frame.values[size_t(slot)].i = i;
            run_pure_loops(f, u, k + 1);
        }
    }
    void run_domain(evaluation::Func &f, UpdateDefinition &u, size_t outer) {
        if (outer == 0) return run_point(f, u);
        const Range &r = u.ranges[outer - 1];
        const int64_t min = evaluate(u, f, r.min).i;
        const int64_t extent = evaluate(u, f, r.extent).i;
        for (int64_t i = min; i < min + extent; i++) {
            u.frame.values[size_t(r.slot)].i = i;
            run_domain(f, u, outer - 1);
        }
    }
    void run_point(evaluation::Func &f, UpdateDefinition &u) {
        if (u.predicate >= 0 && !evaluate(u, f, u.predicate).i) return;
        std::vector<Value> &values = u.next;
        for (size_t c = 0; c < values.size(); c++)
            values[c] = evaluate(u, f, u.values[c]);
        if (f.bound.empty()) {
            f.current_values = values;
            return;
        }
        Index at(u.indices.size());
        for (size_t d = 0; d < at.size(); d++)
            at[d] = int(evaluate(u, f, u.indices[d]).i);
        const int entry = column_entry(f, *f.current, at);
        for (size_t c = 0; c < values.size(); c++)
            f.current->elements.value(entry, int(c)) = values[c];
    }

    // ---- Calls

    void forget() {
        for (auto &f : funcs) {
            f->elements.clear();
            f->columns.clear();
            f->all_columns.clear();
        }
    }
    // Computes one component of an output and stores it.
    void write(evaluation::Func &f, int component, const halide_buffer_t &to) {
        Index at(static_cast<size_t>(to.dimensions));
        for (int d = 0; d < to.dimensions; d++) {
            if (to.dim[d].extent <= 0) return;
            at[size_t(d)] = to.dim[d].min;
        }
        while (true) {
            store_value(address(to, at), to.type, element(f, at, component));
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
    p.kernel_arguments = arguments;
    p.steps = 0;
    p.limit = limit;
    p.forget();
    size_t next = p.arguments.size();
    try {
        for (const Function &f : p.outputs) {
            for (int c = 0; c < f.outputs(); c++) {
                p.write(*p.funcs[size_t(p.numbers.at(f.name()))], c,
                        *static_cast<const halide_buffer_t *>(arguments[next++]));
            }
        }
    } catch (const GaveUp &) {
        return gave_up;
    }
    return p.steps;
}

}  // namespace halyard
