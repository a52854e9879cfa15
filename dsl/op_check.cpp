#include "dsl/op_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "dsl/tuple_update.h"
#include "registry/base/error.h"
#include "registry/base/text.h"

namespace halyard {
namespace {

// Checks a sample or benchmark problem. `dims` are the dimensions that it may set.
void check_problem(const Op &op, const char *kind, const std::string &text,
                   const std::set<std::string> &dims) {
    const auto fail = [&](const std::string &what) {
        throw AttrError(
            op.name, at_location(line_of(op, text), fmt::format("{} '{}' {}", kind, text, what)));
    };
    std::set<std::string> unset = dims;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::string name = word.substr(0, word.find('='));
        if (word.find('=') == std::string::npos) fail("has '" + word + "', expected name=value");
        bool known = dims.count(name) > 0;
        for (auto &a : op.attrs)
            known |= a.name == name;
        if (!known) {
            fail(fmt::format("names {}: the dimensions of {} are {}", name, op.signature,
                             join(dims)));
        }
        unset.erase(name);
    }
    for (auto &l : op.lets)
        unset.erase(l.name);
    if (!unset.empty()) fail("has no value for " + *unset.begin());
}

// Returns the line of definition number `i` of a Func that has `count` definitions. A call such as
// total(n) += ... makes two: the initial value, and the update.
std::string location_of(const std::vector<Directive> &directives, const std::string &func, size_t i,
                        size_t count) {
    std::vector<const CallSite *> calls;
    for (auto &d : directives)
        if (d.definition && d.func == func) calls.push_back(&d.site);
    if (calls.empty()) return "";
    const size_t from_last = count - 1 - i;
    return (from_last < calls.size() ? calls[calls.size() - 1 - from_last] : calls[0])->location();
}

// Returns true if a dimension is known from this input only. Gradient ops have inputs that are only
// read for their shape.
bool defines_dimension(const Op &op, size_t input) {
    std::set<std::string> others;
    for (size_t k = 0; k < op.sig.inputs.size(); k++) {
        if (k != input) {
            for (auto &d : op.extents_of(op.sig.inputs[k]))
                others.insert(d);
        }
    }
    const auto mine = op.extents_of(op.sig.inputs[input]);
    return std::any_of(mine.begin(), mine.end(),
                       [&](const std::string &d) { return !others.count(d); });
}

// Returns "0.1" for the double 0.1f: a number that is a float with few decimal digits, although the
// double nearest to these digits is another one. Returns "" for all others, such as 0.5 and 2^-30.
std::string digits_of_float(double v) {
    const float f = float(v);
    if (!std::isfinite(v) || double(f) != v || v == std::nearbyint(v)) return "";
    int exponent;
    const auto mantissa = uint32_t(std::ldexp(std::frexp(std::fabs(f), &exponent), 24));
    if (mantissa % 256 == 0) return "";
    char text[40];
    for (int digits = 1; digits <= 7; digits++) {
        std::snprintf(text, sizeof text, "%.*g", digits, v);
        if (std::strtof(text, nullptr) == f) return std::strtod(text, nullptr) == v ? "" : text;
    }
    return "";
}

// Finds the first real constant that was rounded to float. Reals are Float(64); constants of type
// Float(32) are intended as such.
class FindFloatConstant : public Halide::Internal::IRVisitor {
    using IRVisitor::visit;
    void visit(const Halide::Internal::FloatImm *c) override {
        if (digits.empty() && c->type.bits() == 64) digits = digits_of_float(c->value);
    }

public:
    std::string digits;  // "0.1"; empty if there is none
};

using Halide::Internal::Function;

void check_outputs(const Op &op, const std::vector<Directive> &directives) {
    for (size_t k = 0; k < op.out.size(); k++) {
        const Halide::Func &f = op.out[k];
        const std::string &name = op.sig.outputs[k].name;
        if (!f.defined()) {
            throw Error(op.name, at_location(op.defined_at.outermost_location(),
                                             "algorithm() never defines output " + name));
        }
        if (f.has_update_definition()) {
            const std::string message = fmt::format(
                "output {0} is updated; reduce into a Func of its own, and copy it to {0}", name);
            throw Error(op.name, at_location(location_of(directives, f.name(), 1, 2), message));
        }
    }
}

void check_inputs(const Op &op, const std::map<std::string, Function> &environment) {
    for (size_t k = 0; k < op.in.size(); k++) {
        if (!environment.count(op.in[k].name()) && !defines_dimension(op, k)) {
            throw Error(op.name,
                        at_location(op.defined_at.outermost_location(),
                                    "algorithm() never reads input " + op.sig.inputs[k].name));
        }
    }
}

void check_definitions(const Op &op, const Function &f, const std::vector<Directive> &directives) {
    const size_t count = 1 + f.updates().size();
    for (size_t i = 0; i < count; i++) {
        const auto fail = [&](const std::string &message) {
            throw Error(op.name, at_location(location_of(directives, f.name(), i, count), message));
        };
        if (i > 0 && f.outputs() > 1 && update_index_reads_self(f, int(i) - 1)) {
            fail("the index that an update of a Tuple writes depends on the Tuple, which would "
                 "change between its components; give each component a Func of its own");
        }
        FindFloatConstant constant;
        (i == 0 ? f.definition() : f.update(int(i) - 1)).accept(&constant);
        if (!constant.digits.empty()) {
            fail(fmt::format(
                "the constant {0}f has a float's digits only, also in f64 kernels; {0}_r has all",
                constant.digits));
        }
    }
}

// Names tell the variants of the CPU and those of GPUs apart, and every call on a GPU needs one.
void check_variants(const Op &op) {
    std::set<std::string> names;
    for (const VariantSpec *v : all_variants(op)) {
        if (!names.insert(v->name).second) {
            throw AttrError(op.name,
                            at_location(line_of(op, v->name),
                                        fmt::format("two variants are called '{}'", v->name)));
        }
    }
    if (op.gpu_variants.empty() || op.gpu_variants.back().when.empty()) return;
    const VariantSpec &last = op.gpu_variants.back();
    throw AttrError(op.name,
                    at_location(line_of(op, last.name),
                                fmt::format("the last variant for GPUs, '{}', has a condition, {}: "
                                            "no kernel would take the other calls",
                                            last.name, last.when)));
}

}  // namespace

