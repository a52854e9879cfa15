#include "tools/halyard/fused_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include "bench/harness/ab_result.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "graph/region.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/check/fills.h"

namespace halyard::command {
namespace {

constexpr const char *who = "fuse";

// Returns the words of "t = mul(x, g)": the result, the op, its arguments.
std::vector<std::string> words_of(std::string statement) {
    for (char &c : statement)
        if (c == '=' || c == '(' || c == ',' || c == ')') c = ' ';
    std::istringstream text(statement);
    std::vector<std::string> words;
    for (std::string word; text >> word;)
        words.push_back(word);
    if (words.size() < 3)
        throw Error(who, "'" + statement + "' is no call, expected RESULT = OP(ARGUMENT, ...)");
    return words;
}

std::vector<std::vector<std::string>> statements_of(const std::string &body) {
    std::vector<std::vector<std::string>> all;
    std::istringstream text(body);
    for (std::string statement; std::getline(text, statement, ';');)
        all.push_back(words_of(statement));
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

// Returns the first element whose bits differ, as text; "" if there is none. Two NaN are the same:
// where two meet, the compiler chooses whose sign the result has.
std::string first_difference(const std::string &name, const Tensor &got, const Tensor &expected) {
    if (got.bytes() == 0 ||
        std::memcmp(got.bytes_to_read(), expected.bytes_to_read(), got.bytes()) == 0)
        return "";
    const std::vector<double> a = got.to(DType::f64).to_vector<double>();
    const std::vector<double> b = expected.to(DType::f64).to_vector<double>();
    for (size_t k = 0; k < a.size(); k++) {
        const bool are_nan = std::isnan(a[k]) && std::isnan(b[k]);
        if (are_nan || std::memcmp(&a[k], &b[k], sizeof(double)) == 0) continue;
        return fmt::format("{} of {}, element {}: {:.17g}, its ops give {:.17g}", name,
                           got.shape().text(), k, a[k], b[k]);
    }
    return "";
}

}  // namespace

FusedChain::FusedChain(const FusedRequest &request)
    : body_(request.body), numbers_(request.numbers), isa_(request.isa) {
    read_inputs(request);
    read_steps(request);
    choose_outputs(request);
    const std::string name = "fused_" + digest(signature() + body_ + dtype_).substr(16);
    const Chain chain(op_table(), name, signature(), body_);
    op_.record = chain;
    op_.record.dtypes = {dtype_};
    op_.signature = Signature(name, signature());
    op_.only_argument.assign(op_.record.attrs.size(), false);
    if (!numbers_.empty() && numbers_.size() != op_.record.attrs.size())
        throw AttrError(who, fmt::format("{} numbers are given, the chain has {} attributes",
                                         numbers_.size(), op_.record.attrs.size()));
}

void FusedChain::read_inputs(const FusedRequest &request) {
    std::vector<std::string> results;
    for (const std::vector<std::string> &words : statements_of(request.body)) {
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
    size_t number = 0;
    for (const std::vector<std::string> &words : statements_of(request.body)) {
        const RegisteredOp &op = registry().at(words[1]);
        if (const std::string reason = graph::unfusible_reason(op); !reason.empty())
            throw Error(who, op.record.name + " " + reason);
        Step s{&op, {}, Attrs(op.record), words[0]};
        for (size_t k = 2; k < words.size(); k++)
            s.arguments.push_back(size_t(std::ranges::find(names_, words[k]) - names_.begin()));
        for (size_t k = 0; k < op.record.attrs.size(); k++, number++)
            if (number < numbers_.size()) s.attrs.set(k, numbers_[number]);
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

std::string FusedChain::signature() const {
    std::string text;
    for (size_t k = 0; k < shapes_.size(); k++)
        text += names_[k] + "[*] ";
    text += "->";
    for (const std::string &output : outputs_)
        text += " " + output + "[*]";
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
    auto chain = std::make_unique<Chain>(op_table(), op_.record.name, signature(), body_);
    chain->dtypes = {dtype_};
    chain->broadcasts = broadcasts();
    Instance instance;
    instance.dtypes = dtype_;
    instance.isa = isa_;
    Kernel kernel(std::move(chain), instance);
    KernelEntry k;
    k.op = op_.record.name;
    k.backend = "cpu";
    k.dtypes = dtype_;
    k.isa = isa_;
    k.lanes = kernel.lanes;
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
    const std::vector<Tensor> in = tensors(shapes, with_specials);
    Attrs attrs(op_.record);
    for (size_t k = 0; k < numbers_.size(); k++)
        attrs.set(k, numbers_[k]);
    const std::vector<Tensor> got = dispatch(op_, in, attrs);
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
            const std::string found = difference(shapes_with(salt), with_specials);
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
    Attrs attrs(op_.record);
    for (size_t k = 0; k < numbers_.size(); k++)
        attrs.set(k, numbers_[k]);
    const std::vector<Tensor> out = dispatch(op_, in, attrs);
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
    const auto kernel = [&] { dispatch_into(op_, in, attrs, out); };
    const auto seconds = bench::interleaved({ops, kernel}, rounds, seconds_of_round);
    std::vector<double> ratios;
    for (size_t k = 0; k < seconds[0].size(); k++)
        ratios.push_back(seconds[0][k] / seconds[1][k]);
    return {bench::median(ratios), bench::median(seconds[1])};
}

}  // namespace halyard::command
