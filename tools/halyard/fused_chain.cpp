#include "tools/halyard/fused_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "bench/harness/ab_result.h"
#include "bench/harness/op_call.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "graph/region.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/check/different_numbers.h"
#include "tools/check/fills.h"

namespace halyard::command {
namespace {

constexpr const char *who = "fuse";

// A call of a chain: "y = reduce_sum(x) axis=1".
struct Statement {
    std::string call;                // without attributes
    std::vector<std::string> words;  // the result, the op, its arguments
    std::map<std::string, std::string> attributes;
};

Statement statement_of(const std::string &text) {
    Statement s;
    const size_t end = std::min(text.find(')'), text.size() - 1) + 1;
    s.call = text.substr(0, end);
    std::string spaced = s.call;
    for (char &c : spaced)
        if (c == '=' || c == '(' || c == ',' || c == ')') c = ' ';
    std::istringstream words(spaced);
    for (std::string word; words >> word;)
        s.words.push_back(word);
    if (s.words.size() < 3)
        throw Error(who, "'" + text + "' is no call, expected RESULT = OP(ARGUMENT, ...)");
    std::istringstream attributes(text.substr(end));
    for (std::string word; attributes >> word;)
        s.attributes.insert(bench::assignment(s.words[1], word));
    return s;
}

std::vector<Statement> statements_of(const std::string &body) {
    std::vector<Statement> all;
    std::istringstream text(body);
    for (std::string statement; std::getline(text, statement, ';');)
        all.push_back(statement_of(statement));
    return all;
}

// Reads "f32[32,120]".
OperandMeta meta_from(const std::string &text) {
    const size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']')
        throw ShapeError(who, "'" + text + "' is no tensor, expected such as f32[32,120]");
    OperandMeta m;
    m.dtype = dtype_of(text.substr(0, open));
    std::istringstream extents(text.substr(open + 1, text.size() - open - 2));
    for (std::string extent; std::getline(extents, extent, ',');) {
        const bool is_number = !extent.empty() && extent.size() < 10 &&
                               extent.find_first_not_of("0123456789") == std::string::npos;
        if (!is_number || m.shape.rank() == max_rank)
            throw ShapeError(who, "'" + text + "' has no such extent: '" + extent + "'");
        m.shape.push_back(std::stoll(extent));
    }
    m.strides = dense_strides(m.shape);
    return m;
}

// Returns the first number that differs, as text; "" if there is none.
std::string first_difference(const std::string &name, const Tensor &got, const Tensor &expected) {
    const int64_t place = check::first_different_number(got, expected);
    if (place < 0) return "";
    const auto number = [&](const Tensor &t) {
        return t.to(DType::f64).to_vector<double>()[size_t(place)];
    };
    return fmt::format("{} of {}, element {}: {:.17g}, its ops give {:.17g}", name,
                       got.shape().text(), place, number(got), number(expected));
}

}  // namespace

FusedChain::FusedChain(const FusedRequest &request) : numbers_(request.numbers), isa_(request.isa) {
    read_inputs(request);
    read_steps(request);
    limit_isa();
    choose_outputs(request);
    check_reduction();
    make_record();
    if (!numbers_.empty() && numbers_.size() != real_attributes_)
        throw AttrError(who, fmt::format("{} numbers are given, the chain has {} attributes",
                                         numbers_.size(), real_attributes_));
}

// Throws Error unless a reduction is the last op, has the only output, and gets as many elements as
// each input has.
void FusedChain::check_reduction() const {
    for (size_t k = 0; k + 1 < steps_.size(); k++)
        if (steps_[k].op->record.form == Form::reduction)
            throw Error(who, steps_[k].op->record.name + " is a reduction, and not the last op");
    if (!reduces()) return;
    if (outputs_.size() != 1) throw Error(who, "a chain that ends with a reduction has one output");
    const auto differs = [&](const Shape &s) { return !(s == shapes_[0]); };
    if (std::ranges::any_of(shapes_, differs))
        throw ShapeError(who, "inputs of a reduction have one shape, not " + shapes_[0].text() +
                                  " and others");
}

// Takes no more instructions than the kit's kernels of the ops: with others, such as fused multiply
// and add, results have other bits, though not for every input. A build may lack some.
void FusedChain::limit_isa() {
    for (const Step &s : steps_) {
        std::optional<Isa> most;
        for (const KernelEntry &k : s.op->kernels) {
            const bool is_candidate = k.backend == "cpu" && k.dtypes == dtype_ && k.isa <= isa_;
            if (is_candidate && (!most || *most < k.isa)) most = k.isa;
        }
        isa_ = most.value_or(isa_);
    }
}

void FusedChain::make_record() {
    const std::string name = "fused_" + digest(signature() + chain_body_ + dtype_).substr(16);
    const Chain chain(op_table(), name, signature(), chain_body_);
    op_.record = chain;
    op_.record.dtypes = {dtype_};
    op_.signature = Signature(name, signature());
    op_.only_argument.assign(op_.record.attrs.size(), false);
    if (!reduces()) return;
    const Step &last = steps_.back();
    graph::end_with(op_.record, last.op->record);
    variant_ = variant_for(shapes_[0]);
    const auto chosen = std::ranges::find(last.op->record.variants, variant_, &VariantSpec::name);
    op_.record.variants = {*chosen};
}

