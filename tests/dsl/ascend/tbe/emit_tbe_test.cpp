// Runs emitted TBE under a stand-in for te.lang.cce that computes: it keeps the op's contract.
#include <gtest/gtest.h>

#include <cstring>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/ascend/tbe/emit_tbe.h"
#include "primitives/library.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tests/ascend/emitted.h"
#include "tools/ascend/device.h"

namespace halyard::check {
namespace {

using dv::test::Folder;

OpPtr op_of(const std::string &name) {
    list_kit_ops();
    return op_table().make(name);
}

Plan plan_of(const Case &c) {
    const std::vector<OperandMeta> metas = metas_of(c.in);
    const Force force(host_isa(), "", "ascend");
    return make_plan(c.registered, metas, c.attrs);
}

dv::PythonFiles emitted(const Case &c, const FixedCall &call) {
    Instance i;
    i.backend = "ascend";
    i.dtypes = c.dtypes;
    i.scheduled = false;
    i.call = std::make_shared<FixedCall>(call);
    return ascend::emit_tbe(Kernel(op_of(c.registered.record.name), i));
}

// Runs an emitted kernel on these tensors and compares its results with the reference. `numbers`
// are its scalars: "epsilon=1e-3".
void check_run(const Op &op, Case &c, const dv::PythonFiles &files, const std::vector<Tensor> &in,
               const std::string &numbers) {
    SCOPED_TRACE(files.kernel);
    const Folder folder("tbe");
    folder.write("haly_" + op.name + ".py", files.kernel);
    folder.write("haly_" + op.name + "_info.py", files.registration);
    for (size_t k = 0; k < in.size(); k++) {
        folder.write(op.sig.inputs[k].name + ".bin",
                     std::string((const char *)in[k].raw(), in[k].bytes()));
    }
    int status = 0;
    const std::string reported = dv::test::output_of(
        dv::test::shims + "run_tbe.py " + folder.path() + " " + op.name + " " + numbers, &status);
    ASSERT_EQ(status, 0) << reported;
    c.solve(op);
    for (size_t k = 0; k < op.sig.outputs.size(); k++) {
        const std::string &output = op.sig.outputs[k].name;
        std::ifstream file(folder.path() + "/result_" + std::to_string(k) + ".bin",
                           std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        const Tensor got = Tensor::empty(c.problem(output).shape, c.out_dtypes[k]);
        ASSERT_EQ(bytes.size(), got.bytes());
        std::memcpy(got.raw(), bytes.data(), bytes.size());
        EXPECT_EQ(compare(op, output, got, c.problem), "");
    }
}

struct Emitted {
    const char *op, *sample, *dtypes = "f16", *numbers = "";
};
class Tbe : public testing::TestWithParam<Emitted> {};

TEST_P(Tbe, KeepsTheContract) {
    const Emitted &e = GetParam();
    const OpPtr op = op_of(e.op);
    Case c(*op, e.sample, e.dtypes, 5);
    const Plan plan = plan_of(c);
    std::vector<Tensor> in;
    for (size_t k = 0; k < c.in.size(); k++) {
        in.push_back(plan.inputs[k].copy_order.empty() ? c.in[k]
                                                       : gathered(c.in[k], plan.inputs[k]));
    }
    check_run(*op, c, emitted(c, ascend::call_of(plan)), in, e.numbers);
}
INSTANTIATE_TEST_SUITE_P(
    Ops, Tbe,
    testing::Values(Emitted{"add", "d0=2 d1=3 d2=7"}, Emitted{"div", "d0=1 d1=5 d2=7", "f32"},
                    Emitted{"maximum", "d0=1 d1=5 d2=7"}, Emitted{"relu", "d0=1 d1=1 d2=31"},
                    Emitted{"gelu", "d0=1 d1=2 d2=31", "f32"},
                    Emitted{"sigmoid", "d0=1 d1=2 d2=31"},
                    Emitted{"tanh", "d0=1 d1=2 d2=31", "f32"}, Emitted{"softmax", "n=3 c=37"},
                    Emitted{"log_softmax", "n=4 c=19", "f32"}, Emitted{"softmax_dx", "n=3 c=21"},
                    Emitted{"less_equal", "d0=1 d1=5 d2=7", "f32"},
                    Emitted{"logical_xor", "d0=1 d1=5 d2=7"},
                    Emitted{"masked_fill", "d0=1 d1=5 d2=7"},
                    Emitted{"layer_norm_kernel", "n=3 c=37", "f32", "epsilon=1e-6"},
                    Emitted{"matmul", "g=1 m=17 k=33 n=9"}),
    [](const auto &p) { return std::string(p.param.op) + "_" + std::to_string(p.index); });

// Transposed matrices are passed with a flag.
TEST(TbeProducts, PassTransposedOperands) {
    const OpPtr op = op_of("matmul");
    Case c(*op, "g=1 m=6 k=21 n=10 transpose_a=1 transpose_b=1", "f16", 5);
    FixedCall call = ascend::call_of(plan_of(c));
    for (auto &layout : call.inputs) {
        layout[0].stride = layout[1].extent;
        layout[1].stride = 1;
    }
    const dv::PythonFiles files = emitted(c, call);
    EXPECT_NE(files.kernel.find("te.lang.cce.matmul(a, b, True, True"), std::string::npos)
        << files.kernel;
    check_run(*op, c, files, c.in, "");
}

// The message of an unsupported algorithm names the op, the stage and the reason.
TEST(TbeErrors, RejectsUnsupportedAlgorithms) {
    const auto message = [](const char *op, const char *sample, const char *dtypes) -> std::string {
        try {
            const Case c(*op_of(op), sample, dtypes, 5);
            emitted(c, ascend::call_of(plan_of(c)));
        } catch (const AttrError &e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message("max_pool2d", op_of("max_pool2d")->samples[0].c_str(), "f32")
                  .find("[max_pool2d] E-EMIT: stage "),
              0u);
    EXPECT_NE(message("argmax", "n=2 c=5", "f32").find("TBE can't say"), std::string::npos);
    EXPECT_EQ(message("matmul", "g=3 m=4 k=5 n=6", "f16"),
              "[matmul] E-EMIT: stage sum: TBE can't say a product that isn't of two matrices");
}

}  // namespace
}  // namespace halyard::check