std::string line_of(const Op &op, const std::string &text, const std::string &otherwise) {
    const std::string file = op.defined_at.outermost_file();
    const std::string location = op.defined_at.outermost_location();
    for (const std::string &quoted : {text, otherwise}) {
        std::ifstream source(file);
        int number = 1;
        for (std::string line; std::getline(source, line); number++) {
            if (!quoted.empty() && line.find("\"" + quoted + "\"") != std::string::npos)
                return location.substr(0, location.find(':') + 1) + std::to_string(number);
        }
    }
    return location;
}

void check_record(const Op &op) {
    std::set<std::string> dims(op.sig.names.begin(), op.sig.names.end());
    for (auto &t : op.sig.inputs) {
        for (auto &d : op.extents_of(t))
            if (is_name(d)) dims.insert(d);
    }
    for (auto &text : op.samples)
        check_problem(op, "sample", text, dims);
    for (auto &text : op.bench)
        check_problem(op, "bench problem", text, dims);
    check_variants(op);
}

void check_algorithm(const Op &op, const std::vector<Directive> &directives) {
    check_outputs(op, directives);
    std::vector<Function> outputs;
    for (const Halide::Func &f : op.out)
        outputs.push_back(f.function());
    const auto environment = Halide::Internal::build_environment(outputs);
    check_inputs(op, environment);
    for (auto &[name, f] : environment)
        check_definitions(op, f, directives);
}

}  // namespace halyard
