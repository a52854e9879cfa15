// The texts of planted faults (dsl/mutate.h): "kind: place", or with a prefix what is planted there
// to learn whether the place counts.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// The names of the kinds of faults.
namespace kind {
constexpr const char *dropped_tail = "dropped-tail";
constexpr const char *late_start = "late-start";
constexpr const char *extra_iteration = "extra-iteration";
constexpr const char *reduction_bounds = "reduction-bounds";
constexpr const char *racy_parallel = "racy-parallel";
constexpr const char *lost_guard = "lost-guard";
constexpr const char *lost_mask = "lost-mask";
constexpr const char *wrong_comparison = "wrong-comparison";
constexpr const char *wrong_clamp = "wrong-clamp";
constexpr const char *wrong_pad = "wrong-pad";
constexpr const char *wrong_index = "wrong-index";
constexpr const char *swapped_stride = "swapped-stride";
constexpr const char *missing_init = "missing-init";
constexpr const char *wrong_start = "wrong-start";
constexpr const char *overwrites = "overwrites";
constexpr const char *missing_store = "missing-store";
constexpr const char *wrong_operator = "wrong-operator";
constexpr const char *swapped_operands = "swapped-operands";
constexpr const char *wrong_constant = "wrong-constant";
constexpr const char *wrong_input = "wrong-input";
constexpr const char *lost_precision = "lost-precision";
}  // namespace kind

struct FaultKind {
    std::string name, doc;  // "dropped-tail", "a loop stops one iteration early"
};
const std::vector<FaultKind> &fault_kinds();

// Returns the kind of a fault "kind: location".
std::string kind_of(const std::string &fault);

// Returns a fault that is planted at the location of `fault` and aborts the process when execution
// reaches a state in which `fault` would have an effect. For a wrong comparison, that is a
// comparison of equal numbers. A fault whose probe never aborts is not reached by the checks. The
// reverse doesn't hold: a probe also aborts for an effect in lanes that a mask excludes.
std::string probe_of(const std::string &fault);

// Returns faults that are planted at the location of `fault`, and put a large positive or negative
// number in the place of each that `fault` changes. If no check finds either, no call of theirs
// uses that number. A compilation throws Halide::CompileError if `fault` changes no float of 32
// bits or more.
std::vector<std::string> spoilers_of(const std::string &fault);

// Prefixes of probe_of() and spoilers_of().
namespace fault_name {
constexpr const char *probe = "reach ";
constexpr const char *upper = "raise ";
constexpr const char *lower = "lower ";
}  // namespace fault_name

// Returns the fault of a text that may begin with one of the prefixes.
std::string without_prefix(const std::string &text);

// Returns a name without its counters, which depend on what else the process has built and on the
// kernel's dtypes: "peak_intm.s1.r$x" for peak_9_intm$3.s1.r236$x. A part of a name is what dots
// separate. These are dropped:
//   $3      anywhere
//   _9      at the end of a part, and before '$' or "_intm"
//   236     of r236, t236 and v236, Halide's names of variables, if they are a whole part or are
//           followed by '$'
std::string stem(const std::string &name);

}  // namespace halyard
