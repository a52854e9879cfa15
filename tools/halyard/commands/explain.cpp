// halyard explain: which kernel a call gets, why others were rejected, and what each costs.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/harness/case.h"
#include "bench/harness/cost_probe.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "bench/harness/problem_instance.h"
#include "bench/harness/table.h"
#include "registry/base/text.h"
#include "tools/halyard/command.h"
#include "tools/halyard/option.h"

namespace halyard::command {
using namespace bench;
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
    std::string op, dtype, device, isa, variant;
    std::vector<std::string> shapes, attrs;
    bool price = false, json = false;
    double strict = 0;  // 0 is none
};

// Returns true for "n=64 c=1000", as bench takes it: its first name is a dimension's, not a
// tensor's.
bool is_problem(const RegisteredOp &op, const std::string &shape) {
    const std::string name = shape.substr(0, shape.find('='));
    for (auto &t : op.signature.inputs)
        if (t.name == name) return false;
    return name != shape && std::ranges::count(check::dimensions_of(op.signature), name) > 0;
}

// The tensors and attributes of the command line's call, in the dtypes it asks for.
struct TypedCall {
    std::vector<Tensor> in;
    Attrs attrs;
};
TypedCall typed_call(const RegisteredOp &op, const ExplainOptions &o, const std::string &dtypes) {
    const auto problems = problems_of(op.record);
    if (o.shapes.empty() && problems.empty())
        throw AttrError(o.op, "has no bench or sample problem, give --shape");
    if (o.shapes.empty() || (o.shapes.size() == 1 && is_problem(op, o.shapes[0]))) {
        const ProblemInstance t(op, o.shapes.empty() ? problems[0] : o.shapes[0], dtypes, o.attrs);
        return {t.in, t.attrs};
    }
    const auto &specs = op.signature.inputs;
    const auto shapes = values_by_tensor(o.op, "input", specs, o.shapes);
    const auto types = dtypes_from(op, dtypes);
    std::vector<Tensor> in;
    for (size_t k = 0; k < specs.size(); k++) {
        if (!shapes[k]) {
            throw ShapeError(o.op, "no shape for input " + specs[k].name + ": --shape " +
                                       specs[k].name + "=2x3 (" + op.record.signature + ")");
        }
        in.push_back(Tensor::zeros(shape_from(o.op, *shapes[k]), types[k]));
    }
    return {in, attrs_from(op.record, o.attrs)};
}

// Returns nothing if the op has kernels for the dtype; otherwise how the caller must cast.
std::optional<CastPlan> cast_of(const RegisteredOp &op, const std::string &dtype) {
    for (auto &set : op.record.dtypes)
        if (dtype.empty() || set == dtype || set.starts_with(dtype + ",")) return {};
    return cast_for(op, dtype_of(dtype));
}

std::string names_of(const std::vector<TensorSpec> &specs, const std::vector<size_t> &places) {
    std::string text;
    for (size_t k : places)
        text += (text.empty() ? "" : " ") + specs[k].name;
    return text;
}

std::string cast_text(const RegisteredOp &op, const CastPlan &c) {
    std::string s = "key " + c.key + ": no kernels, there are " + c.there +
                    "; dispatch refuses it, the caller casts ";
    s += names_of(op.signature.inputs, c.inputs) + " to " + name_of(c.to);
    return s +
           (c.outputs.empty() ? "" : " and " + names_of(op.signature.outputs, c.outputs) + " back");
}

void print(const RegisteredOp &op, const Explanation &e, const CastPlan *c, const CallCosts *p) {
    if (c) {
        std::printf("%s: %s%s\n", op.record.name.c_str(), cast_text(op, *c).c_str(),
                    p ? (": " + time_text(p->casts)).c_str() : "");
    }
    if (!p) {
        std::printf("%s", text_of(e).c_str());
        return;
    }
    const Note copies = [&](size_t k) { return ": " + time_text(p->copies[k]); };
    const Note candidates = [&](size_t k) {
        const double s = p->candidates[k];
        return s == 0
                   ? ""
                   : ": " + time_text(s) +
                         (s > p->best ? text_of(", %.2f x the best", s / p->best) : ", the best");
    };
    std::printf("%s", text_of(e, copies, candidates).c_str());
    std::printf("  this call takes %s: kernel %s", time_text(p->call).c_str(),
                time_text(p->kernel).c_str());
    double moved = 0;
    for (double s : p->copies)
        moved += s;
    if (moved > 0) std::printf(", copies %s", time_text(moved).c_str());
    if (p->casts > 0) std::printf(", casts %s", time_text(p->casts).c_str());
    std::printf("; %.2f x the best kernel\n", p->loss());
}

