#include "registry/op/signature.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

TEST(Expressions, Values) {
    const Dims d = {{"n", 7}, {"c", 3}, {"stride", 2}, {"zero", 0}};
    const std::vector<std::pair<std::string, int64_t>> cases = {{"1+2*3", 7},
                                                                {"(1+2)*3", 9},
                                                                {"7-2-1", 4},
                                                                {"n/stride", 3},
                                                                {"-n/stride", -3},
                                                                {"n%stride", 1},
                                                                {"-n%c", -1},
                                                                {"--n", 7},
                                                                {"- ( n )", -7},
                                                                {"cdiv(n,stride)", 4},
                                                                {"cdiv(-n,2)", -3},
                                                                {"cdiv(8,2)", 4},
                                                                {"cdiv(n,-2)", -3},
                                                                {"cdiv(-7,-2)", 4},
                                                                {"max(n, c)", 7},
                                                                {"min(n,max(c,5))", 5},
                                                                {"n==7", 1},
                                                                {"n!=7", 0},
                                                                {"n<7", 0},
                                                                {"n<=7", 1},
                                                                {"n>c", 1},
                                                                {"n>=8", 0},
                                                                {"n>c && c>n", 0},
                                                                {"n>c || c>n", 1},
                                                                {"1 || 0 && 0", 1},
                                                                {"2 && 3", 1},
                                                                {"0 || 5", 1},
                                                                {"n>c ? 10 : 20", 10},
                                                                {"c>n ? 10 : n==7 ? 30 : 40", 30},
                                                                {"(n>c)+1", 2},
                                                                {"zero==0 ? 0 : n/zero", 0},
                                                                {"zero!=0 && n/zero>1", 0},
                                                                {"zero==0 || n/zero>1", 1},
                                                                {"9223372036854775807", INT64_MAX},
                                                                {"(h_2)", 5},
                                                                {"  n  ", 7}};
    Dims with = d;
    with["h_2"] = 5;
    std::vector<std::string> names;
    std::vector<int64_t> values;
    for (const auto &[name, value] : with) {
        names.push_back(name);
        values.push_back(value);
    }
    for (const auto &[text, expected] : cases) {
        EXPECT_EQ(evaluate<int64_t>(text, with), expected) << text;
        EXPECT_EQ(CompiledExpr(text, names)(values.data()), expected) << text;
    }
}

TEST(Expressions, Errors) {
    const Dims d = {{"n", 7}, {"big", INT64_MAX}};
    const auto value = [&](const std::string &text) { return evaluate<int64_t>(text, d); };
    const auto compiled = [](const std::string &text) {
        const int64_t values[] = {7, INT64_MAX};
        return CompiledExpr(text, {"n", "big"}, "conv2d")(values);
    };
    expect_error<ShapeError>("[expr] division by zero: 7 / 0", [&] { value("n/(n-7)"); });
    expect_error<ShapeError>("[conv2d] division by zero: 7 % 0 in 'n%(n-7)'",
                             [&] { compiled("n%(n-7)"); });
    for (const char *text :
         {"big+1", "-big-2", "big*2", "cdiv(n,0)", "(-big-1)/-1", "-(-big-1)", "(-big-1)*-1"}) {
        EXPECT_THROW(value(text), ShapeError) << text;
        EXPECT_THROW(compiled(text), ShapeError) << text;
    }
    EXPECT_EQ(value("(-big-1)%-1"), 0);
    expect_error<AttrError>("[expr] unknown name 'k' in 'n+k'", [&] { value("n+k"); });
    expect_error<AttrError>("[conv2d] unknown name 'k' in 'n+k'", [&] { compiled("n+k"); });
    expect_error<AttrError>("[expr] bad expression 'c/' at 2: expected a name or a number",
                            [&] { value("c/"); });
    expect_error<AttrError>("[expr] bad expression '(n' at 2: expected ')'", [&] { value("(n"); });
    expect_error<AttrError>(
        "[expr] bad expression 'abs(n)' at 4: unknown function 'abs', expected max, min or cdiv",
        [&] { value("abs(n)"); });
    for (const char *text : {"", " ", "n n", "n)", "1.5", "2n", "max(n)", "max(n,1,2)", "n ? 1",
                             "n = 7", "n & 1", "n < 1 < 2", "99999999999999999999", "!n", "*n"})
        EXPECT_THROW(value(text), AttrError) << text;
    EXPECT_THROW(value(std::string(100000, '(')), AttrError)
        << "deep nesting is refused, not a crash";
    EXPECT_THROW(value(std::string(100000, '-') + "1"), AttrError);
    std::string right;
    for (int i = 0; i < 90; i++)
        right += "1+(";
    EXPECT_THROW(CompiledExpr(right + "1" + std::string(90, ')'), {}), AttrError)
        << "more than the stack holds";
    EXPECT_EQ(CompiledExpr("1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1", {})(nullptr), 20);
}

