// Polynomials are those of S. Moshier's Cephes library, single precision (netlib.org/cephes).
#include "dsl/ascend/math.h"

#include <cmath>
#include <map>

namespace halyard::ascend {
using namespace Halide;

namespace {

Expr c(double v) {
    return Internal::FloatImm::make(Float(32), v);
}
Expr call(const char *name, const Expr &x) {
    return Internal::Call::make(Float(32), name, {x}, Internal::Call::PureExtern);
}
Expr e_to(const Expr &x) {
    return call("exp_f32", x);
}
Expr ln(const Expr &x) {
    return call("log_f32", x);
}
Expr root(const Expr &x) {
    return call("sqrt_f32", x);
}
// Returns x. Halide computes bounds of every value, which takes minutes for a polynomial of a
// select. It computes none for a function that it doesn't have.
Expr unbounded(const Expr &x) {
    return call("unbounded_f32", x);
}
// Returns x rounded to its leading 12 bits, whose products are exact, for |x| < 2^115 (Veltkamp
// 1968). It uses only arithmetic, because TBE has no bitwise operations on floats.
Expr leading_bits(const Expr &x) {
    const Expr multiple = unbounded(x * c(4097));
    return multiple - unbounded(multiple - x);
}
// Returns x, of any magnitude, truncated to its leading 12 bits.
Expr leading_bits_of_any(const Expr &x) {
    const Expr kept = reinterpret(Int(32), x) & Expr(int32_t(0xfffff000));
    return reinterpret(Float(32), kept);
}
Expr signed_as(const Expr &y, const Expr &x) {
    return select(x < c(0), c(0) - y, y);
}

// Returns a polynomial by Horner's rule; `sum` has the coefficients of higher powers, if there are
// any.
Expr polynomial(const Expr &x, std::initializer_list<double> highest_first, Expr sum = Expr()) {
    for (double k : highest_first)
        sum = sum.defined() ? sum * x + c(k) : c(k);
    return sum;
}

// Return e^x - 1 and ln(1 + x) with Kahan's correction: a quotient compensates the rounding error
// of 1 + x or e^x.
Expr expm1_of(const Expr &x) {
    const Expr u = e_to(x);
    const Expr less = u - c(1);
    return select(u == c(1), x, select(less == c(-1) || u > c(1e30), less, less * (x / ln(u))));
}
Expr log1p_of(const Expr &x) {
    const Expr u = x + c(1);
    return select(u == c(1), x, select(u > c(1e30), ln(u), ln(u) * (x / (u - c(1)))));
}

Expr tanh_of(const Expr &x) {
    const Expr a = abs(x);
    const Expr z = x * x;
    const Expr near = polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                     1.33314422036e-1, -3.33332819422e-1}) *
                          z * x +
                      x;
    return select(a < c(0.625), near, signed_as(c(1) - c(2) / (e_to(a + a) + c(1)), x));
}

// Returns e^(-x^2), x >= 0. x is split into two parts, the first of which has few digits, so that
// its square is exact.
Expr e_to_minus_square(const Expr &x) {
    const Expr high = floor(x * c(16)) * c(0.0625);
    return e_to(c(0) - high * high) * e_to(c(0) - (x - high) * (x + high));
}
// Returns e^(z^2) erfc(z), 0 <= z < 11, with the polynomial of dsl/math/math_erf.cpp, without
// cancellation.
Expr scaled_erfc(const Expr &z) {
    const Expr u = c(1.4142135623730951) / (z + c(1.9445436482630056));
    const Expr v = z * (c(0.7071067811865476) * u) - c(0.313);
    const auto high = {-0.0369045623, -0.0433722883, 0.0798723027, 0.117344439, -0.0667420775};
    const auto low = {-0.275726408, 0.0790051147, 0.744756997, -1.22809732, 0.922427058};
    return u * polynomial(v, low, polynomial(v, high));
}
Expr erfc_positive(const Expr &a) {
    const Expr z = unbounded(min(a, c(10.25)));
    return e_to_minus_square(z) * scaled_erfc(z);
}
// Returns e^(-x^2 / 2) for |x| <= 40. Rounding x^2 would cost x^2 / 2 ULPs, so x is split into two
// parts; the square of the first is exact.
Expr gaussian_within_40(const Expr &x) {
    const Expr high = leading_bits(x);
    return e_to(high * high * c(-0.5)) * e_to((x - high) * (x + high) * c(-0.5));
}
Expr gaussian_of(const Expr &x) {
    const Expr x0 = unbounded(min(abs(x), c(40)));
    return select(x != x, x, gaussian_within_40(x0));
}
Expr exp_minus_square_of(const Expr &x) {
    const Expr x0 = unbounded(min(abs(x), c(28)));
    return select(x != x, x, e_to_minus_square(x0));
}

