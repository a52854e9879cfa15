// OpInfo: an op of this build with what its kernels and gradients say of it, in the words that
// `ops` and `docs` share.
#pragma once
#include <list>
#include <map>
#include <string>
#include <vector>

#include "bench/harness/text.h"
#include "registry/dispatch/registry.h"

namespace halyard::command {

struct OpInfo {
    const OpRecord *record;
    const std::list<KernelEntry> *kernels;
    std::vector<std::string> gradients;  // the inputs that have one
    std::string file;                    // "softmax"
};
// internal ones and those of any number of tensors too, by name
std::map<std::string, OpInfo> op_infos();
// by any of its names; throws DispatchError with the nearest ones
OpInfo op_info(const std::string &any_name);

// What is derived from the kernels, each in the order of first appearance.
struct KernelSummary {
    std::vector<std::string> backends, isas, variants, layouts;
};
KernelSummary kernel_summary(const OpInfo &op);

// "Reductions": by the file it is written in; a file that nobody put into a family is one.
std::string family_of(const OpInfo &op);
const std::vector<std::string> &families();  // in the order of the index

const char *name_of_kind(AttrKind k);
std::string default_of(const AttrSpec &a);
std::string form_of(const OpRecord &r);
std::string bound_of(const Contract &c);  // "10 ulps of the largest element"

}  // namespace halyard::command
