#include "ascend/emit/emit_python.h"

#include <cmath>
#include <cstdio>
#include <set>

namespace halyard::dv {

std::string python_type(DType t) {
    switch (t) {
    case DType::f16: return "float16";
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::i8:
    case DType::boolean: return "int8";
    default: return "uint8";
    }
}

std::string python_name(const std::string &name) {
    std::string out = name;
    for (char &c : out)
        if (c == '.' || c == '$') c = '_';
    static const std::set<std::string> taken{
        "t",  "tik", "te",   "tvm", "cce", "and",  "or",     "not",    "in",   "is",
        "if", "for", "else", "as",  "def", "with", "import", "lambda", "pass", "return"};
    return taken.count(out) ? out + "_" : out;
}

std::string python_number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", v);
    std::string s = text;
    if (!std::isfinite(v)) return "float(\"" + s + "\")";
    return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

namespace {

const char *info_type(DType t) {  // MindSpore's names
    switch (t) {
    case DType::f16: return "F16";
    case DType::f32: return "F32";
    case DType::i32: return "I32";
    case DType::i8: return "I8";
    case DType::u8: return "U8";
    case DType::boolean: return "BOOL";
    default: return "BF16";
    }
}

}  // namespace

std::string mindspore_registration(const std::string &name, const std::vector<GmTensor> &tensors,
                                   const std::vector<PythonAttribute> &attributes) {
    const std::string entry = "haly_" + name;
    std::string out =
        "# MindSpore's registration of " + entry +
        ".\nfrom mindspore.ops import DataType, TBERegOp, op_info_register\n\nfrom " + entry +
        " import " + entry + " as build\n\ninfo = TBERegOp(\"" + name +
        "\") \\\n    .fusion_type(\"OPAQUE\") \\\n    .async_flag(False) \\\n    .binfile_name(\"" +
        entry + ".so\") \\\n    .compute_cost(10) \\\n    .kernel_name(\"" + entry +
        "\") \\\n    .partial_flag(True) \\\n";
    for (const PythonAttribute &a : attributes) {
        out += "    .attr(\"" + a.name + "\", \"optional\", \"float\", \"all\", \"" + a.value +
               "\") \\\n";
    }
    std::string names, parameters, types;
    int inputs = 0, outputs = 0;
    for (const GmTensor &t : tensors) {
        if (t.use == GmTensor::workspace) continue;
        const bool in = t.use == GmTensor::in;
        out += std::string("    .") + (in ? "input(" : "output(") +
               std::to_string(in ? inputs++ : outputs++) + ", \"" + t.name +
               "\", False, \"required\", \"all\") \\\n";
        names += python_name(t.name) + ", ";
        parameters += python_name(t.name) + ", ";
        types += (types.empty() ? "DataType." : ", DataType.") + std::string(info_type(t.dtype)) +
                 "_Default";
    }
    for (const PythonAttribute &a : attributes) {
        names += python_name(a.name) + ", ";
        parameters += python_name(a.name) + "=" + a.value + ", ";
    }
    return out + "    .dtype_format(" + types +
           ") \\\n    .get_op_info()\n\n\n@op_info_register(info)\ndef " + entry + "_op(" +
           parameters + "kernel_name=\"" + entry + "\"):\n    return build(" + names +
           "kernel_name=kernel_name)\n";
}

std::string framework_ini(const std::string &name, const std::vector<GmTensor> &tensors) {
    const std::string entry = "haly_" + name;
    std::string out = "[" + name + "]\n";
    int inputs = 0, outputs = 0;
    for (const GmTensor &t : tensors) {
        if (t.use == GmTensor::workspace) continue;
        const std::string key = t.use == GmTensor::in ? "input" + std::to_string(inputs++)
                                                      : "output" + std::to_string(outputs++);
        out += key + ".name=" + t.name + "\n" + key + ".dtype=" + python_type(t.dtype) + "\n" +
               key + ".format=ND\n" + key + ".paramType=required\n";
    }
    return out + "opFile.value=" + entry + "\nopInterface.value=" + entry + "\n";
}

}  // namespace halyard::dv
