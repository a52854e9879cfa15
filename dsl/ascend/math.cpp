// Polynomials are those of S. Moshier's Cephes library, single precision (netlib.org/cephes).
#include "dsl/ascend/math.h"

#include <cmath>
#include <map>

namespace halyard::ascend {
using namespace Halide;

namespace {

Expr c(double v) { return Internal::FloatImm::make(Float(32), v); }
Expr call(const char *name, const Expr &x) { return Internal::Call::make(Float(32), name, {x}, Internal::Call::PureExtern); }
Expr e_to(const Expr &x) { return call("exp_f32", x); }
Expr ln(const Expr &x) { return call("log_f32", x); }
Expr root(const Expr &x) { return call("sqrt_f32", x); }
// x. Halide, which bounds every value, bounds nothing of a function it doesn't know; of a polynomial of a select it would for minutes.
Expr unbounded(const Expr &x) { return call("unbounded_f32", x); }
Expr signed_as(const Expr &y, const Expr &x) { return select(x < c(0), c(0) - y, y); }

Expr polynomial(const Expr &x, std::initializer_list<double> highest_first) {
    Expr sum;
    for (double k : highest_first) sum = sum.defined() ? sum * x + c(k) : c(k);
    return sum;
}

// e^x - 1 and ln(1 + x) by Kahan's correction: what 1 + x or e^x lost to rounding comes back by a quotient.
Expr expm1_of(const Expr &x) {
    const Expr u = e_to(x), less = u - c(1);
    return select(u == c(1), x, select(less == c(-1) || u > c(1e30), less, less * (x / ln(u))));
}
Expr log1p_of(const Expr &x) {
    const Expr u = x + c(1);
    return select(u == c(1), x, select(u > c(1e30), ln(u), ln(u) * (x / (u - c(1)))));
}

Expr tanh_of(const Expr &x) {
    const Expr a = abs(x), z = x * x;
    const Expr near = polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1}) * z * x + x;
    return select(a < c(0.625), near, signed_as(c(1) - c(2) / (e_to(a + a) + c(1)), x));
}

// e^(-x^2), x >= 0: x in two parts, the first of few digits, so that its square is exact.
Expr e_to_minus_square(const Expr &x) {
    const Expr high = floor(x * c(16)) * c(0.0625);
    return e_to(c(0) - high * high) * e_to(c(0) - (x - high) * (x + high));
}
// erfc(a), a >= 0, with the polynomial of dsl/math_erf.cpp: nothing cancels on the way.
Expr erfc_positive(const Expr &a) {
    const Expr z = unbounded(min(a, c(10.25))), u = c(1.4142135623730951) / (z + c(1.9445436482630056)), v = z * (c(0.7071067811865476) * u) - c(0.313);
    const Expr p = polynomial(
        v, {-0.0369045623, -0.0433722883, 0.0798723027, 0.117344439, -0.0667420775, -0.275726408, 0.0790051147, 0.744756997, -1.22809732, 0.922427058});
    return e_to_minus_square(z) * (u * p);
}
Expr erf_below_1(const Expr &x) {
    return x * polynomial(x * x, {7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2, 1.128358514861418e-1,
                                  -3.761262582423300e-1, 1.128379165726710e+0});
}
Expr erf_of(const Expr &x) {
    const Expr a = abs(x);
    return select(a < c(1), erf_below_1(x), x != x, x, signed_as(c(1) - erfc_positive(a), x));
}
Expr erfc_of(const Expr &x) {
    const Expr tail = erfc_positive(abs(x));
    return select(x < c(0), c(2) - tail, x != x, x, tail);
}

// sin(x + quarters * pi / 2)
Expr sine(const Expr &x, double quarters) {
    const Expr n = round(x * c(2 / M_PI));
    const Expr r = ((x - n * c(1.5703125)) - n * c(4.837512969970703125e-4)) - n * c(7.54978995489188216e-8), z = r * r;
    const Expr s = polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}) * z * r + r;
    const Expr k = polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2}) * z * z - c(0.5) * z + c(1);
    const Expr q = n + c(quarters), of_four = q - c(4) * floor(q * c(0.25));
    return select(of_four == c(0), s, of_four == c(1), k, of_four == c(2), c(0) - s, c(0) - k);
}

