// Profile: a chip's capacities, alignments, rates, cycle counts and the types of its instructions,
// read from ascend/profiles. Every constant has a tag for its source. No chip was available: cycles
// are the simulator's.
#pragma once
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "registry/tensor/dtype.h"

namespace halyard::dv {

// The memories. TIK calls them scope_gm, scope_ubuf, scope_cbuf (l1), scope_ca, scope_cb and
// scope_cc.
enum class Scope : uint8_t { gm, ub, l1, l0a, l0b, l0c };
inline constexpr int scope_count = 6;
// The pipes, each of which runs its instructions in order: scalar unit (which issues all), vector
// unit, cube unit, moves from l1 to l0 (mte1), from GM (mte2), from ubuf (mte3), and on split cores
// from l0c (fix). `all` is for barriers.
enum class Pipe : uint8_t { s, v, m, mte1, mte2, mte3, fix, all };
inline constexpr int pipe_count = 7;

const char *name_of(Scope s);  // "gm", "ubuf", "l1", "l0a", "l0b", "l0c"
const char *name_of(Pipe p);   // "S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"
Scope scope_of(const std::string &name);
Pipe pipe_of(const std::string &name);  // both throw AttrError for an unknown name

// The source of a constant. DOC: a public document. FIT: fitted to published measurements. ASSUMED:
// our choice, because neither exists.
enum class Tag : uint8_t { doc, fit, assumed };

class Profile {
public:
    // Returns the profile of ascend910, ascend910b or ascend310. Throws AttrError for other names.
    static const Profile &named(const std::string &name);
    static std::vector<std::string> names();
    // Parses the text of ascend/profiles/*.txt. A line is one of
    //   base NAME               copies another profile
    //   KEY NUMBER TAG [note]   a constant
    //   takes INSTR dtype...    the types of an instruction, instead of those of the base; none if
    //   the
    //                           chip lacks the instruction
    //   path FROM TO INSTR      a route of data
    // Throws AttrError, which names the line that doesn't parse.
    static Profile parse(const std::string &name, const std::string &text);

    std::string name;
    struct Constant {
        double value = 0;
        Tag tag = Tag::assumed;
        std::string note;
    };
    std::map<std::string, Constant> constants;
    // The types of each instruction. Those of "vec_conv.f16" are the targets of conversions from
    // f16.
    std::map<std::string, std::set<DType>> types;
    std::set<std::tuple<std::string, std::string, std::string>> paths;  // from, to, instruction

    // Returns a constant. Throws AttrError if the profile lacks it.
    double at(const std::string &key) const;
    // Returns a constant, or `without` if the profile lacks it.
    double at(const std::string &key, double without) const;
    int64_t bytes(Scope s) const { return int64_t(at(std::string(name_of(s)) + ".bytes")); }
    int64_t align(Scope s) const { return int64_t(at(std::string(name_of(s)) + ".align")); }
    int flags() const { return int(at("flags")); }  // the number of event ids per pair of pipes
    bool takes(const std::string &instr, DType t) const;
    bool moves(Scope from, Scope to, const std::string &instr) const;
};

}  // namespace halyard::dv
