#include "dsl/directives.h"

#include <dlfcn.h>

#include <cstring>
#include <sstream>

#include "dsl/name_counters.h"
#include "registry/base/error.h"

namespace halyard {
namespace {
using namespace Halide;

struct State {
    std::vector<Directive> *to = nullptr;  // null: nothing is recorded
    int skip = no_directive;
    int scheduling_calls = 0;
    int depth = 0;  // of calls of Halide's functions that are being recorded
};
thread_local State state;

// Collects the arguments of a call as text, and the names of loops and Funcs among them.
struct ArgumentText {
    std::ostringstream s;
    std::vector<std::string> names;

    void name(const std::string &n) {
        s << n;
        names.push_back(n);
    }
    void add(const VarOrRVar &v) { name(v.name()); }
    void add(const Var &v) { name(v.name()); }
    void add(const RVar &v) { name(v.name()); }
    void add(const Func &f) { name(f.name()); }
    void add(const Stage &t) { name(t.name()); }
    void add(const Parameter &p) { s << p.name(); }
    void add(const Expr &e) {
        constexpr size_t max_size = 60;
        std::ostringstream all;
        all << e;
        s << (all.str().size() > max_size ? all.str().substr(0, max_size) + "..." : all.str());
    }
    void add(const Tuple &) { s << "..."; }
    void add(const FuncRef &) { s << "..."; }
    void add(const std::string &t) { s << '"' << t << '"'; }
    void add(const LoopLevel &l) {
        s << (l.is_root() ? "root" : l.is_inlined() ? "inlined" : l.func() + ", " + l.var().name());
    }
    void add(bool b) { s << (b ? "true" : "false"); }
    void add(TailStrategy t) { s << t; }
    void add(MemoryType t) { s << t; }
    void add(Partition p) { s << p; }
    void add(DeviceAPI d) { s << d; }
    void add(PrefetchBoundStrategy) { s << "..."; }
    void add(LoopAlignStrategy) { s << "..."; }
    void add(const Range &r) {
        add(r.min);
        s << ", ";
        add(r.extent);
    }
    template<class A, class B> void add(const std::pair<A, B> &p) {
        add(p.first);
        s << ": ";
        add(p.second);
    }
    template<class T> void add(const std::vector<T> &list) {
        for (const T &e : list) {
            s << (&e == list.data() ? "" : ", ");
            add(e);
        }
    }
    // Arguments with their default value are left out, because the author did not write them.
    static bool is_default(TailStrategy t) { return t == TailStrategy::Auto; }
    static bool is_default(DeviceAPI d) { return d == DeviceAPI::Default_GPU; }
    static bool is_default(PrefetchBoundStrategy p) {
        return p == PrefetchBoundStrategy::GuardWithIf;
    }
    static bool is_default(LoopAlignStrategy a) { return a == LoopAlignStrategy::Auto; }
    template<class T> static bool is_default(const T &) { return false; }
    template<class T> void argument(const T &a) {
        if (is_default(a)) return;
        s << (s.tellp() > 0 ? ", " : "");
        add(a);
    }
};

std::string name_of(const Func &f) {
    return f.name();
}
std::string name_of(const Stage &s) {
    return s.name();
}
std::string name_of(const FuncRef &f) {
    return f.function().name();
}

std::vector<Loop> loops_of(const Internal::StageSchedule &s) {
    std::vector<Loop> all;
    for (const Internal::Dim &d : s.dims())
        if (d.var != Var::outermost().name()) all.push_back({d.var, d.is_pure()});
    return all;
}
std::vector<Loop> loops_of(const Stage &s) {
    return loops_of(s.get_schedule());
}
std::vector<Loop> loops_of(const Func &f) {
    return f.defined() ? loops_of(f.function().definition().schedule()) : std::vector<Loop>();
}
std::vector<Loop> loops_of(const FuncRef &) {
    return {};
}

template<class Self, class... A>
Directive directive(const Self &self, const std::string &method, const A &...args) {
    Directive d;
    d.definition = std::is_same_v<Self, FuncRef>;
    d.stage = name_of(self);
    d.func = d.stage.substr(0, d.stage.find('.'));
    ArgumentText text;
    (text.argument(args), ...);
    d.names = text.names;
    d.loops = loops_of(self);
    d.call = without_counters(d.definition ? d.stage + " " + method + " ..."
                                           : d.stage + "." + method + "(" + text.s.str() + ")");
    d.site = CallSite::here();
    return d;
}

// While it exists, calls are not recorded: Halide's functions call each other.
struct NotRecorded {
    NotRecorded() { state.depth++; }
    ~NotRecorded() { state.depth--; }
};

// Records a call and calls Halide's function `real`, unless the call is the one to skip.
template<class Self, class R, class... P>
R forward(Self &self, const char *method, R (Self::*real)(P...), std::type_identity_t<P>... args) {
    if (!state.to || state.depth > 0) return (self.*real)(std::forward<P>(args)...);
    state.to->push_back(directive(self, method, args...));
    const size_t index = state.to->size() - 1;
    const NotRecorded within_halide;
    if constexpr (!std::is_same_v<Self, FuncRef>) {
        if (state.scheduling_calls++ == state.skip) {
            if constexpr (std::is_void_v<R>)
                return;
            else if constexpr (std::is_same_v<R, Self &>)
                return self;
            else if constexpr (std::is_same_v<R, Stage>)
                return (self.*real)(Internal::const_false());  // specialize(): never taken
            else
                throw Error(method, "makes a Func that others schedule: it can't be left out");
        }
    }
    if constexpr (std::is_same_v<R, Func>) {
        R new_func = (self.*real)(std::forward<P>(args)...);
        (*state.to)[index].new_func = new_func.name();
        return new_func;
    } else
        return (self.*real)(std::forward<P>(args)...);
}

// Returns Halide's definition of a member function that this file defines as well.
template<class Member> Member halides(Member mine) {
    void *address;
    static_assert(sizeof mine >= sizeof address,
                  "Itanium C++ ABI: a member pointer is the function's address and an adjustment");
    std::memcpy(&address, &mine, sizeof address);
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_sname)
        throw Error("directives", "a directive of libhalyard_dsl has no name");
    void *const theirs = dlsym(RTLD_NEXT, info.dli_sname);
    if (!theirs) throw Error("directives", std::string("libHalide has no ") + info.dli_sname);
    std::memcpy(&mine, &theirs, sizeof theirs);
    return mine;
}

}  // namespace

