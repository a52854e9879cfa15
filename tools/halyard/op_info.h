// OpInfo: an op of this build, as `ops` and `docs` list it.
#pragma once
#include <list>
#include <map>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"

namespace halyard::command {

struct OpInfo {
    const OpRecord *record;
    const std::list<KernelEntry> *kernels;
    std::vector<std::string> gradients;  // the inputs that have a gradient
    std::string family;                  // "rowwise"; without a folder the op file's name
};

// Returns all ops by name: internal and variadic ones too.
std::map<std::string, OpInfo> op_infos();
// Returns the op that has `any_name` as one of its names. Throws DispatchError that suggests the
// nearest names.
OpInfo op_info(const std::string &any_name);

// The kinds of kernels that an op has, each list in the order of first appearance.
struct KernelSummary {
    std::vector<std::string> backends, isas, variants, layouts;
};
KernelSummary kernel_summary(const OpInfo &op);

// Returns the title of the op's family: "Reductions". A folder without a title is its own.
std::string family_of(const OpInfo &op);
// Returns the titles in the order of the index.
const std::vector<std::string> &families();

// Return the parts of a record as text: an attribute's kind and default, the op's form.
const char *name_of_kind(AttrKind k);
std::string default_of(const AttrSpec &a);
std::string form_of(const OpRecord &r);
std::string bound_of(const Contract &c);  // "10 ulps of the largest element"

}  // namespace halyard::command
