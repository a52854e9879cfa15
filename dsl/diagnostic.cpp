#include "dsl/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "dsl/name_counters.h"
#include "registry/base/text.h"

namespace halyard {
namespace {

class Reporter : public Halide::CompileTimeErrorReporter {
public:
    void warning(const char *) override {}
    void error(const char *what) override { throw HalideFailure(what, CallSite::here()); }
};

// Returns a text of Halide's without prefixes and without the lines of Halide's own sources.
std::string without_source_lines(std::string text) {
    text = std::regex_replace(text, std::regex(R"re(^(User |Internal )?[Ee]rror:? ?)re"), "");
    text = std::regex_replace(
        text, std::regex(R"re( ?(at|in) \S+\.(cpp|h):\d+( triggered by user code at\S*)?:?)re"),
        "");
    text = std::regex_replace(text, std::regex(R"re(\nVars: .*)re"), "");
    text = std::regex_replace(text, std::regex(R"re(^In schedule for [^,:]+[,:] )re"), "");
    text = std::regex_replace(text, std::regex(R"re(\s+)re"), " ");
    text = std::regex_replace(text, std::regex(R"re(^ | $|\.? $|\.$)re"), "");
    return text;
}

struct Explanation {
    // The directive to report; null for the call that Halide rejected.
    const Directive *directive = nullptr;
    std::string problem, legal;
};

// Explains an error of Halide's. Known texts are recognised by regular expressions; their function
// looks up what would have been legal.
class Explainer {
public:
    Explainer(const Op &op, const std::string &text, const std::vector<Directive> &directives)
        : op_(op), text_(text), directives_(directives) {}