// A symbolic value with overloaded operators and functions in its own namespace, as Halide's Expr
// has.
namespace symbolic {
struct Text {
    std::string s;
    explicit Text(int v) : s(std::to_string(v)) {}
    explicit Text(std::string t) : s(std::move(t)) {}
};
Text join(const char *op, const Text &a, const Text &b) {
    return Text("(" + a.s + op + b.s + ")");
}
Text operator+(const Text &a, const Text &b) {
    return join("+", a, b);
}
Text operator-(const Text &a, const Text &b) {
    return join("-", a, b);
}
Text operator-(const Text &a, int b) {
    return join("-", a, Text(b));
}
Text operator-(const Text &a) {
    return Text("-" + a.s);
}
Text operator*(const Text &a, const Text &b) {
    return join("*", a, b);
}
Text operator/(const Text &a, const Text &b) {
    return join("/", a, b);
}
Text operator%(const Text &a, const Text &b) {
    return join("%", a, b);
}
Text operator==(const Text &a, const Text &b) {
    return join("==", a, b);
}
Text operator!=(const Text &a, const Text &b) {
    return join("!=", a, b);
}
Text operator<(const Text &a, const Text &b) {
    return join("<", a, b);
}
Text operator<=(const Text &a, const Text &b) {
    return join("<=", a, b);
}
Text operator&&(const Text &a, const Text &b) {
    return join("&&", a, b);
}
Text operator||(const Text &a, const Text &b) {
    return join("||", a, b);
}
Text max(const Text &a, const Text &b) {
    return join(" max ", a, b);
}
Text min(const Text &a, const Text &b) {
    return join(" min ", a, b);
}
Text select(const Text &c, const Text &a, const Text &b) {
    return Text("select(" + c.s + "," + a.s + "," + b.s + ")");
}
}  // namespace symbolic

TEST(Expressions, EvaluateOverOtherTypes) {
    const std::map<std::string, symbolic::Text> v = {{"a", symbolic::Text("a")},
                                                     {"b", symbolic::Text("b")}};
    const auto value = [&](const std::string &text) { return evaluate<symbolic::Text>(text, v).s; };
    EXPECT_EQ(value("(a+2*b)/3-1"), "(((a+(2*b))/3)-1)");
    EXPECT_EQ(value("a>b && a!=1 || -a==b%2 ? max(a,b) : min(a,1)"),
              "select((((b<a)&&(a!=1))||(-a==(b%2))),(a max b),(a min 1))");
    EXPECT_EQ(value("cdiv(a,b)"), "(((a+b)-1)/b)");
    EXPECT_THROW(value("4294967296"), ShapeError);
}

TEST(Signatures, Parsing) {
    const Signature s(
        "loss", "x:T[..n,c] labels:i32[n] w:bfloat16[ c , max(c,2)/1 ] -> y[] ok:bool[n, (c+1)*2]");
    ASSERT_EQ(s.inputs.size(), 3u);
    ASSERT_EQ(s.outputs.size(), 2u);
    EXPECT_EQ(s.inputs[0].group, "n");
    EXPECT_EQ(s.inputs[0].extents, std::vector<std::string>{"c"});
    EXPECT_EQ(s.inputs[0].dtype, "T");
    EXPECT_EQ(s.inputs[1].dtype, "i32");
    EXPECT_EQ(s.inputs[2].dtype, "bf16");
    EXPECT_EQ(s.inputs[2].extents, (std::vector<std::string>{"c", "max(c,2)/1"}));
    EXPECT_EQ(s.outputs[0].dtype, "T");
    EXPECT_TRUE(s.outputs[0].extents.empty());
    EXPECT_EQ(s.outputs[1].extents, (std::vector<std::string>{"n", "(c+1)*2"}));
    EXPECT_EQ(s.names, (std::vector<std::string>{"n", "c"}));
    EXPECT_TRUE(Signature("relu", "x:U[*] -> y:U[*]").inputs[0].any_rank);
    EXPECT_TRUE(Signature("range", "-> y[n]").inputs.empty());
}