Expr atan_of(const Expr &x) {
    const Expr a = abs(x), far = a > c(2.414213562373095), middle = a > c(0.4142135623730950);
    const Expr t = select(far, c(-1) / a, select(middle, (a - c(1)) / (a + c(1)), a)), z = t * t;
    const Expr y = polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1}) * z * t + t;
    return signed_as(select(far, c(M_PI / 2), select(middle, c(M_PI / 4), c(0))) + y, x);
}
Expr asin_of(const Expr &x) {
    const Expr a = abs(x), far = a > c(0.5), z = select(far, c(0.5) * (c(1) - a), a * a), s = select(far, root(z), a);
    const Expr y = polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1}) * z * s + s;
    return signed_as(select(far, c(M_PI / 2) - (y + y), y), x);
}
Expr acos_of(const Expr &x) {
    const Expr near = c(2) * asin_of(root(c(0.5) * (c(1) - abs(x))));
    return select(x > c(0.5), near, x < c(-0.5), c(M_PI) - near, c(M_PI / 2) - asin_of(x));
}

Expr sinh_of(const Expr &x) {
    const Expr a = abs(x), m = expm1_of(a), half = e_to(c(0.5) * a);
    return signed_as(select(a > c(80), c(0.5) * half * half, c(0.5) * (m + m / (m + c(1)))), x);
}
Expr cosh_of(const Expr &x) {
    const Expr half = e_to(c(0.5) * abs(x)), e = half * half;
    return c(0.5) * e + c(0.5) / e;
}
Expr asinh_of(const Expr &x) {
    const Expr a = abs(x);
    return signed_as(select(a > c(1e9), ln(a) + c(M_LN2), log1p_of(a + a * a / (c(1) + root(a * a + c(1))))), x);
}
Expr acosh_of(const Expr &x) {
    const Expr t = x - c(1);
    return select(x > c(1e9), ln(x) + c(M_LN2), log1p_of(t + root(t * (t + c(2)))));
}
Expr atanh_of(const Expr &x) {
    const Expr a = abs(x);
    return signed_as(c(0.5) * log1p_of((a + a) / (c(1) - a)), x);
}

// a * b as its rounded value and what it lost (Dekker 1971), as long as neither is near the range's ends.
std::pair<Expr, Expr> two_product(const Expr &a, const Expr &b) {
    const auto high = [](const Expr &v) {
        const Expr t = v * c(4097);
        return t - (t - v);
    };
    const Expr p = a * b, a1 = high(a), b1 = high(b), a2 = a - a1, b2 = b - b1;
    return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}
// An error of the product is one of as many roundings of the result as the product is large. That of a large logarithm shows in its power.
Expr pow_of(const Expr &x, const Expr &y) {
    const Expr l = ln(abs(x)), back = e_to(l), rest = select(abs(l) > c(1) && abs(l) < c(88), y * ((abs(x) - back) / back), c(0));
    const auto [product, lost] = two_product(y, l);
    const Expr e = e_to(product), size = select(abs(product) < c(104), e + e * (lost + rest), e);
    const Expr odd = y - c(2) * floor(y * c(0.5)) == c(1), none = x < c(0) && floor(y) != y;
    return select(y == c(0) || x == c(1), c(1), none, c(0) / c(0), select(x < c(0) && odd, c(0) - size, size));
}
Expr atan2_of(const Expr &y, const Expr &x) {
    const Expr a = atan_of(y / x);
    return select(x > c(0), a, x < c(0), select(y < c(0), a - c(M_PI), a + c(M_PI)), signed_as(select(y == c(0), c(0), c(M_PI / 2)), y));
}

Expr written_out(const std::string &name, const std::vector<Expr> &args) {
    static const std::map<std::string, Expr (*)(const Expr &)> unary = {
        {"acos", acos_of}, {"acosh", acosh_of}, {"asin", asin_of},   {"asinh", asinh_of}, {"atan", atan_of}, {"atanh", atanh_of}, {"cosh", cosh_of},
        {"erf", erf_of},   {"erfc", erfc_of},   {"expm1", expm1_of}, {"log1p", log1p_of}, {"sinh", sinh_of}, {"tanh", tanh_of},
    };
    const Expr &x = args[0];
    if (const auto f = unary.find(name); f != unary.end()) return f->second(x);
    if (name == "exp2") return e_to(x * c(M_LN2));
    if (name == "log2") return ln(x) * c(M_LOG2E);
    if (name == "log10") return ln(x) * c(M_LOG10E);
    if (name == "sin") return sine(x, 0);
    if (name == "cos") return sine(x, 1);
    if (name == "tan") return sine(x, 0) / sine(x, 1);
    if (name == "pow") return pow_of(x, args[1]);
    if (name == "atan2") return atan2_of(x, args[1]);
    return Expr();
}

}  // namespace

Expr function(const std::string &name, const std::vector<Expr> &args) {
    const Expr e = written_out(name, args);
    // Parts are shared: as lets they stay small for every pass that copies them.
    return e.defined() ? Internal::common_subexpression_elimination(e) : e;
}

}  // namespace halyard::ascend
