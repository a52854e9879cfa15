#include "tools/check/ulps.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/base/parallel.h"

namespace halyard::check {
namespace {

constexpr size_t half = 1 << 15;  // positive inputs of a call, which has their negatives too

// A float dtype: its numbers as bits and as doubles.
struct Format {
    DType dtype;
    int bits, digits, least;  // digits after the point; the exponent of the smallest normal number
    explicit Format(DType t)
        : dtype(t), bits(t == DType::f32 ? 32 : 16), digits(t == DType::f32   ? 23
                                                            : t == DType::f16 ? 10
                                                                              : 7),
          least(t == DType::f16 ? -14 : -126) {}
    // The number of bit patterns of positive values.
    uint64_t positive() const { return uint64_t(1) << (bits - 1); }
    // The exponent of the largest number.
    int largest() const { return -least + 1; }
    double value(uint32_t b) const {
        if (dtype == DType::f32) return std::bit_cast<float>(b);
        if (dtype == DType::bf16) return std::bit_cast<float>(b << 16);
        float16 h;
        h.bits = uint16_t(b);
        return float(h);
    }
    void store(void *to, size_t i, uint32_t b) const {
        if (bits == 32)
            static_cast<uint32_t *>(to)[i] = b;
        else
            static_cast<uint16_t *>(to)[i] = uint16_t(b);
    }
    uint32_t load(const void *from, size_t i) const {
        return bits == 32 ? static_cast<const uint32_t *>(from)[i]
                          : static_cast<const uint16_t *>(from)[i];
    }
    // Returns 2^(23 - e) for an f32 of exponent e: one over its unit in the last place.
    double units(double want) const {
        const int e = int(std::bit_cast<uint64_t>(want) >> 52 & 0x7ff) - 1023;
        return std::bit_cast<double>(uint64_t(1023 + digits - std::clamp(e, least, largest()))
                                     << 52);
    }
};

uint32_t mixed(uint32_t v) {
    v = (v ^ (v >> 16)) * 0x7feb352du;
    v = (v ^ (v >> 15)) * 0x846ca68bu;
    return v ^ (v >> 16);
}

// Returns bit patterns at breakpoints of functions and at the ends of formats.
std::vector<uint32_t> special_bits(const Format &f) {
    const uint32_t one = uint32_t(f.largest()) << f.digits;
    const uint32_t inf = uint32_t(2 * f.largest() + 1) << f.digits;
    const uint32_t step = 1u << f.digits;
    std::vector<uint32_t> all = {0, 1, step - 1, step, inf - 1, inf, inf + 1, inf | step >> 1};
    for (int e = -3; e <= 8; e++) {
        for (int d = -2; d <= 2; d++) {
            all.push_back(one + uint32_t(e) * step + uint32_t(d));
            all.push_back(one + uint32_t(e) * step + step / 2 + uint32_t(d));
        }
    }
    return all;
}

std::string at(double x, double got, double want) {
    char s[120];
    std::snprintf(s, sizeof s, "f(%.9g) = %.9g, exactly %.17g", x, got, want);
    return s;
}

class Sweep {
public:
    Sweep(const Op &op, const UlpJob &job, const std::vector<Isa> &isas)
        : op_(op), job_(job), f_(dtype_of(job.dtype)),
          c_(op, "d0=1 d1=1 d2=" + std::to_string(2 * half), job.dtype, 1), bits_(half),
          swept_(op.sig.inputs[0].name == "dy" && op.sig.inputs.size() > 1 ? 1 : 0) {
        for (size_t k = 0; k < c_.in.size(); k++) {
            if (k != swept_) {
                Array &ones = c_.problem.tensors[op.sig.inputs[k].name];
                std::fill(ones.v.begin(), ones.v.end(), 1.0);
                c_.in[k] = tensor_of(ones, f_.dtype);
            }
        }
        const double rounding = f_.bits == 32 ? 0 : 0.5;  // of the f32 that was computed
        for (Isa isa : isas) {
            Ulps u;
            u.isa = isa;
            u.dtype = job.dtype;
            u.bound = rounding + op.contract.ulps * std::ldexp(1.0, f_.digits - 23);
            all_.push_back(u);
        }
    }

    std::vector<Ulps> run() {
        const uint64_t count = std::min(job_.count / 2, f_.positive());
        const uint64_t calls = std::max<uint64_t>(1, count / half);
        const uint64_t width = f_.positive() / (calls * half);
        const uint64_t from = calls * uint64_t(job_.part) / uint64_t(job_.parts);
        const uint64_t to = calls * uint64_t(job_.part + 1) / uint64_t(job_.parts);
        if (job_.part == 0) {
            const std::vector<uint32_t> special = special_bits(f_);
            for (size_t i = 0; i < half; i++)
                bits_[i] = special[i % special.size()];
            call(false);
        }
        for (uint64_t k = from; k < to; k++) {
            for (size_t i = 0; i < half; i++) {
                const uint64_t place = k * half + i;
                bits_[i] = uint32_t(place * width +
                                    (width > 1 ? mixed(uint32_t(place)) % width : 0));
            }
            call(true);
        }
        return all_;
    }

private:
    const Op &op_;
    const UlpJob &job_;
    const Format f_;
    Case c_;
    std::vector<uint32_t> bits_;  // of the positive inputs of a call
    const size_t swept_;
    std::vector<Ulps> all_;

