#include "dsl/c99/function.h"

#include "dsl/c99/body.h"
#include "dsl/diagnostic.h"
#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

using namespace Halide;
using namespace Halide::Internal;

// Returns the parameters as text, and declares their names.
std::string parameters(FunctionContext &c, const Op &op, const std::vector<LoweredArgument> &args) {
    std::string text;
    size_t input = 0, output = 0;
    for (const LoweredArgument &a : args) {
        if (!a.is_buffer()) continue;
        const TensorSpec &t = a.is_output() ? op.sig.outputs[output++] : op.sig.inputs[input++];
        text += text.empty() ? "" : ", ";
        text += a.is_output() ? "" : "const ";
        text += type_name(a.type) + " *" + c.names.declare(a.name, t.name);
    }
    return text;
}

}  // namespace

Function function_of(Kernel &kernel, const std::string &name,
                     const std::map<std::string, double> &reals, int64_t arena_begin) {
    const Op &op = *kernel.op;
    try {
        const Module module = kernel.pipeline.compile_to_module(kernel.arguments(), name,
                                                                kernel.target);
        for (const LoweredFunc &f : module.functions()) {
            if (f.name != name) continue;
            FunctionContext context;
            context.op = op.name;
            context.reals = reals;
            const std::string head = "(" + parameters(context, op, f.args) + ")";
            const Body body = body_of(context, lower_intrinsics(f.body), arena_begin);
            std::string unread;  // compilers warn of parameters that aren't read
            for (const LoweredArgument &a : f.args) {
                if (!a.is_buffer()) continue;
                const std::string &parameter = context.names.declared(a.name);
                if (!context.names.is_read(parameter)) unread += "    (void)" + parameter + ";\n";
            }
            return {head, " {\n" + unread + body.text + "}\n", body.arena_bytes, context.helpers};
        }
    } catch (const Halide::Error &e) {
        throw diagnostic(op, e, kernel.directives);
    }
    throw DispatchError(op.name, "no C99 function: Halide made none");
}

}  // namespace halyard::c99