TEST(Signatures, RejectInvalidText) {
    expect_error<AttrError>("[op] bad signature 'x[n,c -> y[n]' at 12: bad expression 'c -> y[n' "
                            "at 3: expected a name or a number",
                            [] { Signature("op", "x[n,c -> y[n]"); });
    expect_error<AttrError>("[op] bad signature 'x[n] -> y[n' at 11: expected ]",
                            [] { Signature("op", "x[n] -> y[n"); });
    expect_error<AttrError>("[op] bad signature 'x[n] -> y[n+]' at 12: bad expression 'n+' at 2: "
                            "expected a name or a number",
                            [] { Signature("op", "x[n] -> y[n+]"); });
    for (const char *text : {"",
                             "x[n]",
                             "x[n] -> y[n] -> z[n]",
                             "x -> y[n]",
                             "x[n] x[n] -> y[n]",
                             "x[n] -> x[n]",
                             "x[n,..g] -> y[n]",
                             "x[*,n] -> y[n]",
                             "x[n,*] -> y[n]",
                             "x[n] -> y[*]",
                             "x[n] -> y[..g,n]",
                             "x:f31[n] -> y[n]",
                             "x:[n] -> y[n]",
                             "x[..] -> y[n]",
                             "x[n,] -> y[n]",
                             "x?[n] -> y[n]",
                             "2x[n] -> y[n]",
                             "x[n]] -> y[n]",
                             "x[(n] -> y[n]",
                             "x[a,b,c,d,e,f,g,h,i] -> y[a]",
                             "->"})
        EXPECT_THROW(Signature("op", text), AttrError) << text;
}

TEST(Signatures, DimsAndConditions) {
    EXPECT_EQ(parse_dims(" n=3  c=-7 "), (Dims{{"n", 3}, {"c", -7}}));
    EXPECT_TRUE(parse_dims("").empty());
    expect_error<AttrError>("[dims] bad word 'n' in 'n', expected name=integer",
                            [] { parse_dims("n"); });
    for (const char *text : {"n=", "=3", "n=3x", "n=99999999999999999999", "n=1 n=2", "n==3"})
        EXPECT_THROW(parse_dims(text), AttrError) << text;

    const Dims d = {{"m", 9}, {"n", 37}, {"tile_j", 3}, {"lanes", 16}};
    std::string why;
    EXPECT_TRUE(holds("", d, &why));
    EXPECT_TRUE(holds("m>=8 n>=lanes m!=n n%2==1 m<10", d, &why));
    EXPECT_EQ(why, "");
    EXPECT_FALSE(holds("m>=8 n>=tile_j*lanes m>100", d, &why));
    EXPECT_EQ(why, "n>=tile_j*lanes: n is 37, tile_j*lanes is 48");
    EXPECT_FALSE(holds("m<n-30", d, &why));
    EXPECT_EQ(why, "m<n-30: m is 9, n-30 is 7");
    EXPECT_FALSE(holds("m>10||n>40", d, &why));
    EXPECT_EQ(why, "m>10||n>40: m is 9, n is 37");
    EXPECT_FALSE(holds("m==8", d));
    EXPECT_FALSE(holds("m>=2*lanes||m>=lanes&&n<lanes", d, &why));
    EXPECT_EQ(why, "m>=2*lanes||m>=lanes&&n<lanes: m is 9, 2*lanes is 32, lanes is 16")
        << "n wasn't asked for";
    EXPECT_FALSE(holds("m==9&&(n-m)*(lanes-1)/2<=-tile_j", d, &why));
    EXPECT_EQ(why, "m==9&&(n-m)*(lanes-1)/2<=-tile_j: (n-m)*(lanes-1)/2 is 210, -tile_j is -3");
    EXPECT_FALSE(holds("m-(n-1)-1>=max(n,cdiv(m,2))", d, &why));
    EXPECT_EQ(why, "m-(n-1)-1>=max(n,cdiv(m,2)): m-(n-1)-1 is -28, max(n,cdiv(m,2)) is 37");
    expect_error<AttrError>("[condition] unknown name 'k' in 'k>=1'", [&] { holds("k>=1", d); });
}

TEST(Signatures, GradientOpsAreNamedAfterAnInput) {
    const Signature expand("expand", "x[*] -> y[*]");
    const Signature dims("expand_dims", "x[*] -> y[*]");
    const Signature gradient("expand_dx", "dy[*] -> dx[*]");
    EXPECT_EQ(forward_name("expand_dims"), "expand");
    EXPECT_FALSE(dims.differentiates(expand));
    EXPECT_TRUE(gradient.differentiates(expand));
    EXPECT_EQ(forward_name("add"), "");
    EXPECT_EQ(forward_name("mul_db"), "mul");
}

}  // namespace
}  // namespace halyard
