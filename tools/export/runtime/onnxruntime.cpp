// The ops as custom ops of ONNX Runtime 1.16 and later. It needs none of its headers: the functions
// are reached through the table of API version 10, which later versions only extend.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <stdexcept>

#include "registry/base/error.h"
#include "registry/dispatch/tensor_list.h"
#include "tools/export/dtype_choice.h"
#include "tools/export/runtime/host.h"

namespace halyard {
namespace {

constexpr uint32_t api_version = 10;

// The table holds pointers to functions of many types.
using Api = const void *const *;
struct ApiBase {
    Api (*get_api)(uint32_t version);
    const char *(*version_text)();
};
// Opaque types of ONNX Runtime. A null status is success.
struct Status;
struct SessionOptions;
struct Domain;
struct Value;
struct TensorInfo;
struct KernelInfo;
struct KernelContext;

// A function at a position of the table.
template<size_t position, class F> struct Function;
template<size_t position, class R, class... Args> struct Function<position, R(Args...)> {
    static R call(Api api, Args... args) {
        R (*function)(Args...);
        std::memcpy(&function, &api[position], sizeof function);
        return function(args...);
    }
};

using CreateStatus = Function<0, Status *(int, const char *)>;
using GetErrorMessage = Function<2, const char *(const Status *)>;
using CreateCustomOpDomain = Function<26, Status *(const char *, Domain **)>;
using CustomOpDomainAdd = Function<27, Status *(Domain *, const void *)>;
using AddCustomOpDomain = Function<28, Status *(SessionOptions *, Domain *)>;
using GetTensorMutableData = Function<51, Status *(Value *, void **)>;
using GetTensorElementType = Function<60, Status *(const TensorInfo *, int *)>;
using GetDimensionsCount = Function<61, Status *(const TensorInfo *, size_t *)>;
using GetDimensions = Function<62, Status *(const TensorInfo *, int64_t *, size_t)>;
using GetTensorTypeAndShape = Function<65, Status *(const Value *, TensorInfo **)>;
using GetFloat = Function<85, Status *(const KernelInfo *, const char *, float *)>;
using GetInteger = Function<86, Status *(const KernelInfo *, const char *, int64_t *)>;
using GetString = Function<87, Status *(const KernelInfo *, const char *, char *, size_t *)>;
using GetInput = Function<90, Status *(const KernelContext *, size_t, const Value **)>;
using GetOutput =
    Function<91, Status *(KernelContext *, size_t, const int64_t *, size_t, Value **)>;
using ReleaseStatus = Function<93, void(Status *)>;
using ReleaseTensorInfo = Function<99, void(TensorInfo *)>;
using GetIntegers = Function<163, Status *(const KernelInfo *, const char *, int64_t *, size_t *)>;

// The numbers of ONNXTensorElementDataType.
constexpr std::pair<DType, int> element_types[] = {
    {DType::f32, 1},  {DType::u8, 2},      {DType::i8, 3},   {DType::i32, 6},   {DType::i64, 7},
    {DType::f16, 10}, {DType::boolean, 9}, {DType::f64, 11}, {DType::bf16, 16},
};
static_assert(std::size(element_types) == dtype_count);

int element_type(DType t) {
    for (const auto &[dtype, number] : element_types)
        if (dtype == t) return number;
    return 0;
}

// Throws std::runtime_error with the text of a status, which it releases.
void require(Api api, Status *status) {
    if (!status) return;
    const std::string text = GetErrorMessage::call(api, status);
    ReleaseStatus::call(api, status);
    throw std::runtime_error(text);
}

bool succeeded(Api api, Status *status) {
    if (status) ReleaseStatus::call(api, status);
    return !status;
}

// A custom op: an op with one of its sets of dtypes. ONNX Runtime reads the functions, whose order
// is its own; custom ops of one name are told apart by the dtypes of their inputs.
struct CustomOp {
    uint32_t version = api_version;
    void *(*create_kernel)(const CustomOp *, Api, const KernelInfo *);
    const char *(*name)(const CustomOp *);
    const char *(*provider)(const CustomOp *);
    int (*input_type)(const CustomOp *, size_t);
    size_t (*input_count)(const CustomOp *);
    int (*output_type)(const CustomOp *, size_t);
    size_t (*output_count)(const CustomOp *);
    void (*compute)(void *, KernelContext *);
    void (*destroy_kernel)(void *);
    int (*input_is_optional)(const CustomOp *, size_t);
    int (*output_is_optional)(const CustomOp *, size_t);

