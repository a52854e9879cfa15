// A chip as data: capacities, alignments, rates, cycle counts and the types its instructions take.
// The files are in ascend/profiles; every constant has a tag that says where it comes from. No chip
// was ever at hand: cycles are the simulator's.
#pragma once
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "registry/tensor/dtype.h"

namespace halyard::dv {

// A buffer's place. TIK's names: scope_gm, scope_ubuf, scope_cbuf (L1), scope_ca, scope_cb,
// scope_cc.
enum class Scope : uint8_t { gm, ub, l1, l0a, l0b, l0c };
inline constexpr int scope_count = 6;
// The units that run instructions, each in order: scalar (issues the rest), vector, cube, L1 to L0,
// GM inwards, UB outwards, and on split cores L0C outwards. `all` is only for barriers.
enum class Pipe : uint8_t { s, v, m, mte1, mte2, mte3, fix, all };
inline constexpr int pipe_count = 7;

const char *name_of(Scope s);  // "gm", "ubuf", "l1", "l0a", "l0b", "l0c"
const char *name_of(Pipe p);   // "S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"
Scope scope_of(const std::string &name);
Pipe pipe_of(const std::string &name);  // both throw AttrError

// DOC: read in a public document. FIT: fitted to published measurements. ASSUMED: our choice, for
// want of either.
enum class Tag : uint8_t { doc, fit, assumed };

class Profile {
public:
    // ascend910, ascend910b, ascend310; an AttrError lists them for any other name.
    static const Profile &named(const std::string &name);
    static std::vector<std::string> names();
    // The text form of ascend/profiles/*.txt. A line is one of
    //   base NAME                       takes over all of another profile
    //   KEY NUMBER TAG [note]           a constant
    //   takes INSTR dtype...            the types of an instruction, replacing those of the base;
    //   none of them: not on this chip path FROM TO INSTR              a route data can take
    // AttrError names the line that doesn't parse.
    static Profile parse(const std::string &name, const std::string &text);

    std::string name;
    struct Constant {
        double value = 0;
        Tag tag = Tag::assumed;
        std::string note;
    };
    std::map<std::string, Constant> constants;
    // by instruction; vec_conv has "vec_conv.f16" -> targets
    std::map<std::string, std::set<DType>> types;
    std::set<std::tuple<std::string, std::string, std::string>> paths;  // from, to, instruction

    // AttrError for a constant the profile lacks
    double at(const std::string &key) const;
    double at(const std::string &key, double without) const;  // `without` where it lacks it
    int64_t bytes(Scope s) const { return int64_t(at(std::string(name_of(s)) + ".bytes")); }
    int64_t align(Scope s) const { return int64_t(at(std::string(name_of(s)) + ".align")); }
    int flags() const { return int(at("flags")); }  // event ids per pair of pipes
    bool takes(const std::string &instr, DType t) const;
    bool moves(Scope from, Scope to, const std::string &instr) const;
};

}  // namespace halyard::dv
