#include "dsl/refusal.h"

namespace halyard {
namespace {

class Reporter : public Halide::CompileTimeErrorReporter {
public:
    void warning(const char *) override {}
    void error(const char *what) override { throw Refused(what, Trace::here()); }
};

}  // namespace

void refuse_by_exception() {
    static Reporter reporter;
    Halide::set_custom_compile_time_error_reporter(&reporter);
}

std::string explained(const Halide::Error &what, const std::vector<Directive> &written) {
    const auto *refused = dynamic_cast<const Refused *>(&what);
    std::string s = refused ? refused->at.place() + ": " : "";
    s += what.what();
    for (auto &d : written) s += "\n   " + d.at.place() + "  " + d.call + " -> " + d.makes + " func " + d.func;
    return s;
}

}  // namespace halyard