    Explanation explain() const {
        using Rule = Explanation (Explainer::*)(const std::smatch &) const;
        static const std::vector<std::pair<std::regex, Rule>> rules = {
            {std::regex(
                 R"re(Func "([^"]+)" is computed at the following invalid location:\n\s*(.*);)re"),
             &Explainer::invalid_location},
            {std::regex(
                 R"re(In schedule for ([^,]+), marking var (\S+) as parallel or vectorized may introduce a race)re"),
             &Explainer::race},
            {std::regex(
                 R"re(Can only (\w+) for loops over a constant extent\.?\s*Loop over (\S+?)\.s\d+\.(\S+) has extent)re"),
             &Explainer::unknown_extent},
            {std::regex(
                 R"re(In schedule for ([^,]+), could not find (?:\w+ )*dimension:? (\S+))re"),
             &Explainer::no_such_loop},
            {std::regex(R"re(In schedule for ([^,]+), could not find var (\S+) )re"),
             &Explainer::no_such_loop},
            {std::regex(
                 R"re([Ff]unction (\S+?),? (?:because the function )?is scheduled inline)re"),
             &Explainer::inlined},
            {std::regex(
                 R"re(Func "([^"]+)" was called with (\d+) arguments, but was defined with (\d+))re"),
             &Explainer::arguments},
            {std::regex(R"re(Can't call Func "([^"]+)" because it has not yet been defined)re"),
             &Explainer::undefined},
            {std::regex(R"re(can't perform rfactor\(\) because we can't prove associativity)re"),
             &Explainer::not_associative},
            {std::regex(
                 R"re(constant (\S+) will be implicitly coerced to type (\w+), which changes its value to (?:\(\w+\))?(\S+?)\.?\s*$)re"),
             &Explainer::too_large},
            {std::regex(
                 R"re(Implicit cast from float64 to int in argument (\d+) in call to "([^"]+)")re"),
             &Explainer::real_index},
            {std::regex(R"re(Undefined variable "([^"]+)" in definition of Func "([^"]+)")re"),
             &Explainer::unknown_variable},
        };
        std::smatch m;
        for (auto &[pattern, rule] : rules)
            if (std::regex_search(text_, m, pattern)) return (this->*rule)(m);
        return {last_named(), without_source_lines(text_), ""};
    }

private:
    // Returns the last scheduling call on `func` for which `matches` is true. Returns the last
    // definition of `func` if there is none, or null.
    const Directive *last(const std::string &func,
                          const std::function<bool(const Directive &)> &matches) const {
        const Directive *definition = nullptr;
        for (size_t i = directives_.size(); i-- > 0;) {
            const Directive &d = directives_[i];
            if (d.func != func) continue;
            if (!d.definition && matches(d)) return &d;
            if (d.definition && !definition) definition = &d;
        }
        return definition;
    }
    static bool is_call_of(const Directive &d, const char *method) {
        return d.call.find(std::string(".") + method) != std::string::npos;
    }
    // Returns the last directive, which is the one that Halide was executing.
    const Directive *current() const {
        static const Directive none;
        return directives_.empty() ? &none : &directives_.back();
    }
    // Returns the last directive on a Func that the text names, or null.
    const Directive *last_named() const {
        for (size_t i = directives_.size(); i-- > 0;) {
            const std::string &func = directives_[i].func;
            for (size_t at = text_.find(func); at != std::string::npos;
                 at = text_.find(func, at + 1)) {
                if ((at == 0 || !in_name(text_[at - 1])) &&
                    (at + func.size() == text_.size() || !in_name(text_[at + func.size()])))
                    return &directives_[i];
            }
        }
        return nullptr;
    }
    static bool in_name(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
    }

    // What Halide lists after an invalid compute_at().
    struct Uses {
        std::vector<std::string> legal;  // "compute_at(y, n)", from the outermost loop inwards
        std::set<std::string> users;     // the Funcs that use the one in question
        std::set<std::string> loops;     // the loops around the uses: "y, n"
    };
    static Uses parse_uses(const std::string &text) {
        static const std::regex legal(R"re(^\s+\S+?\.(compute_\w+\(.*\));$)re");
        static const std::regex user(R"re(^\s+(\S+) uses \S+$)re");
        static const std::regex loop(R"re(for (\S+?)\.s\d+\.(?:[\w$]+\.)*([\w$]+):$)re");
        Uses uses;
        std::istringstream lines(text);
        std::smatch found;
        for (std::string line; std::getline(lines, line);) {
            if (line.find("Var::outermost()") != std::string::npos) continue;
            if (std::regex_search(line, found, legal)) uses.legal.push_back(found[1]);
            if (std::regex_search(line, found, user)) uses.users.insert(found[1]);
            if (std::regex_search(line, found, loop))
                uses.loops.insert(found[1].str() + ", " + found[2].str());
        }
        return uses;
    }

    Explanation invalid_location(const std::smatch &m) const {
        static const std::regex compute_level(R"re(compute_\w+\((.*?)\)$)re");
        static const std::regex store_level(R"re((?:store|hoist)_\w+\((.*?)\)\.)re");
        const std::string func = m[1];
        const std::string location = m[2];
        const Uses uses = parse_uses(m.suffix().str());
        std::smatch compute;
        std::regex_search(location, compute, compute_level);
        const bool computed_legally = std::count(uses.legal.begin(), uses.legal.end(),
                                                 compute[0].str()) > 0;
        if (computed_legally && std::regex_search(location, store_level))
            return invalid_storage(func, compute[0], uses);

        const auto is_compute = [](const Directive &d) { return is_call_of(d, "compute_"); };
        const std::string loop = compute[1];
        const std::string var = loop.substr(loop.rfind(' ') + 1);
        const std::string loop_func = loop.substr(0, loop.find(','));
        const std::string problem = uses.loops.count(loop)
                                        ? "that loop isn't around every use of " + func + ", by " +
                                              join(uses.users, " and ")
                                        : loop_func + " has no loop " + var + " where " + func +
                                              " is used";
        return {last(func, is_compute), problem, "legal are " + join(uses.legal)};
    }
    // Explains a store_at() or hoist_storage() inside the loop in which the Func is computed.
    Explanation invalid_storage(const std::string &func, const std::string &compute,
                                const Uses &uses) const {
        const auto is_store = [](const Directive &d) {
            return is_call_of(d, "store_at") || is_call_of(d, "hoist_storage");
        };
        std::vector<std::string> legal;
        for (const std::string &level : uses.legal) {
            legal.push_back("store_" + level.substr(level.find('_') + 1));
            if (level == compute) break;
        }
        return {last(func, is_store), func + " is computed in a loop around that one, " + compute,
                "legal are " + join(legal)};
    }
    Explanation race(const std::smatch &m) const {
        std::vector<std::string> pure;
        for (const Loop &l : current()->loops)
            if (l.pure) pure.push_back(l.var);
        return {current(), "several iterations of " + m[2].str() + " write the same element",
                (pure.empty() ? "" : "legal are the pure loops " + join(pure) + ", or ") +
                    std::string("rfactor() the reduction first, or atomic()")};
    }
    Explanation unknown_extent(const std::smatch &m) const {
        const std::string method = m[1];
        const std::string func = m[2];
        const std::string name = m[3];
        const std::string var = name.substr(name.rfind('.') + 1);
        const Directive *d = last(func, [&](const Directive &call) {
            return is_call_of(call, method.c_str()) &&
                   std::count(call.names.begin(), call.names.end(), var);
        });
        return {d, "the extent of loop " + var + " isn't known when this is compiled",
                "give a factor: ." + method + "(" + var + ", 8), or bound_extent(" + var +
                    ", ...)"};
    }
    Explanation no_such_loop(const std::smatch &m) const {
        std::vector<std::string> loops;
        for (const Loop &l : current()->loops)
            loops.push_back(l.var);
        return {current(), m[1].str() + " has no loop " + m[2].str() + " here",
                "its loops are, innermost first, " + join(loops)};
    }
    Explanation inlined(const std::smatch &m) const {
        const Directive *d = last(
            m[1], [](const Directive &call) { return !is_call_of(call, "compute_inline"); });
        return {d, m[1].str() + " has no loops of its own: it is computed inline, where it is used",
                "compute_at() or compute_root() gives it some"};
    }
    Explanation arguments(const std::smatch &m) const {
        return {nullptr,
                m[1].str() + " has " + m[3].str() + " dimensions, and " + m[2].str() +
                    " arguments here",
                ""};
    }
    Explanation undefined(const std::smatch &m) const {
        return {nullptr, m[1].str() + " is read before it is defined",
                m[1].str() + "(...) = ... has to come first"};
    }
    Explanation not_associative(const std::smatch &) const {
        return {current(), "the update isn't known to be associative: its parts can't be combined",
                "sums, products, max, min, && and || are"};
    }
    Explanation too_large(const std::smatch &m) const {
        return {nullptr,
                "the constant " + m[1].str() + " doesn't fit " + m[2].str() +
                    ", where it would be " + m[3].str(),
                "cast the other operand to a wider type"};
    }
    Explanation real_index(const std::smatch &m) const {
        return {nullptr,
                "argument " + m[1].str() + " of " + m[2].str() +
                    "(...) is a real, and an index has to be an integer",
                "cast<int32_t>(...) makes it one"};
    }
    Explanation unknown_variable(const std::smatch &m) const {
        return {nullptr,
                m[1].str() + " isn't a variable of this definition of " + m[2].str() + "(...)",
                "an update has the pure variables of the first definition, each in its place"};
    }

    const Op &op_;
    const std::string &text_;
    const std::vector<Directive> &directives_;
};

}  // namespace

void throw_halide_errors() {
    static Reporter reporter;
    Halide::set_custom_compile_time_error_reporter(&reporter);
}

std::string with_author_names(const Op &op, std::string text) {
    text = std::regex_replace(
        text, std::regex(R"re(([A-Za-z_]\w*(?:\$\d+)?)\.s\d+\.(?:[\w$]+\.)*([\w$]+))re"),
        "$2 of $1");
    text = without_counters(text);
    text = std::regex_replace(text, std::regex(R"re(\b(\w+)\$([xyzw])\b)re"), "$1.$2");
    for (auto &t : op.sig.inputs)
        text = std::regex_replace(text, std::regex("\\b" + t.name + "_in\\b"), t.name);
    return std::regex_replace(text, std::regex(R"re(\bfloat64\b)re"), "real");
}

Error diagnostic(const Op &op, const Halide::Error &error,
                 const std::vector<Directive> &directives) {
    const std::string text = error.what();
    const Explanation explanation = Explainer(op, text, directives).explain();
    const auto *failure = dynamic_cast<const HalideFailure *>(&error);
    std::string location = failure ? failure->site.location() : "";
    const Directive *d = explanation.directive;
    if (location.empty()) {
        if (d) location = d->site.location();
    } else {
        // The call that Halide rejected is the last directive, or part of an expression.
        const bool is_last = !directives.empty() && directives.back().site.location() == location;
        d = is_last ? &directives.back() : nullptr;
    }
    std::string s = d && !d->definition ? with_author_names(op, d->call) + ": " : "";
    s += with_author_names(op, explanation.problem);
    if (!explanation.legal.empty()) s += "; " + with_author_names(op, explanation.legal);
    return Error(op.name, at_location(location, s));
}

DTypeError diagnostic(const Op &op, const DTypeError &error,
                      const std::vector<Directive> &directives) {
    const std::string func = error.op();
    std::string location;
    for (auto &d : directives)
        if (d.definition && d.func == func) location = d.site.location();
    return DTypeError(op.name, at_location(location, with_author_names(op, error.detail())));
}

}  // namespace halyard
