#include "dsl/gpu/row_kernels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/gpu/grid.h"
#include "dsl/joint_outputs.h"
#include "dsl/sum_tree.h"

namespace halyard::gpu {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RVar;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;
using Halide::Internal::Call;
using Halide::Internal::Definition;
using Halide::Internal::Function;
using Halide::Internal::IRVisitor;
using Halide::Internal::Let;
using Halide::Internal::ReductionVariable;
using Halide::Internal::Variable;

constexpr int rows_of_a_block = 4;

const Var row("row");

// What a name, or an index, stands for in terms of a Func's dimensions and of the loops of its
// update.
struct Meaning {
    std::set<std::string> variables;
    std::string only;  // the variable that it is itself; "" if it is computed
};

// A load from a tensor, or from a Func with updates: what its indices mean, innermost first.
struct Load {
    std::string from;
    std::vector<Meaning> indices;
};

// Finds the loads of an expression, through the Funcs without updates that it calls.
class Loads : public IRVisitor {
public:
    explicit Loads(const Functions &all) : all_(all) {}

    std::vector<Load> found;

private:
    using IRVisitor::visit;

    void visit(const Variable *v) override {
        const auto known = names_.find(v->name);
        if (known != names_.end())
            seen_.insert(known->second.variables.begin(), known->second.variables.end());
        else if (!v->param.defined() && !v->image.defined())
            seen_.insert(v->name);
    }

    void visit(const Let *let) override {
        const auto before = std::exchange(names_[let->name], meaning_of(let->value));
        let->body.accept(this);
        names_[let->name] = before;
    }

    void visit(const Call *call) override {
        std::vector<Meaning> indices;
        for (const Expr &index : call->args) {
            indices.push_back(meaning_of(index));
            seen_.insert(indices.back().variables.begin(), indices.back().variables.end());
        }
        const auto callee = all_.find(call->name);
        const bool is_func = call->call_type == Call::Halide && callee != all_.end();
        if (is_func && !callee->second.has_update_definition()) {
            visit_value(callee->second, call->value_index, indices);
        } else if (is_func || call->call_type == Call::Image) {
            found.push_back({call->name, indices});
        }
    }

    void visit_value(const Function &callee, int component, const std::vector<Meaning> &indices) {
        const std::map<std::string, Meaning> outside = std::exchange(names_, {});
        for (size_t d = 0; d < indices.size(); d++)
            names_[callee.args()[d]] = indices[d];
        callee.values()[size_t(component)].accept(this);
        names_ = outside;
    }

    Meaning meaning_of(const Expr &e) {
        Meaning m;
        const std::set<std::string> outside = std::exchange(seen_, {});
        e.accept(this);
        m.variables = std::exchange(seen_, outside);
        if (const auto *v = e.as<Variable>()) {
            const auto known = names_.find(v->name);
            m.only = known == names_.end() ? v->name : known->second.only;
        }
        return m;
    }