// Returns the variant that a call of the reduction alone gets. Its order of the sum is its own.
std::string FusedChain::variant_for(const Shape &shape) const {
    const std::vector<OperandMeta> in{{type_, shape, dense_strides(shape)}};
    const Force force(isa_, "");
    return make_plan(*steps_.back().op, in, steps_.back().attrs).kernel->variant;
}

// Returns the attributes of the kernel's call.
Attrs FusedChain::attrs() const {
    const Step &last = steps_.back();
    Attrs all = reduces() ? Attrs(op_.record, last.op->record, last.attrs) : Attrs(op_.record);
    for (size_t k = 0; k < numbers_.size(); k++)
        all.set(k, numbers_[k]);
    return all;
}

void FusedChain::read_inputs(const FusedRequest &request) {
    std::vector<std::string> results;
    for (const Statement &s : statements_of(request.body)) {
        const std::vector<std::string> &words = s.words;
        chain_body_ += (chain_body_.empty() ? "" : ";") + s.call;
        for (size_t k = 2; k < words.size(); k++) {
            const bool is_known = std::ranges::count(results, words[k]) ||
                                  std::ranges::count(names_, words[k]);
            if (!is_known) names_.push_back(words[k]);
        }
        results.push_back(words[0]);
    }
    if (request.inputs.size() != names_.size())
        throw Error(who, fmt::format("{} inputs are given, the chain has {}: {}",
                                     request.inputs.size(), names_.size(), join(names_)));
    for (size_t k = 0; k < names_.size(); k++) {
        const OperandMeta m = meta_from(request.inputs[k]);
        if (k == 0) type_ = m.dtype;
        if (m.dtype != type_)
            throw DTypeError(who, fmt::format("{} is {}, expected {} like {}", names_[k],
                                              name_of(m.dtype), name_of(type_), names_[0]));
        shapes_.push_back(m.shape);
    }
    dtype_ = name_of(type_);
}

void FusedChain::read_steps(const FusedRequest &request) {
    for (const Statement &statement : statements_of(request.body)) {
        const std::vector<std::string> &words = statement.words;
        const RegisteredOp &op = registry().at(words[1]);
        const bool is_reduction = graph::may_end_region(op);
        if (const std::string reason = graph::unfusible_reason(op);
            !reason.empty() && !is_reduction)
            throw Error(who, op.record.name + " " + reason);
        if (!is_reduction && !statement.attributes.empty())
            throw AttrError(who, op.record.name + " takes its attributes from --numbers");
        Step s{&op, {}, Attrs(op.record, statement.attributes), words[0]};
        for (size_t k = 2; k < words.size(); k++)
            s.arguments.push_back(size_t(std::ranges::find(names_, words[k]) - names_.begin()));
        for (size_t k = 0; k < op.record.attrs.size() && !is_reduction; k++, real_attributes_++)
            if (real_attributes_ < numbers_.size()) s.attrs.set(k, numbers_[real_attributes_]);
        steps_.push_back(std::move(s));
        names_.push_back(words[0]);
    }
}

void FusedChain::choose_outputs(const FusedRequest &request) {
    outputs_ = request.outputs;
    if (!outputs_.empty()) return;
    for (const Step &s : steps_) {
        const auto place = size_t(std::ranges::find(names_, s.result) - names_.begin());
        const bool is_read = std::ranges::any_of(steps_, [&](const Step &reader) {
            return std::ranges::count(reader.arguments, place);
        });
        if (!is_read) outputs_.push_back(s.result);
    }
}

// Returns the text of a tensor of a signature, under another name.
std::string tensor_text(const std::string &name, const TensorSpec &like) {
    return name + (like.any_rank ? "[*]" : "[" + join(like.extents, ",") + "]");
}

std::string FusedChain::signature() const {
    const Signature &last = steps_.back().op->signature;
    std::string text;
    for (size_t k = 0; k < shapes_.size(); k++)
        text += tensor_text(names_[k], last.inputs[0]) + " ";
    text += "->";
    for (const std::string &output : outputs_)
        text += " " + tensor_text(output, last.outputs[0]);
    return text;
}

// Returns the inputs that are broadcast along the innermost dimension of the call, as bits.
std::vector<unsigned> FusedChain::broadcasts() const {
    std::vector<OperandMeta> metas;
    for (const Shape &s : shapes_)
        metas.push_back({type_, s, dense_strides(s)});
    const Plan plan = make_plan(op_, metas, Attrs(op_.record), true);
    unsigned broadcast = 0;
    for (size_t k = 0; k < plan.inputs.size(); k++)
        if (plan.inputs[k].dims[0].stride == 0) broadcast |= 1U << k;
    return broadcast == 0 ? std::vector<unsigned>{0} : std::vector<unsigned>{0, broadcast};
}