// Returns x clamped to limits past which a function of it is 0 or x.
Expr clamped(const Expr &x, double lower, double upper) {
    return unbounded(min(max(x, c(lower)), c(upper)));
}
// Returns x / (1 + e^-v), v = high + low. `high` is an exact product and `low`, if defined, is
// small: rounding v would cost v ULPs in the left tail. There e^v, which is subnormal before the
// result is, is computed as a product of two.
Expr times_logistic(const Expr &x, const Expr &high, const Expr &low) {
    const Expr half = e_to(abs(high) * c(-0.5));
    const Expr rest = low.defined() ? half * e_to(signed_as(low, c(0) - high)) : half;
    const Expr factor = select(high < c(0), rest, c(1)) / (c(1) + half * rest);
    return select(high < c(0), x * half * factor, x * factor);
}
Expr silu_of(const Expr &x) {
    const Expr x0 = clamped(x, -120, 120);
    return select(x != x || x > c(40), x, times_logistic(x0, x0, Expr()));
}
Expr fast_gelu_of(const Expr &x) {
    const Expr x0 = clamped(x, -80, 80);
    const Expr top = leading_bits(x0);
    const Expr slope = c(1.7021484375);  // 12 bits of 1.702
    const Expr low = (x0 - top) * slope + x0 * c(1.702 - 1.7021484375);
    return select(x != x || x > c(40), x, times_logistic(x0, top * slope, low));
}
// x tanh(log(1 + e^x)) = x e (e + 2) / (e (e + 2) + 2), e = e^x
Expr mish_of(const Expr &x) {
    const Expr x0 = clamped(x, -120, 20);
    const Expr half = e_to(x0 * c(0.5));
    const Expr e = half * half;
    const Expr quotient = half * (e + c(2)) / (e * (e + c(2)) + c(2));
    return select(x != x || x > c(20), x, x0 * half * quotient);
}
// v = x (a + b x^2). The leading 12 bits of x, x^2 and v / x are multiplied exactly.
Expr gelu_tanh_of(const Expr &x) {
    const double a = 1.5957691216057308, a12 = 1.595703125;
    const double b = 0.07135481627260025, b12 = 0.071350097656250;
    const Expr x0 = clamped(x, -12, 12);
    const Expr top = leading_bits(x0);
    const Expr low = x0 - top;
    const Expr square = top * top;
    const Expr square12 = leading_bits(square);
    const Expr square_rest = (square - square12) + low * (x0 + top);
    const Expr cubic = c(b12) * square12;
    const Expr slope12 = leading_bits(c(a12) + cubic);
    const Expr coefficients_rest = c(a - a12) + c(b - b12) * (x0 * x0);
    const Expr slope_rest = ((c(a12) - slope12) + cubic) +
                            (coefficients_rest + c(b12) * square_rest);
    const Expr y = times_logistic(x0, top * slope12, low * slope12 + x0 * slope_rest);
    return select(x != x || x > c(10), x, y);
}
// Returns x P(N(0,1) < x). In the form x erfc(-x / sqrt 2) / 2, rounding x / sqrt 2 would cost x^2
// ULPs.
Expr gelu_of(const Expr &x) {
    const Expr a = unbounded(min(abs(x), c(15)));
    const Expr tail = gaussian_within_40(a) * (c(0.5) * a * scaled_erfc(a * c(M_SQRT1_2)));
    return select(x != x, x, max(x, c(0)) - tail);
}
Expr erf_below_1(const Expr &x) {
    return x * polynomial(x * x, {7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3,
                                  -2.685381193529856e-2, 1.128358514861418e-1,
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

// Returns sin(x + quarters * pi / 2).
Expr sine(const Expr &x, double quarters) {
    const Expr n = round(x * c(2 / M_PI));
    const Expr r = ((x - n * c(1.5703125)) - n * c(4.837512969970703125e-4)) -
                   n * c(7.54978995489188216e-8);
    const Expr z = r * r;
    const Expr s = polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}) * z * r + r;
    const Expr k =
        polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2}) * z * z -
        c(0.5) * z + c(1);
    const Expr q = n + c(quarters);
    const Expr of_four = q - c(4) * floor(q * c(0.25));
    return select(of_four == c(0), s, of_four == c(1), k, of_four == c(2), c(0) - s, c(0) - k);
}