    const Functions &all_;
    std::map<std::string, Meaning> names_;
    std::set<std::string> seen_;  // the variables of the expression that is being visited
};

std::vector<Load> loads_of(const Definition &definition, const Functions &all) {
    Loads loads(all);
    for (const Expr &value : definition.values())
        value.accept(&loads);
    definition.predicate().accept(&loads);
    return loads.found;
}

bool has_any(const Meaning &m, const std::vector<std::string> &names) {
    return std::ranges::any_of(names, [&](const std::string &n) { return m.variables.count(n); });
}

// Returns true if the load is of the element whose indices are `names`.
bool is_at(const Load &load, const std::vector<std::string> &names) {
    return std::ranges::equal(load.indices, names, {}, &Meaning::only);
}

// One level of chunks: of two, Halide 21 can't derive that a thread needs one chunk at a time.
std::vector<int> chunks_of(std::optional<int64_t>, bool) {
    return {sum_chunk};
}

// Schedules `terms`, what each thread of a warp has of the terms of an element of `f`, in the block
// of a kernel that computes `f`. A thread has it in a register until all of its terms are there.
// What a row's threads have lies side by side.
void reduce_by_threads(Func &terms, const Var &of_lane, const std::vector<Var> &of_row,
                       const Func &kernel) {
    sum_in_tree(terms, 0, chunks_of);
    Func lanes = terms.in();
    std::vector<Var> inner_to_outer = {of_lane};
    inner_to_outer.insert(inner_to_outer.end(), of_row.begin(), of_row.end());
    lanes.compute_at(kernel, grid_block)
        .reorder_storage(inner_to_outer)
        .reorder(std::vector<VarOrRVar>(inner_to_outer.begin(), inner_to_outer.end()))
        .gpu_threads(of_lane, of_row[0]);
    terms.compute_at(lanes, of_lane);
}

// As above, for an `f` whose update combines its terms in `loop`.
void reduce_by_lanes(Func &f, const std::string &loop, const Func &kernel) {
    const RVar turn("turn"), lane("lane");
    const Var of_lane("of_lane");
    f.update(0).split(RVar(loop), turn, lane, warp, TailStrategy::GuardWithIf);
    Func terms = f.update(0).rfactor(lane, of_lane);
    reduce_by_threads(terms, of_lane, f.args(), kernel);
}

// Distributes a kernel of which a block has several rows. `dims` are those of a row.
void distribute_rows(Stage kernel, const std::vector<Var> &dims, const std::vector<Var> &inner) {
    kernel.split(dims[0], grid_block, row, rows_of_a_block, TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> inner_to_outer(inner.begin(), inner.end());
    inner_to_outer.emplace_back(row);
    inner_to_outer.emplace_back(grid_block);
    inner_to_outer.insert(inner_to_outer.end(), dims.begin() + 1, dims.end());
    kernel.reorder(inner_to_outer);
    distribute_over_grid(kernel, {dims.begin() + 1, dims.end()});
}

// Distributes a kernel that has one element of each row.
void distribute_elements_of_rows(Func &kernel) {
    kernel.compute_root();
    distribute_rows(kernel, kernel.args(), {});
    kernel.gpu_threads(row);
}

}  // namespace

std::optional<std::string> row_loop(const Function &f, const Functions &all) {
    if (f.updates().size() != 1 || f.args().empty()) return {};
    const Definition &update = f.update(0);
    const auto op = Halide::Internal::prove_associativity(f.name(), update.args(), update.values());
    if (!op.associative()) return {};
    std::vector<std::string> loops;
    for (const ReductionVariable &r : update.schedule().rvars())
        loops.push_back(r.var);
    std::set<std::string> found;
    for (const Load &load : loads_of(update, all)) {
        if (load.from == f.name()) {
            if (!is_at(load, f.args())) return {};
            continue;
        }
        const bool moves = std::ranges::any_of(
            load.indices, [&](const Meaning &index) { return has_any(index, loops); });
        if (!moves) continue;
        if (has_any(load.indices[0], f.args())) return {};
        for (const std::string &loop : loops)
            if (load.indices[0].variables.count(loop)) found.insert(loop);
    }
    if (found.size() != 1) return {};
    return *found.begin();
}

bool shares_rows(const Function &output, const std::vector<Function> &reductions,
                 const Functions &all) {
    if (reductions.empty() || output.has_update_definition()) return false;
    const size_t dims = reductions[0].args().size();
    if (output.args().size() != dims && output.args().size() != dims + 1) return false;
    const std::vector<std::string> of_row(output.args().end() - long(dims), output.args().end());
    std::set<std::string> names;
    for (const Function &f : reductions) {
        if (f.args().size() != dims) return false;
        names.insert(f.name());
    }
    const auto reads_own_row = [&](const Definition &reader, const std::vector<std::string> &own) {
        return std::ranges::all_of(loads_of(reader, all), [&](const Load &load) {
            return names.count(load.from) == 0 || is_at(load, own);
        });
    };
    for (const auto &[name, f] : all) {
        if (!f.has_update_definition()) continue;
        if (names.count(name) == 0) return false;
        if (!reads_own_row(f.definition(), f.args())) return false;
        for (const Definition &update : f.updates())
            if (!reads_own_row(update, f.args())) return false;
    }
    return reads_own_row(output.definition(), of_row);
}

void reduce_by_warps(Func &terms, const Var &of_lane, Func &f, Func &kernel) {
    distribute_elements_of_rows(kernel);
    reduce_by_threads(terms, of_lane, f.args(), kernel);
    f.compute_at(kernel, row);
}

void reduce_by_warps(std::vector<Func> &reductions, Func &kernel,
                     const std::vector<std::string> &loops) {
    distribute_elements_of_rows(kernel);
    for (size_t k = 0; k < reductions.size(); k++) {
        reduce_by_lanes(reductions[k], loops[k], kernel);
        reductions[k].compute_at(kernel, row);
    }
}

void share_rows(Func &output, std::vector<Func> &reductions,
                const std::vector<std::string> &loops) {
    const std::vector<Var> args = output.args();
    if (args.size() == reductions[0].args().size()) {
        distribute_elements_of_rows(output);
    } else {
        const Var turn("turn");
        output.compute_root().split(args[0], turn, gpu_thread, warp, TailStrategy::GuardWithIf);
        distribute_rows(output, {args.begin() + 1, args.end()}, {turn, gpu_thread});
        output.gpu_threads(gpu_thread, row);
    }
    for (size_t k = 0; k < reductions.size(); k++) {
        Func &f = reductions[k];
        reduce_by_lanes(f, loops[k], output);
        Func whole = f.in();
        whole.compute_at(output, grid_block).gpu_threads(f.args()[0]);
        f.compute_at(whole, f.args()[0]);
    }
}

}  // namespace halyard::gpu
