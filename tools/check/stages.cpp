#include "tools/check/stages.h"

#include <algorithm>

#include "dsl/name_counters.h"

namespace halyard::check {
namespace {
using namespace Halide::Internal;

// Returns `name` as code generators write it. Each replaces characters that C doesn't allow in its
// own way, so runs of them compare as one underscore.
std::string mangled(const std::string &name) {
    std::string s;
    for (char c : name) {
        if (std::isalnum((unsigned char)c))
            s += c;
        else if (s.empty() || s.back() != '_')
            s += '_';
    }
    return s;
}

std::string directive_of(ForType t) {
    switch (t) {
    case ForType::Parallel: return "parallel";
    case ForType::GPUBlock: return "gpu_blocks";
    case ForType::GPUThread: return "gpu_threads";
    case ForType::GPULane: return "gpu_lanes";
    default: return "";
    }
}

std::string directives_of(const StageSchedule &s) {
    std::string all = s.allow_race_conditions() ? "allow_race_conditions()" : "";
    for (size_t d = s.dims().size(); d-- > 0;) {  // outermost first
        const Halide::Internal::Dim &dim = s.dims()[d];
        const std::string directive = directive_of(dim.for_type);
        if (directive.empty()) continue;
        all += (all.empty() ? "" : ", ") + directive + "(" +
               without_counters(dim.var.substr(dim.var.rfind('.') + 1)) + ")";
        if (dim.is_rvar()) all += " over a reduction";
    }
    return all;
}

}  // namespace

std::vector<Stage> stages_of(const Kernel &k) {
    std::vector<Function> outputs;
    for (const Halide::Func &f : k.pipeline.outputs())
        outputs.push_back(f.function());
    std::vector<Stage> stages;
    for (auto &[name, f] : build_environment(outputs)) {
        if (!f.has_pure_definition()) continue;
        const std::string func = without_counters(name);
        for (size_t s = 0; s <= f.updates().size(); s++) {
            const StageSchedule &schedule = s == 0 ? f.definition().schedule()
                                                   : f.update(int(s) - 1).schedule();
            const std::string where = "`" + func + "`" +
                                      (s == 0 ? "" : " update " + std::to_string(s - 1));
            stages.push_back({func, where, directives_of(schedule),
                              mangled(name + "_s" + std::to_string(s) + "_")});
        }
    }
    return stages;
}

const Stage *stage_named(const std::vector<Stage> &stages, const std::string &name) {
    const std::string text = mangled(name);
    const Stage *longest = nullptr;  // total_intm before total
    for (auto &s : stages) {
        const size_t at = text.find(s.mangled);
        const bool whole = at != std::string::npos && (at == 0 || text[at - 1] == '_');
        if (whole && (!longest || s.mangled.size() > longest->mangled.size())) longest = &s;
    }
    return longest;
}

std::string explained(const std::vector<Stage> &stages, const std::string &name) {
    const Stage *s = stage_named(stages, name);
    return !s ? name : s->where + (s->directives.empty() ? "" : ": " + s->directives);
}

}  // namespace halyard::check