Expr atan_of(const Expr &x) {
    const Expr a = abs(x);
    const Expr far = a > c(2.414213562373095);
    const Expr middle = a > c(0.4142135623730950);
    const Expr t = select(far, c(-1) / a, select(middle, (a - c(1)) / (a + c(1)), a));
    const Expr z = t * t;
    const Expr y = polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1,
                                  -3.33329491539e-1}) *
                       z * t +
                   t;
    return signed_as(select(far, c(M_PI / 2), select(middle, c(M_PI / 4), c(0))) + y, x);
}
Expr asin_of(const Expr &x) {
    const Expr a = abs(x);
    const Expr far = a > c(0.5);
    const Expr z = select(far, c(0.5) * (c(1) - a), a * a);
    const Expr s = select(far, root(z), a);
    const Expr y = polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2,
                                  7.4953002686e-2, 1.6666752422e-1}) *
                       z * s +
                   s;
    return signed_as(select(far, c(M_PI / 2) - (y + y), y), x);
}
Expr acos_of(const Expr &x) {
    const Expr near = c(2) * asin_of(root(c(0.5) * (c(1) - abs(x))));
    return select(x > c(0.5), near, x < c(-0.5), c(M_PI) - near, c(M_PI / 2) - asin_of(x));
}

Expr sinh_of(const Expr &x) {
    const Expr a = abs(x);
    const Expr m = expm1_of(a);
    const Expr half = e_to(c(0.5) * a);
    return signed_as(select(a > c(80), c(0.5) * half * half, c(0.5) * (m + m / (m + c(1)))), x);
}
Expr cosh_of(const Expr &x) {
    const Expr half = e_to(c(0.5) * abs(x));
    const Expr e = half * half;
    return c(0.5) * e + c(0.5) / e;
}
Expr asinh_of(const Expr &x) {
    const Expr a = abs(x);
    return signed_as(
        select(a > c(1e9), ln(a) + c(M_LN2), log1p_of(a + a * a / (c(1) + root(a * a + c(1))))), x);
}
Expr acosh_of(const Expr &x) {
    const Expr t = x - c(1);
    return select(x > c(1e9), ln(x) + c(M_LN2), log1p_of(t + root(t * (t + c(2)))));
}
Expr atanh_of(const Expr &x) {
    const Expr a = abs(x);
    return signed_as(c(0.5) * log1p_of((a + a) / (c(1) - a)), x);
}

// Returns a * b, rounded, and its rounding error (Dekker 1971), if neither is near the limits of
// f32.
std::pair<Expr, Expr> two_product(const Expr &a, const Expr &b) {
    const auto high = [](const Expr &v) {
        const Expr t = v * c(4097);
        return t - (t - v);
    };
    const Expr p = a * b;
    const Expr a1 = high(a);
    const Expr b1 = high(b);
    const Expr a2 = a - a1;
    const Expr b2 = b - b1;
    return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}