DirectiveRecorder::DirectiveRecorder(std::vector<Directive> &to, int skip) {
    state = {&to, skip, 0, 0};
}
DirectiveRecorder::~DirectiveRecorder() {
    state = {};
}

}  // namespace halyard

// The interposed members, declared as in Halide.h, which documents them. A declaration that differs
// from Halide's does not compile.
// FORWARD(class, result, name, (parameters), arguments)
#define FORWARD(Class, Result, name, parameters, ...)                                              \
    Result Class::name parameters {                                                                \
        static const auto real = halyard::halides(                                                 \
            static_cast<Result(Class::*) parameters>(&Class::name));                               \
        return halyard::forward<Class>(*this, #name, real __VA_OPT__(, ) __VA_ARGS__);             \
    }
#define FUNC(name, parameters, ...) FORWARD(Func, Func &, name, parameters, __VA_ARGS__)
#define STAGE(name, parameters, ...) FORWARD(Stage, Stage &, name, parameters, __VA_ARGS__)
#define BOTH(name, parameters, ...)                                                                \
    FUNC(name, parameters, __VA_ARGS__) STAGE(name, parameters, __VA_ARGS__)

namespace Halide {
using V = const VarOrRVar &;
using Vs = const std::vector<VarOrRVar> &;
using E = const Expr &;
using Preserved = std::vector<std::pair<RVar, Var>>;
using Align = LoopAlignStrategy;
using Aligns = const std::vector<std::pair<VarOrRVar, LoopAlignStrategy>> &;

BOTH(split, (V old, V outer, V inner, E factor, TailStrategy tail), old, outer, inner, factor, tail)
BOTH(fuse, (V inner, V outer, V fused), inner, outer, fused)
BOTH(serial, (V v), v)
BOTH(parallel, (V v), v)
BOTH(parallel, (V v, E size, TailStrategy tail), v, size, tail)
BOTH(vectorize, (V v), v)
BOTH(vectorize, (V v, E factor, TailStrategy tail), v, factor, tail)
BOTH(unroll, (V v), v)
BOTH(unroll, (V v, E factor, TailStrategy tail), v, factor, tail)
BOTH(partition, (V v, Partition policy), v, policy)
BOTH(never_partition, (Vs vars), vars)
BOTH(never_partition_all, ())
BOTH(always_partition, (Vs vars), vars)
BOTH(always_partition_all, ())
BOTH(tile, (V x, V y, V xo, V yo, V xi, V yi, E xf, E yf, TailStrategy tail), x, y, xo, yo, xi, yi,
     xf, yf, tail)
BOTH(tile, (V x, V y, V xi, V yi, E xf, E yf, TailStrategy tail), x, y, xi, yi, xf, yf, tail)
BOTH(tile,
     (Vs old, Vs outer, Vs inner, const std::vector<Expr> &factors,
      const std::vector<TailStrategy> &tails),
     old, outer, inner, factors, tails)
BOTH(tile, (Vs old, Vs outer, Vs inner, const std::vector<Expr> &factors, TailStrategy tail), old,
     outer, inner, factors, tail)
BOTH(tile, (Vs old, Vs inner, const std::vector<Expr> &factors, TailStrategy tail), old, inner,
     factors, tail)
BOTH(reorder, (Vs vars), vars)
BOTH(rename, (V old, V fresh), old, fresh)
BOTH(allow_race_conditions, ())
BOTH(atomic, (bool anyway), anyway)
BOTH(gpu_threads, (V x, DeviceAPI d), x, d)
BOTH(gpu_threads, (V x, V y, DeviceAPI d), x, y, d)
BOTH(gpu_threads, (V x, V y, V z, DeviceAPI d), x, y, z, d)
BOTH(gpu_lanes, (V x, DeviceAPI d), x, d)
BOTH(gpu_single_thread, (DeviceAPI d), d)
BOTH(gpu_blocks, (V x, DeviceAPI d), x, d)
BOTH(gpu_blocks, (V x, V y, DeviceAPI d), x, y, d)
BOTH(gpu_blocks, (V x, V y, V z, DeviceAPI d), x, y, z, d)
BOTH(gpu, (V bx, V tx, DeviceAPI d), bx, tx, d)
BOTH(gpu, (V bx, V by, V tx, V ty, DeviceAPI d), bx, by, tx, ty, d)
BOTH(gpu, (V bx, V by, V bz, V tx, V ty, V tz, DeviceAPI d), bx, by, bz, tx, ty, tz, d)
BOTH(gpu_tile, (V x, V bx, V tx, E size, TailStrategy tail, DeviceAPI d), x, bx, tx, size, tail, d)
BOTH(gpu_tile, (V x, V tx, E size, TailStrategy tail, DeviceAPI d), x, tx, size, tail, d)
BOTH(gpu_tile, (V x, V y, V bx, V by, V tx, V ty, E xs, E ys, TailStrategy tail, DeviceAPI d), x, y,
     bx, by, tx, ty, xs, ys, tail, d)
BOTH(gpu_tile, (V x, V y, V tx, V ty, E xs, E ys, TailStrategy tail, DeviceAPI d), x, y, tx, ty, xs,
     ys, tail, d)
BOTH(gpu_tile,
     (V x, V y, V z, V bx, V by, V bz, V tx, V ty, V tz, E xs, E ys, E zs, TailStrategy tail,
      DeviceAPI d),
     x, y, z, bx, by, bz, tx, ty, tz, xs, ys, zs, tail, d)
BOTH(gpu_tile, (V x, V y, V z, V tx, V ty, V tz, E xs, E ys, E zs, TailStrategy tail, DeviceAPI d),
     x, y, z, tx, ty, tz, xs, ys, zs, tail, d)
BOTH(prefetch, (const Func &f, V at, V from, Expr offset, PrefetchBoundStrategy s), f, at, from,
     offset, s)
BOTH(prefetch, (const Parameter &p, V at, V from, Expr offset, PrefetchBoundStrategy s), p, at,
     from, offset, s)
BOTH(compute_with, (LoopLevel level, Aligns align), level, align)
BOTH(compute_with, (LoopLevel level, Align align), level, align)
BOTH(compute_with, (const Stage &s, V v, Aligns align), s, v, align)
BOTH(compute_with, (const Stage &s, V v, Align align), s, v, align)

FORWARD(Func, Stage, specialize, (E condition), condition)
FORWARD(Stage, Stage, specialize, (E condition), condition)
FORWARD(Func, void, specialize_fail, (const std::string &message), message)
FORWARD(Stage, void, specialize_fail, (const std::string &message), message)
FORWARD(Stage, Func, rfactor, (const RVar &r, const Var &v), r, v)
FORWARD(Stage, Func, rfactor, (const Preserved &preserved), preserved)
FORWARD(Stage, void, unscheduled, ())
FORWARD(Func, Func, in, ())
FORWARD(Func, Func, in, (const Func &f), f)
FORWARD(Func, Func, in, (const std::vector<Func> &fs), fs)
FORWARD(Func, Func, clone_in, (const Func &f), f)
FORWARD(Func, Func, clone_in, (const std::vector<Func> &fs), fs)

FUNC(compute_root, ())
FUNC(compute_inline, ())
FUNC(compute_at, (const Func &f, const Var &v), f, v)
FUNC(compute_at, (const Func &f, const RVar &v), f, v)
FUNC(compute_at, (LoopLevel level), level)
FUNC(store_root, ())
FUNC(store_at, (const Func &f, const Var &v), f, v)
FUNC(store_at, (const Func &f, const RVar &v), f, v)
FUNC(store_at, (LoopLevel level), level)
FUNC(store_in, (MemoryType memory), memory)
FUNC(hoist_storage_root, ())
FUNC(hoist_storage, (const Func &f, const Var &v), f, v)
FUNC(hoist_storage, (const Func &f, const RVar &v), f, v)
FUNC(hoist_storage, (LoopLevel level), level)
FUNC(bound, (const Var &v, Expr min, Expr extent), v, min, extent)
FUNC(bound_extent, (const Var &v, Expr extent), v, extent)
FUNC(bound_storage, (const Var &v, E bound), v, bound)
FUNC(align_bounds, (const Var &v, Expr modulus, Expr remainder), v, modulus, remainder)
FUNC(align_extent, (const Var &v, Expr modulus), v, modulus)
FUNC(align_storage, (const Var &v, E alignment), v, alignment)
FUNC(fold_storage, (const Var &v, E extent, bool forward), v, extent, forward)
FUNC(ring_buffer, (Expr extent), extent)
FUNC(reorder_storage, (const Var &x, const Var &y), x, y)
FUNC(reorder_storage, (const std::vector<Var> &vars), vars)
FUNC(set_estimate, (const Var &v, E min, E extent), v, min, extent)
FUNC(set_estimates, (const Region &estimates), estimates)
FUNC(async, ())

#define DEFINITION(op)                                                                             \
    FORWARD(FuncRef, Stage, operator op, (E value), value)                                         \
    FORWARD(FuncRef, Stage, operator op, (const Tuple &value), value)                              \
    FORWARD(FuncRef, Stage, operator op, (const FuncRef &value), value)
DEFINITION(=)
DEFINITION(+=)
DEFINITION(-=)
DEFINITION(*=)
DEFINITION(/=)
}  // namespace Halide