Json json_of(const RegisteredOp &op, const Explanation &e, const CastPlan *c, const CallCosts *p) {
    Json j = {{"op", op.record.name},
              {"signature", op.record.signature},
              {"attributes", e.attributes},
              {"problem", e.problem()}};
    j["cpu"] = processor();
    j["date"] = now();
    j["outer_loops"] = std::vector<int64_t>(e.plan.loops.begin(), e.plan.loops.end());
    if (c) {
        j["cast"] = {{"key", c->key}, {"to", name_of(c->to)}, {"why", cast_text(op, *c)}};
        if (p) j["cast"]["seconds"] = p->casts;
    }
    j["copies"] = j["candidates"] = Json::array();
    for (size_t k = 0; k < e.copies.size(); k++) {
        const auto &copy = e.copies[k];
        j["copies"].push_back(
            {{"tensor",
              (copy.input ? op.signature.inputs : op.signature.outputs)[copy.tensor].name},
             {"why", copy.why}});
        if (p) j["copies"].back()["seconds"] = p->copies[k];
    }
    for (size_t k = 0; k < e.plan.candidates.size(); k++) {
        const KernelEntry &kernel = *e.plan.candidates[k].kernel;
        Json candidate = {{"backend", kernel.backend},
                          {"dtypes", kernel.dtypes},
                          {"variant", kernel.variant},
                          {"isa", name_of(kernel.isa)}};
        candidate["picks"] = kernel.tunables;
        candidate["chosen"] = int(k) == e.selected();
        if (const std::string &why = e.plan.candidates[k].rejection; !why.empty())
            candidate["refused"] = why;
        if (p && p->candidates[k] > 0) candidate["seconds"] = p->candidates[k];
        j["candidates"].push_back(candidate);
    }
    j["other_dtypes"] = e.other_dtypes;
    if (p) {
        j["price"] = {{"call", p->call},
                      {"kernel", p->kernel},
                      {"best_kernel", p->best},
                      {"loss", p->loss()}};
    }
    return j;
}

int explain_call(const ExplainOptions &o) {
    const RegisteredOp &op = op_with_kernels(o.op);
    const Target target(o.device, o.isa, variant_called(op.record, o.variant, o.device));
    const std::optional<CastPlan> c = cast_of(op, o.dtype);
    TypedCall call = typed_call(op, o, c ? c->instead : o.dtype);
    const Explanation e = explanation_of(op, call.in, call.attrs);
    if (c) {
        for (size_t k : c->inputs)
            call.in[k] = call.in[k].to(c->from);
    }
    std::optional<CallCosts> p;
    if (o.price || o.strict > 0) p = measure_costs(e, call.in, call.attrs, c ? &*c : nullptr);
    const CastPlan *const cast = c ? &*c : nullptr;
    const CallCosts *const costs = p ? &*p : nullptr;
    if (o.json)
        std::printf("%s\n", json_of(op, e, cast, costs).dump(2).c_str());
    else
        print(op, e, cast, costs);
    if (!p || o.strict <= 0 || p->loss() <= o.strict) return 0;
    throw DispatchError(o.op, "this call takes " + time_text(p->call) +
                                  text_of(", %.2f x its best kernel's ", p->loss()) +
                                  time_text(p->best) + text_of("; --strict allows %g x", o.strict));
}

}  // namespace

void add_explain(CLI::App &app, Run &selected) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App *sub = app.add_subcommand(
        "explain", "Show which kernel a call gets and why, and what each costs");
    sub->add_option("op", o->op, "Name of the op")->required();
    sub->add_option("--shape,-s", o->shapes,
                    "x=2x3x8x8 (or scalar) for every input, or a problem such as \"n=64 c=1000\"; "
                    "default: the op's first")
        ->allow_extra_args(false);
    sub->add_option("--attr,-a", o->attrs, "Attribute: axis=1")->allow_extra_args(false);
    sub->add_option("--dtype", o->dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--device,--backend", o->device,
                    "cpu, opencl, cuda, or simulated: " + ascend_names());
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->add_flag("--price", o->price, "Measure what each candidate, copy and cast costs");
    sub->add_option("--strict", o->strict,
                    "Measure, and fail if the call takes more than this many times its best kernel")
        ->check(CLI::Range(1.0, 1e9));
    sub->add_flag("--json", o->json, "Everything as JSON");
    sub->callback([o, &selected] { selected = [o] { return explain_call(*o); }; });
}

}  // namespace halyard::command