    const RegisteredOp *op;
    host::CallDTypes dtypes;
    std::string text;       // the name, which ONNX Runtime keeps as a pointer
    std::string out_dtype;  // the value of attribute `dtype`, if it chooses the custom op; else ""
};

// Reads the attributes of a node.
class NodeAttributes {
public:
    NodeAttributes(Api api, const KernelInfo *info, const CustomOp &custom)
        : api_(api), info_(info), custom_(custom) {}

    Attrs read() const {
        const OpRecord &record = custom_.op->record;
        std::vector<std::pair<std::string, AttrValue>> given;
        for (const AttrSpec &a : record.attrs) {
            if (a.name == "dtype" && !custom_.out_dtype.empty())
                given.emplace_back(a.name, custom_.out_dtype);
            else if (!append(a, given))
                require_absent(a);
        }
        return Attrs(record, given);
    }

private:
    using Given = std::vector<std::pair<std::string, AttrValue>>;

    bool append(const AttrSpec &a, Given &given) const {
        switch (a.kind) {
        case AttrKind::integer:
        case AttrKind::boolean: return append_integer(a, given);
        case AttrKind::real: return append_real(a, given);
        case AttrKind::ints: return append_integers(a, given);
        case AttrKind::choice:
        case AttrKind::dtype:
        case AttrKind::text: break;
        }
        return append_string(a, given);
    }
    bool append_integer(const AttrSpec &a, Given &given) const {
        int64_t value = 0;
        if (!succeeded(api_, GetInteger::call(api_, info_, a.name.c_str(), &value))) return false;
        given.emplace_back(a.name, value);
        return true;
    }
    // ONNX's FLOAT has 24 bits. A STRING gives all of a double's.
    bool append_real(const AttrSpec &a, Given &given) const {
        float value = 0;
        if (succeeded(api_, GetFloat::call(api_, info_, a.name.c_str(), &value))) {
            given.emplace_back(a.name, double(value));
            return true;
        }
        Given text;
        if (!append_string(a, text)) return false;
        const std::string &number = std::get<std::string>(text[0].second.v);
        char *end = nullptr;
        given.emplace_back(a.name, std::strtod(number.c_str(), &end));
        if (!number.empty() && !*end) return true;
        throw AttrError(custom_.op->record.name,
                        a.name + " is '" + number + "', expected a number");
    }
    bool append_integers(const AttrSpec &a, Given &given) const {
        size_t size = 0;
        const char *const name = a.name.c_str();
        if (!succeeded(api_, GetIntegers::call(api_, info_, name, nullptr, &size))) return false;
        Ints values(size);
        // An empty vector's address may be null, which asks for the size again.
        if (size > 0) require(api_, GetIntegers::call(api_, info_, name, values.data(), &size));
        given.emplace_back(a.name, values);
        return true;
    }
    bool append_string(const AttrSpec &a, Given &given) const {
        size_t size = 0;
        const char *const name = a.name.c_str();
        if (!succeeded(api_, GetString::call(api_, info_, name, nullptr, &size))) return false;
        std::string value(size, 0);
        if (size > 0) require(api_, GetString::call(api_, info_, name, value.data(), &size));
        given.emplace_back(a.name, value.c_str());  // without the zero at its end
        return true;
    }
    // Throws AttrError if the node has the attribute with a value of another type: the function of
    // its own type fails alike for that and for no attribute.
    void require_absent(const AttrSpec &a) const {
        Given other;
        const char *const expected = a.kind == AttrKind::real   ? "FLOAT or STRING"
                                     : a.kind == AttrKind::ints ? "INTS"
                                     : a.kind == AttrKind::integer || a.kind == AttrKind::boolean
                                         ? "INT"
                                         : "STRING";
        if (!append_integer(a, other) && !append_real(a, other) && !append_string(a, other) &&
            !(append_integers(a, other) && !std::get<Ints>(other[0].second.v).empty()))
            return;
        throw AttrError(custom_.op->record.name,
                        "attribute " + a.name + " has another type, expected " + expected);
    }

