// Elements become unsigned integers in the same order, packed with their places: a packed number is
// unlike every other, so sorting packed numbers by any algorithm is a stable sort. They are sorted
// by Highway's vqsort (Wassenberg, Blacher, Giesen, Sanders: "Vectorized and performance-portable
// quicksort", 2022). The loops here are plain, and compiled once for each instruction set.
#include "primitives/composites/order.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

#include "primitives/composites/host_steps.h"
#include "registry/base/parallel.h"
#include "registry/tensor/host_step.h"

#ifndef HALYARD_PRIMITIVES_ORDER_ONCE
#define HALYARD_PRIMITIVES_ORDER_ONCE
namespace halyard {
namespace {

enum class Want { first, nth };

struct Job {
    Want want;
    DType dtype;
    const void *x;
    void *values;
    int32_t *places;
    int64_t c, k;
    bool descending;
};

}  // namespace
}  // namespace halyard
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/composites/order.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard {
namespace {
namespace HWY_NAMESPACE {

// Converts an element's bits to an unsigned integer in the order of elements. `flip`, 0 or all
// ones, reverses the order. `infinity` has the bits of infinity for floats, 0 for integers.
template<class B, uint64_t infinity, bool is_signed> struct Code {
    using Bits = B;
    using Key = std::conditional_t<sizeof(B) <= 4, uint32_t, uint64_t>;
    static constexpr int bits = 8 * sizeof(B);
    static constexpr Key all = (Key)(B) ~(B)0;
    static constexpr Key sign = is_signed ? (Key)1 << (bits - 1) : 0;

    static Key of(B element, Key flip) {
        const Key e = element;
        if (infinity == 0) return e ^ sign ^ flip;
        const Key size = e & ~sign;
        const Key ordered = e & sign ? e ^ all : e ^ sign;
        return (size > infinity ? all : size == 0 ? sign : ordered) ^ flip;
    }
    static bool is_nan(B element) { return infinity != 0 && ((Key)element & ~sign) > infinity; }
    // The inverse. The bits of zeros and NaNs are lost, so these are read at their index.
    static B element(Key key, Key flip, const B *x, int64_t place) {
        const Key k = key ^ flip;
        if (infinity == 0) return (B)(k ^ sign);
        return k == sign || k == all ? x[place] : (B)(k & sign ? k ^ sign : k ^ all);
    }
};

// A key with an index in the lower bits.
template<class P> struct Pack {
    static constexpr int half = 4 * sizeof(P);
    static P of(uint64_t key, int64_t place) { return (P)((P)key << half | (P)place); }
    static uint64_t key(P p) { return p >> half; }
    static int64_t place(P p) { return int64_t(p & (((P)1 << half) - 1)); }
};
template<> struct Pack<hwy::uint128_t> {
    static hwy::uint128_t of(uint64_t key, int64_t place) { return {uint64_t(place), key}; }
    static uint64_t key(const hwy::uint128_t &p) { return p.hi; }
    static int64_t place(const hwy::uint128_t &p) { return int64_t(p.lo); }
};

template<class P> void sort(const hwy::Sorter &sorter, P *p, int64_t n) {
    // For fewer elements, the start of vqsort takes longer than sorting.
    constexpr int64_t short_run = 24;
    if (n < short_run)
        std::sort(p, p + n);
    else
        sorter(p, size_t(n), hwy::SortAscending());
}

constexpr int64_t block = 64, few = 24, spare = 256;

// Writes the first k of n keys, packed and in order, to p, which has room for 2 k + spare. Keys are
// compared in blocks: a block without a key before the k-th so far costs a few vector instructions,
// and for k much smaller than n most blocks are such. A small k is kept in order by insertion; for
// a large k, batches are sorted.
template<class P, class K>
void first_of(const hwy::Sorter &sorter, const K *keys, int64_t n, int64_t k, P *p) {
    const bool one_by_one = k <= few;
    const int64_t room = 2 * k + spare;
    const int64_t begin = std::min(n, one_by_one ? k : room);
    int64_t found = begin;
    for (int64_t i = 0; i < begin; i++)
        p[i] = Pack<P>::of(keys[i], i);
    sort(sorter, p, found);
    found = std::min(found, k);
    for (int64_t i = begin; i < n; i += block) {
        const int64_t end = std::min(n, i + block);
        K limit = (K)Pack<P>::key(p[k - 1]);
        K any = 0;  // An equal key comes after it.
        for (int64_t j = i; j < end; j++)
            any |= keys[j] < limit;
        if (!any) continue;
        if (one_by_one) {
            for (int64_t j = i; j < end; j++) {
                if (keys[j] >= limit) continue;
                const P next = Pack<P>::of(keys[j], j);
                int64_t at = k - 1;
                for (; at > 0 && next < p[at - 1]; at--)
                    p[at] = p[at - 1];
                p[at] = next;
                limit = (K)Pack<P>::key(p[k - 1]);
            }
            continue;
        }
        for (int64_t j = i; j < end; j++) {
            p[found] = Pack<P>::of(keys[j], j);
            found += keys[j] < limit;
        }
        if (found + block > room) {
            sort(sorter, p, found);
            found = k;
        }
    }
    sort(sorter, p, found);
}

// Returns the index of the k-th key in order. Equal keys are ordered by their indices. `sorted` has
// room for n.
template<class K>
int64_t nth_of(const hwy::Sorter &sorter, const K *keys, int64_t n, int64_t k, K *sorted) {
    std::copy(keys, keys + n, sorted);
    sort(sorter, sorted, n);
    int64_t equal_before = sorted + k - std::lower_bound(sorted, sorted + k, sorted[k]);
    int64_t at = 0;
    while (keys[at] != sorted[k] || equal_before-- > 0)
        at++;
    return at;
}

// Memory for the rows of a job: packed numbers, then keys.
template<class P, class K> class Scratch {
public:
    Scratch(int64_t packed, int64_t keys)
        : memory_(Tensor::empty({bytes(packed, keys) / 8 + 1}, DType::i64)), packed_(packed) {}
    P *packed() const { return static_cast<P *>(memory_.raw()); }
    K *keys() const { return reinterpret_cast<K *>(packed() + packed_); }

private:
    static int64_t bytes(int64_t packed, int64_t keys) {
        return int64_t(sizeof(P)) * packed + int64_t(sizeof(K)) * keys;
    }
    const Tensor memory_;
    const int64_t packed_;
};

template<class C>
void keys_of(const typename C::Bits *x, int64_t c, bool descending, typename C::Key *keys) {
    for (int64_t i = 0; i < c; i++)
        keys[i] = C::of(x[i], descending ? C::all : 0);
}

// The k-th element of each row.
template<class C, class P> void nth(const Job &job, int64_t first, int64_t last) {
    using B = typename C::Bits;
    const int64_t c = job.c;
    const Scratch<P, typename C::Key> scratch(0, 2 * c);
    const hwy::Sorter sorter;
    for (int64_t row = first; row < last; row++) {
        const B *x = static_cast<const B *>(job.x) + row * c;
        keys_of<C>(x, c, job.descending, scratch.keys());
        int64_t at = std::find_if(x, x + c, C::is_nan) - x;
        if (at == c) at = nth_of(sorter, scratch.keys(), c, job.k, scratch.keys() + c);
        static_cast<B *>(job.values)[row] = x[at];
        job.places[row] = int32_t(at);
    }
}

// The first k elements of each row: by selection if k is small, else by sorting the row.
template<class C, class P> void first_k(const Job &job, int64_t first, int64_t last) {
    using B = typename C::Bits;
    using K = typename C::Key;
    const K flip = job.descending ? C::all : 0;
    const int64_t c = job.c;
    const int64_t k = job.k;
    const bool selects = 2 * k + spare < c / 2;
    const Scratch<P, K> scratch(selects ? 2 * k + spare : c, selects ? c : 0);
    P *const p = scratch.packed();
    const hwy::Sorter sorter;
    for (int64_t row = first; row < last; row++) {
        const B *x = static_cast<const B *>(job.x) + row * c;
        B *values = static_cast<B *>(job.values) + row * k;
        int32_t *places = job.places + row * k;
        if (selects) {
            keys_of<C>(x, c, job.descending, scratch.keys());
            first_of(sorter, scratch.keys(), c, k, p);
        } else {
            for (int64_t i = 0; i < c; i++)
                p[i] = Pack<P>::of(C::of(x[i], flip), i);
            sort(sorter, p, c);
        }
        for (int64_t i = 0; i < k; i++) {
            places[i] = int32_t(Pack<P>::place(p[i]));
            values[i] = C::element((K)Pack<P>::key(p[i]), flip, x, places[i]);
        }
    }
}

template<class C, class P> void order(const Job &job, int64_t first, int64_t last) {
    if (job.want == Want::nth)
        nth<C, P>(job, first, last);
    else
        first_k<C, P>(job, first, last);
}

template<class C> void packed(const Job &job, int64_t first, int64_t last) {
    if constexpr (C::bits == 64)
        return order<C, hwy::uint128_t>(job, first, last);
    else if (C::bits <= 16 && job.c <= 1 << 16)
        return order<C, uint32_t>(job, first, last);
    else
        return order<C, uint64_t>(job, first, last);
}

void rows(const Job &job, int64_t first, int64_t last) {
    switch (job.dtype) {
    case DType::f64: return packed<Code<uint64_t, 0x7ff0000000000000, true>>(job, first, last);
    case DType::f32: return packed<Code<uint32_t, 0x7f800000, true>>(job, first, last);
    case DType::f16: return packed<Code<uint16_t, 0x7c00, true>>(job, first, last);
    case DType::bf16: return packed<Code<uint16_t, 0x7f80, true>>(job, first, last);
    case DType::i64: return packed<Code<uint64_t, 0, true>>(job, first, last);
    case DType::i32: return packed<Code<uint32_t, 0, true>>(job, first, last);
    case DType::i8: return packed<Code<uint8_t, 0, true>>(job, first, last);
    case DType::u8:
    case DType::boolean: break;
    }
    packed<Code<uint8_t, 0, false>>(job, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace halyard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard {
namespace {

HWY_EXPORT(rows);

constexpr int64_t task_elements = 8192;

Ordered run(Want want, const Tensor &x, int64_t k, bool descending, const Shape &shape) {
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1];
    const Ordered y{Tensor::empty(shape, x.dtype()), Tensor::empty(shape, DType::i32)};
    if (shape.elements() == 0) return y;
    const Job job{want, x.dtype(), x.raw(),   y.values.raw(), y.places.data<int32_t>(),
                  c,    k,         descending};
    const int64_t step = std::max<int64_t>(1, task_elements / c);
    parallel_for(0, (n + step - 1) / step, [&](int64_t task) {
        HWY_DYNAMIC_DISPATCH(rows)(job, task * step, std::min(n, (task + 1) * step));
    });
    return y;
}

// A listener hears of one step on the host.
template<class Step> Ordered run_as_step(const Step &step, const Tensor &x) {
    const std::vector<Tensor> y = run_on_host(step.name, std::span(&x, 1), step);
    return {y[0], y[1]};
}

// Throws ShapeError unless x has rows and k is at least 0 and less than a row's length plus
// `beyond`.
void check_rows(const char *step, const Tensor &x, int64_t k, int64_t beyond) {
    if (x.rank() != 2)
        throw ShapeError(step, "x has rank " + std::to_string(x.rank()) + ", expected 2");
    const int64_t most = x.shape()[1] + beyond - 1;
    if (k >= 0 && k <= most) return;
    throw ShapeError(step, "k is " + std::to_string(k) + ", expected 0 to " + std::to_string(most));
}

}  // namespace

Ordered first_in_order(const Tensor &x, int64_t k, bool descending) {
    return run_as_step(host_steps::FirstInOrder{k, descending}, x);
}
Ordered nth_in_order(const Tensor &x, int64_t k) {
    return run_as_step(host_steps::NthInOrder{k}, x);
}

namespace host_steps {

std::vector<Tensor> FirstInOrder::operator()(std::span<const Tensor> in) const {
    const Tensor &x = in[0];
    check_rows(name, x, k, 1);
    const Ordered y = run(Want::first, x.contiguous(), k, descending, {x.shape()[0], k});
    return {y.values, y.places};
}
std::vector<Tensor> NthInOrder::operator()(std::span<const Tensor> in) const {
    const Tensor &x = in[0];
    check_rows(name, x, k, 0);
    const Ordered y = run(Want::nth, x.contiguous(), k, false, {x.shape()[0]});
    return {y.values, y.places};
}

}  // namespace host_steps

}  // namespace halyard
#endif
