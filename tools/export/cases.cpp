#include "tools/export/cases.h"

#include <algorithm>
#include <memory>

#include "registry/base/error.h"

namespace halyard::exporting {
namespace {

constexpr int64_t max_elements = 5000;  // of all tensors of a case that isn't its op's only one

// The file's bytes, in the order and with the types that test.c reads.
class Writer {
public:
    std::string bytes;

    void count(uint32_t n) { append(&n, sizeof n); }
    void text(const std::string &s) {
        count(uint32_t(s.size()));
        bytes += s;
    }
    void numbers(const std::vector<double> &all) {
        append(all.data(), all.size() * sizeof(double));
    }
    void append(const void *data, size_t size) {
        bytes.append(static_cast<const char *>(data), size);
    }
};

// The numbers of DLPack.
uint32_t dlpack_code(DType t) {
    if (t == DType::boolean) return 6;
    if (t == DType::bf16) return 4;
    return is_float(t) ? 2 : t == DType::u8 ? 1 : 0;
}

void write_meta(Writer &to, DType dtype, const Shape &shape) {
    to.count(dlpack_code(dtype));
    to.count(uint32_t(8 * bytes_of(dtype)));
    to.count(uint32_t(shape.rank()));
    for (const int64_t extent : shape)
        to.append(&extent, sizeof extent);
}

// Returns the attributes of a sample as hy_find() takes them: "axis=1 keep_dims=0".
std::string attributes_of(const check::Case &c) {
    std::string s;
    for (const auto &[name, value] : check::parse_sample(c.registered.record, c.sample).attrs)
        s += (s.empty() ? "" : " ") + name + "=" + value;
    // An attribute `dtype` follows the set of dtypes.
    const int dtype = c.attrs.find("dtype");
    if (dtype >= 0 && s.find("dtype=") == std::string::npos) {
        s += std::string(s.empty() ? "" : " ") +
             "dtype=" + name_of(static_cast<DType>(c.attrs.integer(size_t(dtype))));
    }
    return s;
}

void write_case(Writer &to, const Op &op, check::Case &c) {
    c.solve(op);
    to.text(op.name);
    to.text(attributes_of(c));
    to.text(c.dtypes + " '" + c.sample + "'");
    to.count(uint32_t(c.in.size()));
    to.count(uint32_t(c.out_dtypes.size()));
    for (const Tensor &t : c.in) {
        write_meta(to, t.dtype(), t.shape());
        to.append(t.raw(), t.bytes());
    }
    for (size_t k = 0; k < c.out_dtypes.size(); k++) {
        const std::string &name = op.sig.outputs[k].name;
        write_meta(to, c.out_dtypes[k], c.problem.tensors.at(name).shape);
        const check::ExpectedOutput expected = check::expected_output(op, name, c.out_dtypes[k],
                                                                      c.problem);
        to.numbers(expected.values);
        to.numbers(expected.allowed);
    }
}

// Writes the samples of an op in one set of dtypes. Returns their number.
size_t write_samples(Writer &to, const Op &op, const std::string &dtypes) {
    std::vector<std::unique_ptr<check::Case>> cases;
    for (const std::string &sample : op.samples)
        cases.push_back(std::make_unique<check::Case>(op, sample, dtypes, 1));
    std::ranges::stable_sort(cases, {}, [](const auto &c) { return elements_of(*c); });
    size_t written = 0;
    for (const auto &c : cases) {
        if (written > 0 && elements_of(*c) > max_elements) break;
        write_case(to, op, *c);
        written++;
    }
    return written;
}

// Composed gradients have no samples of their own.
bool is_made_for_library(const Selection &selection, const RegisteredOp &op) {
    return std::ranges::any_of(selection.composed,
                               [&](const auto &gradient) { return gradient.get() == &op; });
}

}  // namespace

int64_t elements_of(const check::Case &c) {
    int64_t n = 0;
    for (const auto &[name, tensor] : c.problem.tensors)
        n += tensor.shape.elements();
    return n;
}

Cases cases_of(const Selection &selection) {
    Writer samples;
    size_t count = 0;
    for (const RegisteredOp *registered : selection.ops) {
        if (is_made_for_library(selection, *registered)) continue;
        const OpPtr op = op_table().make(registered->record.name);
        if (!op) throw DispatchError(registered->record.name, "has no code to take samples from");
        for (const std::string &dtypes : dtypes_of(selection, *registered))
            count += write_samples(samples, *op, dtypes);
    }
    Writer all;
    all.count(uint32_t(count));
    return {all.bytes + samples.bytes, count};
}

}  // namespace halyard::exporting