// Returns e^(product + rest), where `rest` is small. An overflow stays infinity: infinity +
// infinity * rest would be NaN.
Expr e_to_sum(const Expr &product, const Expr &rest) {
    const Expr e = e_to(product);
    return select(abs(product) < c(104) && e < c(0x1.fffffep+127), e + e * rest, e);
}
// An error of x ln 2 is a relative error of the result.
Expr exp2_of(const Expr &x) {
    const auto ln2 = double(float(M_LN2));
    const Expr x0 = clamped(x, -160, 130);
    const auto [product, lost] = two_product(x0, c(ln2));
    return select(x != x, x, e_to_sum(product, lost + x0 * c(M_LN2 - ln2)));
}
// Returns the largest number, which only infinities exceed.
Expr largest() {
    return c(0x1.fffffep+127);
}
// Returns true for -0, too.
Expr is_negative(const Expr &x) {
    return x < c(0) || c(1) / x < c(0) - largest();
}
// An error of y ln x is a relative error of the result, so the errors of the product and of a large
// logarithm are compensated.
Expr pow_of(const Expr &x, const Expr &y) {
    const Expr l = ln(abs(x));
    const Expr back = e_to(l);
    const Expr rest = select(abs(l) > c(1) && abs(l) < c(88), y * ((abs(x) - back) / back), c(0));
    const auto [product, lost] = two_product(y, l);
    const Expr size = e_to_sum(product, lost + rest);
    const Expr odd = y - c(2) * floor(y * c(0.5)) == c(1);
    // pow(-inf, 0.5) is inf, and pow(-1, inf) is 1.
    const Expr none = x < c(0) && abs(x) <= largest() && floor(y) != y;
    const Expr one = y == c(0) || x == c(1) || (x == c(-1) && abs(y) > largest());
    return select(one, c(1), none, c(0) / c(0), select(is_negative(x) && odd, c(0) - size, size));
}
Expr atan2_of(const Expr &y, const Expr &x) {
    const Expr right_angle = x == c(0) || abs(y) > largest();
    const Expr diagonal = abs(x) > largest() && abs(y) > largest();
    const Expr a = select(y == c(0), c(0), diagonal, c(M_PI / 4), right_angle, c(M_PI / 2),
                          atan_of(abs(y) / abs(x)));
    const Expr upper = select(is_negative(x), c(M_PI) - a, a);
    return select(x != x, x, y != y, y, is_negative(y), c(0) - upper, upper);
}

// Returns true if `e` is a converted f16 value.
bool is_half(const Expr &e) {
    const auto *c = e.as<Internal::Cast>();
    return c && c->value.type() == Float(16);
}
// Returns r - q t exactly, for an integer q near r / t. The product is p and its rounding error
// (Dekker 1971), whose parts are exact: q is an integer, so none of them is subnormal.
Expr minus_multiple(const Expr &r, const Expr &q, const Expr &t) {
    const Expr p = q * t;
    const Expr q1 = leading_bits_of_any(q);
    const Expr q2 = q - q1;
    const Expr t1 = leading_bits_of_any(t);
    const Expr t2 = t - t1;
    return (r - p) - (((q1 * t1 - p) + q1 * t2 + q2 * t1) + q2 * t2);
}
// Returns x, |x| <= 2^22 t, minus the nearest multiple of t. The result is at most 3/4 t, because
// the quotient is rounded. The quotient is computed by `over`, which is t unless t is 0.
Expr reduced(const Expr &x, const Expr &over, const Expr &t) {
    const Expr quotient = unbounded(round(x / over));
    return unbounded(minus_multiple(x, quotient, t));
}
// Returns y 2^bits, or infinity.
Expr scaled_up(Expr y, int bits) {
    constexpr int max_step = 110;
    for (; bits > 0; bits -= max_step)
        y = y * c(std::ldexp(1, std::min(bits, max_step)));
    return unbounded(y);
}