    Api api_;
    const KernelInfo *info_;
    const CustomOp &custom_;
};

// A node of a session.
class Kernel {
public:
    Kernel(Api api, const CustomOp &custom, Attrs attrs)
        : api_(api), custom_(custom), attrs_(std::move(attrs)) {}

    void compute(KernelContext *context) const {
        TensorList in;
        for (size_t k = 0; k < custom_.dtypes.inputs.size(); k++)
            in.push_back(input(context, k));
        Outputs outputs(*this, context);
        host::run_to(*custom_.op, in, attrs_, outputs);
    }

private:
    class Outputs final : public OutputAllocator {
    public:
        Outputs(const Kernel &kernel, KernelContext *context)
            : kernel_(kernel), context_(context) {}
        Tensor allocate(size_t k, const Shape &shape, DType dtype) override {
            return kernel_.output(context_, k, shape, dtype);
        }

    private:
        const Kernel &kernel_;
        KernelContext *context_;
    };

    Tensor input(KernelContext *context, size_t k) const {
        const Value *value = nullptr;
        require(api_, GetInput::call(api_, context, k, &value));
        const std::string &name = custom_.op->signature.inputs[k].name;
        if (!value) throw ShapeError(custom_.op->record.name, name + " is missing");
        TensorInfo *info = nullptr;
        require(api_, GetTensorTypeAndShape::call(api_, value, &info));
        size_t rank = 0;
        int type = 0;
        int64_t extents[max_rank] = {};
        Status *status = GetTensorElementType::call(api_, info, &type);
        if (!status) status = GetDimensionsCount::call(api_, info, &rank);
        if (!status && rank <= max_rank) status = GetDimensions::call(api_, info, extents, rank);
        ReleaseTensorInfo::call(api_, info);
        require(api_, status);
        if (rank > max_rank) {
            throw ShapeError(custom_.op->record.name,
                             name + " has rank " + std::to_string(rank) + ", expected 0 to 8");
        }
        if (type != element_type(custom_.dtypes.inputs[k])) {
            throw DTypeError(custom_.op->record.name, name + " has ONNX's element type " +
                                                          std::to_string(type) + ", expected " +
                                                          name_of(custom_.dtypes.inputs[k]));
        }
        const Shape shape(extents, extents + rank);
        return borrow(const_cast<Value *>(value), shape, custom_.dtypes.inputs[k]);
    }

    Tensor output(KernelContext *context, size_t k, const Shape &shape, DType dtype) const {
        if (dtype != custom_.dtypes.outputs[k]) {
            throw DTypeError(custom_.op->record.name, custom_.op->signature.outputs[k].name +
                                                          " is " + name_of(dtype) +
                                                          ", but this custom op gives " +
                                                          name_of(custom_.dtypes.outputs[k]));
        }
        Value *value = nullptr;
        require(api_, GetOutput::call(api_, context, k, shape.begin(), shape.size(), &value));
        // A result that the model doesn't use has no value, and is computed all the same.
        return value ? borrow(value, shape, dtype) : Tensor::empty(shape, dtype);
    }

    Tensor borrow(Value *value, const Shape &shape, DType dtype) const {
        void *data = nullptr;
        require(api_, GetTensorMutableData::call(api_, value, &data));
        return Tensor::borrow(data, shape, dense_strides(shape), dtype);
    }