void FusedChain::compile() {
    auto chain = std::make_unique<Chain>(op_table(), op_.record.name, signature(), chain_body_);
    static_cast<OpRecord &>(*chain) = op_.record;
    chain->has_edges = true;
    if (!reduces()) chain->broadcasts = broadcasts();
    Instance instance;
    instance.dtypes = dtype_;
    instance.isa = isa_;
    instance.variant = variant_;
    Kernel kernel(std::move(chain), instance);
    KernelEntry k;
    k.op = op_.record.name;
    k.backend = "cpu";
    k.dtypes = dtype_;
    k.isa = isa_;
    k.lanes = kernel.lanes;
    k.variant = variant_;
    k.tunables = kernel.instance.tunables.values();
    k.fn = kernel.load();
    op_.kernels = {k};
    library_ = kernel.library();
    symbol_ = instance.symbol(op_.record.name);
}

std::vector<Tensor> FusedChain::tensors(const Shapes &shapes, bool with_specials) const {
    std::mt19937 rng(5);
    std::normal_distribution<double> normal;
    std::vector<Tensor> all;
    for (const Shape &s : shapes) {
        std::vector<double> numbers(size_t(s.elements()));
        for (double &number : numbers)
            number = normal(rng);
        const Tensor t = Tensor::from(numbers, s).to(type_);
        if (with_specials) check::sprinkle(t, 1 + int(s.elements() / 16), rng);
        all.push_back(t);
    }
    return all;
}

std::vector<Tensor> FusedChain::values(const std::vector<Tensor> &inputs) const {
    std::vector<Tensor> all = inputs;
    for (const Step &s : steps_) {
        std::vector<Tensor> in;
        for (const size_t k : s.arguments)
            in.push_back(all[k]);
        all.push_back(dispatch1(*s.op, in, s.attrs));
    }
    return all;
}

std::string FusedChain::difference(const Shapes &shapes, bool with_specials) const {
    if (reduces() && variant_for(shapes[0]) != variant_) return "";
    const std::vector<Tensor> in = tensors(shapes, with_specials);
    const std::vector<Tensor> got = dispatch(op_, in, attrs());
    const std::vector<Tensor> all = values(in);
    for (size_t k = 0; k < outputs_.size(); k++) {
        const auto place = size_t(std::ranges::find(names_, outputs_[k]) - names_.begin());
        std::string found = first_difference(outputs_[k], got[k], all[place]);
        if (!found.empty()) return found;
    }
    return "";
}

// Returns small shapes of the inputs' pattern: equal extents stay equal, and 1 stays 1.
FusedChain::Shapes FusedChain::shapes_with(int64_t salt) const {
    constexpr int64_t largest = 41;
    Shapes all = shapes_;
    for (Shape &s : all) {
        for (int d = 0; d < s.rank(); d++)
            if (s[d] != 1) s[d] = 2 + (s[d] * 7 + salt) % largest;
    }
    return all;
}

std::string FusedChain::difference() const {
    for (const bool with_specials : {false, true}) {
        for (const int64_t salt : {0, 5, 13, 22, 31}) {
            std::string found = difference(shapes_with(salt), with_specials);
            if (!found.empty()) return found;
        }
    }
    return difference(shapes_to_time(), true);
}

// Returns the inputs' shapes, with the largest extents halved until a tensor has no more elements
// than are worth timing.
FusedChain::Shapes FusedChain::shapes_to_time() const {
    constexpr int64_t most_elements = int64_t(1) << 24;
    Shapes all = shapes_;
    const auto largest = [&] {
        return std::ranges::max(all, {}, [](const Shape &s) { return s.elements(); });
    };
    for (Shape whole = largest(); whole.elements() > most_elements; whole = largest()) {
        const int64_t extent = std::ranges::max(whole);
        for (Shape &s : all) {
            for (int d = 0; d < s.rank(); d++)
                if (s[d] == extent) s[d] = (extent + 1) / 2;
        }
    }
    return all;
}

FusedChain::Times FusedChain::times() const {
    constexpr int rounds = 15;
    constexpr double seconds_of_round = 0.002;
    const std::vector<Tensor> in = tensors(shapes_to_time(), false);
    const Attrs attributes = attrs();
    const std::vector<Tensor> out = dispatch(op_, in, attributes);
    const std::vector<Tensor> all = values(in);
    const auto ops = [&] {
        for (size_t k = 0; k < steps_.size(); k++) {
            std::vector<Tensor> arguments;
            for (const size_t place : steps_[k].arguments)
                arguments.push_back(all[place]);
            dispatch_into(*steps_[k].op, arguments, steps_[k].attrs,
                          std::span(&all[in.size() + k], 1));
        }
    };
    const auto kernel = [&] { dispatch_into(op_, in, attributes, out); };
    const auto seconds = bench::interleaved({ops, kernel}, rounds, seconds_of_round);
    std::vector<double> ratios;
    for (size_t k = 0; k < seconds[0].size(); k++)
        ratios.push_back(seconds[0][k] / seconds[1][k]);
    return {bench::median(ratios), bench::median(seconds[1])};
}

}  // namespace halyard::command
