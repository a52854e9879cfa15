// Typical mistakes of op authors, one op each. The line that the error must name ends in a comment
// "// <- NAME".
#include "dsl/op.h"

namespace halyard {
namespace {

// y = x / sum x, in rows of c, unscheduled.
struct Row : Op {
    explicit Row(const std::string &name, const std::string &signature = "x[n,c] -> y[n,c]")
        : Op(name, signature) {
        dtypes = {"f32"};
        samples = {"n=2 c=5"};
    }
    Var c{"c"}, n{"n"}, vec{"vec"}, lane{"lane"};
    RDom k;
    Func x = input("x");
    Func y = output("y");
    Func total{"total"}, e{"e"};

    void algorithm() override {
        k = RDom(0, size("c"), "k");
        e(c, n) = exp(x(c, n));
        total(n) += e(k, n);
        y(c, n) = e(c, n) / total(n);
    }
    void reference(Problem &) const override {}
};

struct NoSuchLoop : Row {
    NoSuchLoop() : Row("no_such_loop") {}
    void schedule(const Cpu &cpu) override {
        y.split(c, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        e.compute_at(y, c);  // <- no_such_loop
    }
};

struct UsedElsewhere : Row {
    UsedElsewhere() : Row("used_elsewhere") {}
    void schedule(const Cpu &) override {
        total.compute_root();
        e.compute_at(y, n);  // <- used_elsewhere
    }
};

struct StoredInside : Row {
    StoredInside() : Row("stored_inside") {}
    void schedule(const Cpu &) override {
        total.compute_at(y, n);
        total.store_at(y, c);  // <- stored_inside
    }
};

struct RacingSum : Row {
    RacingSum() : Row("racing_sum") {}
    void schedule(const Cpu &) override {
        total.compute_root();
        total.update().parallel(k);  // <- racing_sum
    }
};

struct AnyExtent : Row {
    AnyExtent() : Row("any_extent") {}
    void schedule(const Cpu &) override {
        y.vectorize(c);  // <- any_extent
    }
};

struct NoSuchVar : Row {
    NoSuchVar() : Row("no_such_var") {}
    void schedule(const Cpu &) override {
        y.reorder(c, n).vectorize(lane, 8);  // <- no_such_var
    }
};

struct Inlined : Row {
    Inlined() : Row("inlined") {}
    void schedule(const Cpu &) override {
        total.compute_root();
        e.vectorize(c, 8);  // <- inlined
    }
};

struct TwoNames : Row {
    TwoNames() : Row("two_names") {}
    void schedule(const Cpu &) override {
        total.compute_root();
        y.split(c, vec, n, 8);  // <- two_names
    }
};

struct TooFewArguments : Row {
    TooFewArguments() : Row("too_few_arguments") {}
    void algorithm() override {
        y(c, n) = x(c);  // <- too_few_arguments
    }
};

struct NeverDefined : Row {
    NeverDefined() : Row("never_defined") {}
    void algorithm() override {
        y(c, n) = x(c, n) * e(c, n);  // <- never_defined
    }
};

struct NoOutput : Row {
    NoOutput() : Row("no_output") {}  // <- no_output
    void algorithm() override { e(c, n) = x(c, n); }
};

struct UpdatedOutput : Row {
    UpdatedOutput() : Row("updated_output") {}
    void algorithm() override {
        k = RDom(0, size("c"), "k");
        y(c, n) = 0_r;
        y(c, n) += x(k, n);  // <- updated_output
    }
};

struct DefinedTwice : Row {
    DefinedTwice() : Row("defined_twice") {}
    void algorithm() override {
        e(c, n) = x(c, n);
        e(n, c) = x(c, n);  // <- defined_twice
        y(c, n) = e(c, n);
    }
};

struct NoSuchSize : Row {
    NoSuchSize() : Row("no_such_size") {}
    void algorithm() override {
        k = RDom(0, size("q"));  // <- no_such_size
        y(c, n) = x(c, n);
    }
};

struct RoundedConstant : Row {
    RoundedConstant() : Row("rounded_constant") {}
    void algorithm() override {
        y(c, n) = x(c, n) * 0.1f;  // <- rounded_constant
    }
};

struct TooLarge : Row {
    TooLarge() : Row("too_large") {}
    void algorithm() override {
        y(c, n) = x(c, n) * math::real(Halide::cast<uint8_t>(n) + 300);  // <- too_large
    }
};

struct RealIndex : Row {
    RealIndex() : Row("real_index") {}
    void algorithm() override {
        y(c, n) = x(x(c, n), n);  // <- real_index
    }
};

struct NoCondition : Row {
    NoCondition() : Row("no_condition") {}
    void algorithm() override {
        y(c, n) = select(x(c, n), 1_r, 0_r);  // <- no_condition
    }
};

struct UnreadInput : Row {
    UnreadInput() : Row("unread_input", "x[n,c] mask:bool[n,c] -> y[n,c]") {}  // <- unread_input
    Func mask = input("mask");
};

struct HalfAnInteger : Row {
    HalfAnInteger() : Row("half_an_integer") { dtypes = {"i32"}; }
    void algorithm() override {
        y(c, n) = x(c, n) * 0.5_r;  // <- half_an_integer
    }
};

struct NotAssociative : Row {
    NotAssociative() : Row("not_associative") {}
    void algorithm() override {
        k = RDom(0, size("c"), "k");
        total(n) = 1_r;
        total(n) = x(k, n) / total(n);
        y(c, n) = total(n);
    }
    void schedule(const Cpu &) override {
        Var u{"u"};
        total.update().rfactor(k, u);  // <- not_associative
    }
};

struct BadSample : Row {
    BadSample() : Row("bad_sample") {
        samples = {"n=2 q=5"};  // <- bad_sample
    }
};

struct TypoInVariant : Row {
    TypoInVariant() : Row("typo_in_variant") {
        variants = {{"direct", "n>=2*lane"}, {"", ""}};  // <- typo_in_variant
    }
};

struct VariantOfTwo : Row {
    VariantOfTwo() : Row("variant_of_two") {
        add({"direct", Dim("n") > 8});
        add({"every", DimExpr::always()});  // <- variant_of_two
        add_for_gpu({"every", DimExpr::always()});
    }
};

struct LastHasACondition : Row {
    LastHasACondition() : Row("last_has_a_condition") {
        add_for_gpu({"columns", Dim("n") > 8});  // <- last_has_a_condition
    }
};

struct TypoInCondition : Row {
    TypoInCondition() : Row("typo_in_condition") {
        conditions = {"columns>0"};  // <- typo_in_condition
    }
};

struct TypoInLet : Row {
    TypoInLet() : Row("typo_in_let") {
        let("half", "q/2");  // <- typo_in_let
    }
};

struct UnreadScalar : Row {
    UnreadScalar() : Row("unread_scalar") {}
    Expr alpha = scalar("alpha", 1.0);  // <- unread_scalar
};

struct Divided : Row {
    Divided() : Row("divided") {}
};
struct DividedDz : Row {
    DividedDz() : Row("divided_dz") { internal = true; }  // <- divided_dz
};

struct PlaceFromItself : Row {
    PlaceFromItself() : Row("place_from_itself") {}
    Func pair{"pair"};
    void algorithm() override {
        k = RDom(0, size("c"), "k");
        pair(c, n) = Halide::Tuple(0, 0_r);
        const Expr index = clamp(pair(k, n)[0], 0, size("c") - 1);
        pair(index, n) = Halide::Tuple(k, x(k, n));  // <- place_from_itself
        y(c, n) = pair(c, n)[1];
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<NoSuchLoop>();
    ops.add<UsedElsewhere>();
    ops.add<StoredInside>();
    ops.add<RacingSum>();
    ops.add<AnyExtent>();
    ops.add<NoSuchVar>();
    ops.add<Inlined>();
    ops.add<TwoNames>();
    ops.add<TooFewArguments>();
    ops.add<NeverDefined>();
    ops.add<NoOutput>();
    ops.add<UpdatedOutput>();
    ops.add<DefinedTwice>();
    ops.add<NoSuchSize>();
    ops.add<RoundedConstant>();
    ops.add<TooLarge>();
    ops.add<RealIndex>();
    ops.add<NoCondition>();
    ops.add<HalfAnInteger>();
    ops.add<UnreadInput>();
    ops.add<NotAssociative>();
    ops.add<BadSample>();
    ops.add<TypoInVariant>();
    ops.add<VariantOfTwo>();
    ops.add<LastHasACondition>();
    ops.add<TypoInCondition>();
    ops.add<TypoInLet>();
    ops.add<UnreadScalar>();
    ops.add<Divided>();
    ops.add<DividedDz>();
    ops.add<PlaceFromItself>();
}

}  // namespace halyard