    Api api_;
    const CustomOp &custom_;
    Attrs attrs_;
};

Api loaded_api = nullptr;

// Runs `work`, through which no exception passes but std::runtime_error. It is defined in the C++
// library that ONNX Runtime uses too, which catches it and makes it the status of the session or
// run: functions of version 10 return none.
template<class Work> auto rethrowing(const Work &work) {
    try {
        return work();
    } catch (const Error &e) {
        throw std::runtime_error(e.what());
    }
}

void *create_kernel(const CustomOp *custom, Api, const KernelInfo *info) {
    return rethrowing([&]() -> void * {
        return new Kernel(loaded_api, *custom, NodeAttributes(loaded_api, info, *custom).read());
    });
}

void compute(void *kernel, KernelContext *context) {
    rethrowing([&] { static_cast<const Kernel *>(kernel)->compute(context); });
}

void destroy_kernel(void *kernel) {
    delete static_cast<Kernel *>(kernel);
}

int required(const CustomOp *, size_t) {
    return 0;
}

CustomOp custom_op(const RegisteredOp &op, const std::string &set) {
    CustomOp c = {};
    c.version = api_version;
    c.create_kernel = create_kernel;
    c.name = [](const CustomOp *self) { return self->text.c_str(); };
    c.provider = [](const CustomOp *) -> const char * { return nullptr; };  // the CPU
    c.input_type = [](const CustomOp *self, size_t k) {
        return element_type(self->dtypes.inputs[k]);
    };
    c.input_count = [](const CustomOp *self) { return self->dtypes.inputs.size(); };
    c.output_type = [](const CustomOp *self, size_t k) {
        return element_type(self->dtypes.outputs[k]);
    };
    c.output_count = [](const CustomOp *self) { return self->dtypes.outputs.size(); };
    c.compute = compute;
    c.destroy_kernel = destroy_kernel;
    c.input_is_optional = required;
    c.output_is_optional = required;
    c.op = &op;
    c.dtypes = host::dtypes_of(op, set);
    c.text = op.record.name;
    if (chooses_dtype(op)) {
        c.out_dtype = set.substr(set.rfind(',') + 1);
        c.text += "_" + c.out_dtype;
    }
    return c;
}

// Returns the domain with all ops, which sessions share and nothing releases.
Domain *domain() {
    static Domain *const all = [] {
        Domain *made = nullptr;
        require(loaded_api,
                CreateCustomOpDomain::call(loaded_api, host::library_name().c_str(), &made));
        auto &customs = *new std::deque<CustomOp>;
        for (const RegisteredOp *op : host::ops().ops()) {
            for (const std::string &set : op->record.dtypes) {
                customs.push_back(custom_op(*op, set));
                require(loaded_api, CustomOpDomainAdd::call(loaded_api, made, &customs.back()));
            }
        }
        return made;
    }();
    return all;
}

// Versions before 1.16 end the process when two custom ops of one name differ in their dtypes.
bool is_too_old(const ApiBase &host) {
    int major = 0, minor = 0;
    const bool is_known = std::sscanf(host.version_text(), "%d.%d", &major, &minor) == 2;
    return !host.get_api(api_version) || !is_known || major < 1 || (major == 1 && minor < 16);
}

Status *failure(Api api, const std::string &text) {
    constexpr int fail = 1;
    return CreateStatus::call(api, fail, text.c_str());
}

}  // namespace
}  // namespace halyard

using namespace halyard;

// ONNX Runtime calls this function when it registers the library with a session's options.
extern "C" [[gnu::visibility("default")]] void *RegisterCustomOps(void *options, const void *base) {
    const auto &host = *static_cast<const ApiBase *>(base);
    if (is_too_old(host)) {
        const Api first = host.get_api(1);
        if (!first) return nullptr;
        return failure(first, "[" + host::library_name() + "] needs ONNX Runtime 1.16 or later, " +
                                  "this is " + host.version_text());
    }
    const Api api = host.get_api(api_version);
    loaded_api = api;
    try {
        return AddCustomOpDomain::call(api, static_cast<SessionOptions *>(options), domain());
    } catch (const std::exception &e) {
        return failure(api, e.what());
    }
}
