#include "dsl/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "dsl/lower.h"

namespace halyard {
namespace {

class Reporter : public Halide::CompileTimeErrorReporter {
public:
    void warning(const char *) override {}
    void error(const char *what) override { throw HalideFailure(what, CallSite::here()); }
};

template<class List> std::string listed(const List &all, const char *between = ", ") {
    std::string s;
    for (const std::string &e : all)
        s += (s.empty() ? "" : between) + e;
    return s;
}

// Halide's text without what only Halide's authors can use.
std::string plain(std::string text) {
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

struct Reason {
    const Directive *directive = nullptr;  // at fault; null = whatever was being said
    std::string what, legal;
};

class Explainer {
public:
    Explainer(const Op &op, const std::string &text, const std::vector<Directive> &directives)
        : op_(op), text_(text), written_(directives) {}

    Reason reason() const {
        using Rule = Reason (Explainer::*)(const std::smatch &) const;
        static const std::vector<std::pair<std::regex, Rule>> rules = {
            {std::regex(
                 R"re(Func "([^"]+)" is computed at the following invalid location:\n\s*(.*);)re"),
             &Explainer::invalid_location},
            {std::regex(
                 R"re(In schedule for ([^,]+), marking var (\S+) as parallel or vectorized may introduce a race)re"),
             &Explainer::race},
            {std::regex(
                 R"re(Can only (\w+) for loops over a constant extent\.?\s*Loop over (\S+?)\.s\d+\.(\S+) has extent)re"),
             &Explainer::any_extent},
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
        return {about_any(), plain(text_), ""};
    }

private:
    // The last scheduling call about `func` that `fits`, else its definition.
    const Directive *last(const std::string &func,
                          const std::function<bool(const Directive &)> &fits) const {
        const Directive *definition = nullptr;
        for (size_t i = written_.size(); i-- > 0;) {
            const Directive &d = written_[i];
            if (d.func != func) continue;
            if (!d.definition && fits(d)) return &d;
            if (d.definition && !definition) definition = &d;
        }
        return definition;
    }
    static bool says(const Directive &d, const char *method) {
        return d.call.find(std::string(".") + method) != std::string::npos;
    }
    const Directive *current() const {  // what Halide was being told
        static const Directive none;
        return written_.empty() ? &none : &written_.back();
    }
    const Directive *about_any() const {  // whose Func the text names
        for (size_t i = written_.size(); i-- > 0;) {
            const std::string &func = written_[i].func;
            for (size_t at = text_.find(func); at != std::string::npos;
                 at = text_.find(func, at + 1)) {
                if ((at == 0 || !in_name(text_[at - 1])) &&
                    (at + func.size() == text_.size() || !in_name(text_[at + func.size()])))
                    return &written_[i];
            }
        }
        return nullptr;
    }
    static bool in_name(char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '$'; }

    Reason invalid_location(const std::smatch &m) const {
        const std::string func = m[1];
        const std::string location = m[2];
        std::vector<std::string> legal;
        std::set<std::string> users, loops;
        std::istringstream lines(m.suffix().str());
        std::smatch found;
        for (std::string line; std::getline(lines, line);) {
            if (line.find("Var::outermost()") != std::string::npos) continue;
            if (std::regex_search(line, found,
                                  std::regex(R"re(^\s+\S+?\.(compute_\w+\(.*\));$)re")))
                legal.push_back(found[1]);
            if (std::regex_search(line, found, std::regex(R"re(^\s+(\S+) uses \S+$)re")))
                users.insert(found[1]);
            if (std::regex_search(line, found,
                                  std::regex(R"re(for (\S+?)\.s\d+\.(?:[\w$]+\.)*([\w$]+):$)re")))
                loops.insert(found[1].str() + ", " + found[2].str());
        }
        std::smatch store, compute;
        std::regex_search(location, compute, std::regex(R"re(compute_\w+\((.*?)\)$)re"));
        const bool computed_legally = std::find(legal.begin(), legal.end(), compute[0].str()) !=
                                      legal.end();
        if (std::regex_search(location, store,
                              std::regex(R"re((?:store|hoist)_\w+\((.*?)\)\.)re")) &&
            computed_legally) {
            std::vector<std::string> around;
            for (const std::string &place : legal) {
                around.push_back("store_" + place.substr(place.find('_') + 1));
                if (place == compute[0]) break;
            }
            return {last(func,
                         [](const Directive &d) {
                             return says(d, "store_at") || says(d, "hoist_storage");
                         }),
                    func + " is computed in a loop around that one, " + compute[0].str(),
                    "legal are " + listed(around)};
        }
        const std::string loop = compute[1];
        const std::string var = loop.substr(loop.rfind(' ') + 1);
        const std::string of = loop.substr(0, loop.find(','));
        const std::string what = loops.count(loop)
                                     ? "that loop isn't around every use of " + func + ", by " +
                                           listed(users, " and ")
                                     : of + " has no loop " + var + " where " + func + " is used";
        return {last(func, [](const Directive &d) { return says(d, "compute_"); }), what,
                "legal are " + listed(legal)};
    }
    Reason race(const std::smatch &m) const {
        std::vector<std::string> pure;
        for (const Loop &l : current()->loops)
            if (l.pure) pure.push_back(l.var);
        return {current(), "several iterations of " + m[2].str() + " write the same element",
                (pure.empty() ? "" : "legal are the pure loops " + listed(pure) + ", or ") +
                    std::string("rfactor() the reduction first, or atomic()")};
    }
    Reason any_extent(const std::smatch &m) const {
        const std::string method = m[1];
        const std::string func = m[2];
        const std::string name = m[3];
        const std::string var = name.substr(name.rfind('.') + 1);
        const Directive *d = last(func, [&](const Directive &at) {
            return says(at, method.c_str()) && std::count(at.names.begin(), at.names.end(), var);
        });
        return {d, "how long loop " + var + " is isn't known when this is compiled",
                "give a factor: ." + method + "(" + var + ", 8), or bound_extent(" + var +
                    ", ...)"};
    }
    Reason no_such_loop(const std::smatch &m) const {
        std::vector<std::string> loops;
        for (const Loop &l : current()->loops)
            loops.push_back(l.var);
        return {current(), m[1].str() + " has no loop " + m[2].str() + " here",
                "its loops are, innermost first, " + listed(loops)};
    }
    Reason inlined(const std::smatch &m) const {
        const Directive *d = last(m[1],
                                  [](const Directive &at) { return !says(at, "compute_inline"); });
        return {d, m[1].str() + " has no loops of its own: it is computed inline, where it is used",
                "compute_at() or compute_root() gives it some"};
    }
    Reason arguments(const std::smatch &m) const {
        return {nullptr,
                m[1].str() + " has " + m[3].str() + " dimensions, and " + m[2].str() +
                    " arguments here",
                ""};
    }
    Reason undefined(const std::smatch &m) const {
        return {nullptr, m[1].str() + " is read before it is defined",
                m[1].str() + "(...) = ... has to come first"};
    }
    Reason not_associative(const std::smatch &) const {
        return {current(), "the update isn't known to be associative: its parts can't be combined",
                "sums, products, max, min, && and || are"};
    }
    Reason too_large(const std::smatch &m) const {
        return {nullptr,
                "the constant " + m[1].str() + " doesn't fit " + m[2].str() +
                    ", where it would be " + m[3].str(),
                "cast the other operand to a wider type"};
    }
    Reason real_index(const std::smatch &m) const {
        return {nullptr,
                "argument " + m[1].str() + " of " + m[2].str() +
                    "(...) is a real, and an index has to be an integer",
                "cast<int32_t>(...) makes it one"};
    }
    Reason unknown_variable(const std::smatch &m) const {
        return {nullptr,
                m[1].str() + " isn't a variable of this definition of " + m[2].str() + "(...)",
                "an update has the pure variables of the first definition, each in its place"};
    }

    const Op &op_;
    const std::string &text_;
    const std::vector<Directive> &written_;
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
    const Reason why = Explainer(op, text, directives).reason();
    const auto *refused = dynamic_cast<const HalideFailure *>(&error);
    std::string place = refused ? refused->at.location() : "";
    const Directive *d = why.directive;
    if (place.empty()) {
        if (d) place = d->at.location();
    } else {  // the call that was refused is a directive, or part of an expression
        d = !directives.empty() && directives.back().at.location() == place ? &directives.back()
                                                                            : nullptr;
    }
    std::string s = d && !d->definition ? with_author_names(op, d->call) + ": " : "";
    s += with_author_names(op, why.what);
    if (!why.legal.empty()) s += "; " + with_author_names(op, why.legal);
    return Error(op.name, at_location(place, s));
}

DTypeError diagnostic(const Op &op, const DTypeError &error,
                      const std::vector<Directive> &directives) {
    const std::string text = error.what();
    const std::string func = text.substr(1, text.find("] ") - 1);
    const std::string what = text.substr(text.find("] ") + 2);
    std::string place;
    for (auto &d : directives)
        if (d.definition && d.func == func) place = d.at.location();
    return DTypeError(op.name, at_location(place, with_author_names(op, what)));
}

}  // namespace halyard
