#include "dsl/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "dsl/tuple_update.h"
#include "registry/base/error.h"

namespace halyard {
namespace {

void check_problem(const Op &op, const char *kind, const std::string &text,
                   const std::set<std::string> &dims) {
    const auto refuse = [&](const std::string &what) {
        const std::string place = line_of(op, text);
        throw AttrError(op.name, at_location(place, std::string(kind) + " '" + text + "' " + what));
    };
    std::set<std::string> open = dims;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::string name = word.substr(0, word.find('='));
        if (word.find('=') == std::string::npos) refuse("has '" + word + "', expected name=value");
        bool known = dims.count(name) > 0;
        for (auto &a : op.attrs)
            known |= a.name == name;
        std::string all;
        for (auto &d : dims)
            all += (all.empty() ? "" : ", ") + d;
        if (!known) refuse("names " + name + ": the dimensions of " + op.signature + " are " + all);
        open.erase(name);
    }
    for (auto &l : op.lets)
        open.erase(l.name);
    if (!open.empty()) refuse("doesn't say " + *open.begin());
}

// Of definition number `i` of a Func that has `count` of them. total(n) += ... is two definitions
// in one call.
std::string place_of(const std::vector<Directive> &directives, const std::string &func, size_t i,
                     size_t count) {
    std::vector<const CallSite *> calls;
    for (auto &d : directives)
        if (d.definition && d.func == func) calls.push_back(&d.at);
    if (calls.empty()) return "";
    const size_t from_last = count - 1 - i;
    return (from_last < calls.size() ? calls[calls.size() - 1 - from_last] : calls[0])->location();
}

// Is a dimension known from this input only? Gradients have some for their shape.
bool sizes_something(const Op &op, size_t input) {
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

// "0.1" where `v` is 0.1f: a double that has a float's digits, and few in decimal. "" for others,
// such as 0.5 and 2^-30.
std::string written_as_float(double v) {
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

class Constants : public Halide::Internal::IRVisitor {
    using IRVisitor::visit;
    // reals are Float(64); what is Float(32) was meant to be
    void visit(const Halide::Internal::FloatImm *c) override {
        if (found.empty() && c->type.bits() == 64) found = written_as_float(c->value);
    }

public:
    std::string found;  // the first that was rounded
};

}  // namespace

std::string line_of(const Op &op, const std::string &text) {
    const std::string file = op.defined_at.outermost_file();
    const std::string place = op.defined_at.outermost_location();
    std::ifstream source(file);
    int number = 1;
    for (std::string line; std::getline(source, line); number++) {
        if (line.find("\"" + text + "\"") != std::string::npos)
            return place.substr(0, place.find(':') + 1) + std::to_string(number);
    }
    return place;
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
}

void check_algorithm(const Op &op, const std::vector<Directive> &directives) {
    std::vector<Halide::Internal::Function> outputs;
    for (const Halide::Func &f : op.out) {
        const std::string name = op.sig.outputs[outputs.size()].name;
        if (!f.defined()) {
            throw Error(op.name, at_location(op.defined_at.outermost_location(),
                                             "algorithm() never defines output " + name));
        }
        if (f.has_update_definition()) {
            throw Error(
                op.name,
                at_location(place_of(directives, f.name(), 1, 2),
                            "output " + name +
                                " is updated; reduce into a Func of its own, and copy it to " +
                                name));
        }
        outputs.push_back(f.function());
    }
    const auto environment = Halide::Internal::build_environment(outputs);
    for (size_t k = 0; k < op.in.size(); k++) {
        if (!environment.count(op.in[k].name()) && !sizes_something(op, k)) {
            throw Error(op.name,
                        at_location(op.defined_at.outermost_location(),
                                    "algorithm() never reads input " + op.sig.inputs[k].name));
        }
    }
    for (auto &[name, f] : environment) {
        const size_t count = 1 + f.updates().size();
        for (size_t i = 0; i < count; i++) {
            if (i > 0 && f.outputs() > 1 && update_index_reads_self(f, int(i) - 1)) {
                throw Error(
                    op.name,
                    at_location(
                        place_of(directives, name, i, count),
                        "an update of a Tuple reads the Tuple to find the place it writes, "
                        "which would "
                        "change between its components; give each component a Func of its own"));
            }
            Constants constants;
            (i == 0 ? f.definition() : f.update(int(i) - 1)).accept(&constants);
            const std::string &digits = constants.found;
            if (digits.empty()) continue;
            throw Error(op.name,
                        at_location(place_of(directives, name, i, count),
                                    "the constant " + digits +
                                        "f has a float's digits only, also in f64 kernels; " +
                                        digits + "_r has all"));
        }
    }
}

}  // namespace halyard
