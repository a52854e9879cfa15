#include "primitives/composites/random/draw.h"

namespace halyard {

void Drawn::seeded(const char *default_dtype) {
    at_call("seed", AttrKind::integer, "-1");
    at_call("offset", AttrKind::integer, "-1");
    if (default_dtype) at_call("dtype", AttrKind::dtype, default_dtype);
}

Random generator_of(const Call &call) {
    const int64_t seed = call.integer("seed");
    const int64_t offset = call.integer("offset");
    for (const char *name : {"seed", "offset"}) {
        if (call.integer(name) < -1) {
            throw AttrError(call.op(), std::string(name) + " is " +
                                           std::to_string(call.integer(name)) +
                                           ", expected -1 or more");
        }
    }
    if (seed >= 0 && offset >= 0) return {uint64_t(seed), uint64_t(offset)};
    const RngState next = Random::next().state();
    return {seed < 0 ? next.seed : uint64_t(seed), offset < 0 ? next.offset : uint64_t(offset)};
}

int64_t low_word(uint64_t v) {
    return int32_t(uint32_t(v));
}
GeneratorWords words_of(const Random &at) {
    const RngState &s = at.state();
    return {low_word(s.seed), low_word(s.seed >> 32), low_word(s.offset), low_word(s.offset >> 32)};
}

DType dtype_of_call(const Call &call) {
    const auto dtype = (DType)call.integer("dtype");
    std::string all;
    for (const std::string &d : call.attrs.op().dtypes) {
        if (dtype_of(d) == dtype) return dtype;
        all += (all.empty() ? "" : " or ") + d;
    }
    throw DTypeError(call.op(), std::string("dtype is ") + name_of(dtype) + ", expected " + all);
}

}  // namespace halyard