    void call(bool ascending) {
        Array &x = c_.problem.tensors[op_.sig.inputs[swept_].name];
        void *raw = c_.in[swept_].raw();
        for (size_t i = 0; i < half; i++) {
            const auto sign = uint32_t(f_.positive());
            f_.store(raw, i, bits_[i]);
            f_.store(raw, i + half, bits_[i] | sign);
            x.v[i] = f_.value(bits_[i]);
            x.v[i + half] = -x.v[i];
        }
        c_.solve(op_);
        const std::string &y = op_.sig.outputs[0].name;
        const double *want = c_.problem.tensors[y].v.data();
        const auto found = c_.problem.abs_sum.find(y);
        const double *size = op_.contract.measure != Contract::products ||
                                     found == c_.problem.abs_sum.end()
                                 ? nullptr
                                 : found->second.v.data();
        bool odd = true, even = true;
        bool rises = ascending;
        for (size_t i = 0; i < half; i++) {
            if (std::isnan(want[i]) || std::isnan(want[i + half])) continue;
            odd = odd && want[i + half] == -want[i] &&
                  std::signbit(want[i + half]) != std::signbit(want[i]);
            even = even && want[i + half] == want[i] &&
                   std::signbit(want[i + half]) == std::signbit(want[i]);
            rises = rises && (i == 0 || std::isnan(want[i - 1]) ||
                              (want[i] >= want[i - 1] && want[i + half] <= want[i - 1 + half]));
        }
        for (Ulps &u : all_) {
            u.odd = u.odd && odd;
            u.even = u.even && even;
            const Force force(u.isa, "");
            begin_step("ulps " + u.dtype + "/" + name_of(u.isa));
            const Tensor out = dispatch1(c_.registered, c_.in, c_.attrs);
            record_errors(u, out.raw(), x.v.data(), want, size);
            check_shape(u, out.raw(), x.v.data(), rises);
        }
    }

    // Returns the error of `got` in units of the last place of `want`. `size` is the sum of the
    // absolute values of terms, or null.
    double error_of(double got, double want, const double *size) const {
        if (got == want && std::signbit(got) == std::signbit(want)) return 0;
        if (std::isnan(want) || std::isnan(got))
            return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
        if (got == 0 && want == 0) return size ? 0 : INFINITY;
        if (std::isinf(want)) return INFINITY;
        const double overflow = std::ldexp(1.0, f_.largest() + 1);
        const double a = std::clamp(want, -overflow, overflow);
        const double b = std::isinf(got) ? std::copysign(overflow, got) : got;
        return std::fabs(a - b) * f_.units(size ? std::max(*size, std::fabs(want)) : want);
    }

    void record_errors(Ulps &u, const void *out, const double *x, const double *want,
                       const double *size) const {
        for (size_t i = 0; i < 2 * half; i++) {
            const double got = f_.value(f_.load(out, i));
            const double error = error_of(got, want[i], size ? size + i : nullptr);
            if (error > u.worst) {
                u.worst = error;
                u.x = x[i];
                u.got = got;
                u.want = want[i];
            }
        }
    }

    // Checks f(-x) = -f(x) if the reference is odd, and f(x) <= f(x') for x < x'.
    void check_shape(Ulps &u, const void *out, const double *x, bool rises) const {
        const auto sign = uint32_t(f_.positive());
        for (size_t i = 0; i < half; i++) {
            const uint32_t p = f_.load(out, i);
            const uint32_t n = f_.load(out, i + half);
            const double got = f_.value(p);
            const double other = f_.value(n);
            if (std::isnan(got) || std::isnan(other)) continue;
            if (u.odd && n != (p ^ sign) && u.not_odd.empty()) u.not_odd = at(x[i], got, -other);
            if (u.even && n != p && u.not_even.empty()) u.not_even = at(x[i], got, other);
            if (!rises || i == 0 || std::isnan(x[i - 1])) continue;
            const double before = f_.value(f_.load(out, i - 1));
            const double other_before = f_.value(f_.load(out, i - 1 + half));
            if (got >= before && other <= other_before) continue;
            if (u.fall_count++ == 0) u.falls = at(x[i], got, got < before ? before : other_before);
        }
    }
};

bool must_rise(const std::string &op) {
    return op == "tanh" || op == "sigmoid";
}

}  // namespace

bool has_ulps(const Op &op) {
    if (op.form != Form::elementwise || op.sig.outputs.size() != 1 ||
        op.contract.measure == Contract::normwise)
        return false;
    size_t swept = 0;
    for (auto &t : op.sig.inputs)
        swept += t.name != "dy" || op.sig.inputs.size() == 1;
    for (auto *list : {&op.sig.inputs, &op.sig.outputs}) {
        for (auto &t : *list)
            if (t.dtype != "T") return false;
    }
    return swept == 1 && std::find(op.dtypes.begin(), op.dtypes.end(), "f32") != op.dtypes.end();
}

bool Ulps::ok(const std::string &op) const {
    return worst <= bound + 1e-6 && (!odd || not_odd.empty()) && (!even || not_even.empty()) &&
           (!must_rise(op) || falls.empty());
}

std::string Ulps::text(const std::string &op) const {
    if (worst > bound + 1e-6 || ok(op)) return at(x, got, want);
    if (odd && !not_odd.empty()) return "not odd: " + not_odd;
    if (even && !not_even.empty()) return "not even: " + not_even;
    return "falls at " + std::to_string(fall_count) + " inputs: " + falls;
}

void Ulps::add(const Ulps &o) {
    if (o.worst > worst) {
        worst = o.worst;
        x = o.x;
        got = o.got;
        want = o.want;
    }
    odd = odd && o.odd;
    even = even && o.even;
    fall_count += o.fall_count;
    for (auto [mine, theirs] :
         {std::pair{&not_odd, &o.not_odd}, {&not_even, &o.not_even}, {&falls, &o.falls}})
        if (mine->empty()) *mine = *theirs;
}

std::vector<Ulps> ulps_of(const Op &op, const UlpJob &job, const std::vector<Isa> &isas) {
    set_threads(1);
    return Sweep(op, job, isas).run();
}

}  // namespace halyard::check