// Returns x mod y, x and y >= 0 and finite. Quotients have up to 277 bits, of which each step
// removes 22: x is reduced by y 2^242, y 2^220 .. y. A multiple that is out of range is replaced by
// 0. A large x is scaled by 2^-22 at first.
Expr reduced_by_steps(const Expr &x, const Expr &y) {
    const Expr far = x >= c(0x1p100);
    const Expr large = y >= c(0x1p64);
    Expr r = unbounded(select(far, x * c(0x1p-22), x));
    for (int bits = 242; bits >= 0; bits -= 22) {
        const Expr t = scaled_up(y, bits);
        r = reduced(r, t, unbounded(select(t < c(0x1p106), t, c(0))));
    }
    // The nearest multiple of a large divisor could be infinite, so it is scaled.
    const Expr scale = unbounded(select(large, c(0.25), c(1)));
    const Expr divisor = unbounded(y * scale);
    r = reduced(select(far, r * c(0x1p22), r) * scale, divisor, divisor);
    return unbounded(r * select(large, c(4), c(1)));
}
// Returns fmod(a, b): a - trunc(a / b) b, exactly.
Expr mod_of(const Expr &a, const Expr &b) {
    const Expr x = unbounded(abs(a));
    const Expr y = unbounded(abs(b));
    const Expr high = y * c(0x1p22);
    const bool short_quotient = is_half(a) && is_half(b);  // of at most 40 bits
    const Expr r = short_quotient ? reduced(reduced(x, high, high), y, y) : reduced_by_steps(x, y);
    const Expr above = select(r < c(0), r + y, r);
    const Expr within = select(above >= y, above - y, above);
    const Expr defined = y > c(0) && x < c(INFINITY);
    return select(x < y, a, defined, signed_as(within, a), c(0) / c(0));
}
// Returns floor(a / b). The rounded quotient may be an integer that is above the exact one, which
// the remainder shows. From 2^24 on the result is the rounded quotient.
Expr floor_div_of(const Expr &a, const Expr &b) {
    const Expr q = unbounded(a / b);
    const Expr whole = unbounded(floor(q));
    const Expr scale = unbounded(select(abs(a) > c(0x1p100), c(0x1p-30), c(1)));
    const Expr divisor = unbounded(b * scale);
    const Expr rest = unbounded(minus_multiple(a * scale, whole, divisor));
    const Expr below = select(divisor > c(0), rest, c(0) - rest) < c(0);
    return select(abs(q) < c(0x1p24), select(below, whole - c(1), whole), q);
}
Expr trunc_div_of(const Expr &a, const Expr &b) {
    const Expr quotient = signed_as(floor_div_of(abs(a), abs(b)), a);
    return select(is_negative(b), c(0) - quotient, quotient);  // a / -0 is infinite
}

Expr written_out(const std::string &name, const std::vector<Expr> &args) {
    static const std::map<std::string, Expr (*)(const Expr &)> unary = {
        {"acos", acos_of},           {"acosh", acosh_of},
        {"asin", asin_of},           {"asinh", asinh_of},
        {"atan", atan_of},           {"atanh", atanh_of},
        {"cosh", cosh_of},           {"erf", erf_of},
        {"erfc", erfc_of},           {"exp2", exp2_of},
        {"expm1", expm1_of},         {"log1p", log1p_of},
        {"sinh", sinh_of},           {"tanh", tanh_of},
        {"fast_gelu", fast_gelu_of}, {"exp_minus_square", exp_minus_square_of},
        {"gaussian", gaussian_of},   {"gelu", gelu_of},
        {"gelu_tanh", gelu_tanh_of}, {"mish", mish_of},
        {"silu", silu_of},
    };
    const Expr &x = args[0];
    if (const auto f = unary.find(name); f != unary.end()) return f->second(x);
    if (name == "log2") return ln(x) * c(M_LOG2E);
    if (name == "log10") return ln(x) * c(M_LOG10E);
    if (name == "sin") return sine(x, 0);
    if (name == "cos") return sine(x, 1);
    if (name == "tan") return sine(x, 0) / sine(x, 1);
    if (name == "pow") return pow_of(x, args[1]);
    if (name == "atan2") return atan2_of(x, args[1]);
    if (name == "mod") return mod_of(x, args[1]);
    if (name == "floor_div") return floor_div_of(x, args[1]);
    if (name == "trunc_div") return trunc_div_of(x, args[1]);
    return Expr();
}

}  // namespace

Expr function(const std::string &name, const std::vector<Expr> &args) {
    const Expr e = written_out(name, args);
    // Common subexpressions become lets, so that passes which copy the expression stay fast.
    return e.defined() ? Internal::common_subexpression_elimination(e) : e;
}

}  // namespace halyard::ascend
