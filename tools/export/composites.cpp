#include "tools/export/composites.h"

#include <algorithm>
#include <functional>

#include "bench/harness/case.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/host_steps.h"
#include "primitives/library.h"
#include "primitives/running_composite.h"
#include "registry/base/error.h"
#include "registry/tensor/deaf_listener.h"
#include "tools/export/runtime/composed_gradient.h"
#include "tools/export/runtime/composed_shapes.h"

namespace halyard::exporting {
namespace {

[[noreturn]] void refuse(const RegisteredOp &op, const std::string &why) {
    throw DispatchError(op.record.name,
                        "can't be exported: it is composed of other ops, and " + why);
}

// Hears what a call of a composite does.
class Heard : public DeafListener {
public:
    Heard(std::span<const Tensor> inputs, Composed &all) : inputs_(inputs), all_(all) {}

    bool draws = false, sorts = false, writes_inputs = false;

    void called(const RegisteredOp &op, const Attrs &, std::span<const Tensor>,
                std::span<const Tensor> out) override {
        all_.kernels.insert(op.record.name);
        if (const OpRecord *const composite = running_composite())
            all_.composites.insert(composite->name);
        for (const Tensor &t : out)
            wrote(t);
    }
    void copied(const Tensor &to, const Tensor &) override { wrote(to); }
    void ran_on_host(const std::string &name, const HostFunction &, std::span<const Tensor>,
                     std::span<const Tensor>) override {
        sorts |= name == host_steps::FirstInOrder::name || name == host_steps::NthInOrder::name;
    }
    void drew(const RngState &) override { draws = true; }

private:
    void wrote(const Tensor &t) {
        writes_inputs |= std::ranges::any_of(inputs_, [&](const Tensor &x) {
            return x.defined() && x.impl()->storage == t.impl()->storage;
        });
    }
    std::span<const Tensor> inputs_;
    Composed &all_;
};

void for_each_sample(const RegisteredOp &op, const std::vector<std::string> &dtypes,
                     const std::function<void(check::Case &sample)> &f) {
    const OpPtr code = op_table().make(op.record.name);
    if (!code) throw DispatchError(op.record.name, "has no code to take samples from");
    for (const std::string &set : dtypes) {
        for (const std::string &text : code->samples) {
            check::Case sample(*code, text, set, 1);
            f(sample);
        }
    }
}

void check_shapes(const RegisteredOp &op, const check::Case &sample,
                  const std::vector<Tensor> &results) {
    std::vector<host::TensorMeta> in;
    for (const Tensor &t : sample.in)
        in.push_back({t.dtype(), t.shape(), t.strides()});
    const std::string why = "its results' shapes are no formula of its signature: sample '" +
                            sample.sample + "'";
    std::vector<host::TensorMeta> expected;
    try {
        expected = host::infer_composed(op, in, sample.attrs);
    } catch (const Error &e) {
        refuse(op, why + ": " + e.what());
    }
    for (size_t k = 0; k < results.size(); k++) {
        const bool is_as_inferred = results[k].shape() == expected[k].shape &&
                                    results[k].dtype() == expected[k].dtype;
        if (!is_as_inferred) {
            refuse(op, why + " has " + results[k].shape().text() + ", which would be " +
                           expected[k].shape.text());
        }
    }
}

void check_call(const RegisteredOp &op, const Heard &heard) {
    if (heard.sorts) refuse(op, "it sorts on the host");
    if (heard.draws) refuse(op, "it draws random numbers");
    if (heard.writes_inputs) refuse(op, "it writes its inputs");
}

void add_files(Composed &all) {
    for (const std::string &name : all.composites)
        all.files.insert(library().at(name).file);
    for (const std::string &name : all.kernels) {
        for (const TensorSpec &t : library().at(name).signature.inputs) {
            const std::string file = composites().file_of_gradient(name, t.name);
            if (!file.empty()) all.files.insert(file);
        }
    }
}

}  // namespace

void add_composite(const RegisteredOp &op, Composed &all) {
    all.composites.insert(op.record.name);
    for_each_sample(op, op.record.dtypes, [&](const check::Case &sample) {
        Heard heard(sample.in, all);
        std::vector<Tensor> results;
        {
            const ListenerScope listening(&heard);
            results = Primitive(op, sample.attrs).run(sample.in);
        }
        check_call(op, heard);
        check_shapes(op, sample, results);
    });
    add_files(all);
}

std::shared_ptr<const RegisteredOp> composed_gradient_of(const RegisteredOp &op,
                                                         const std::vector<std::string> &inputs,
                                                         Composed &all) {
    auto gradient = std::make_shared<RegisteredOp>();
    gradient->record = composed_gradient_record(op, inputs);
    gradient->signature = Signature(gradient->record.name, gradient->record.signature);
    const bool is_composite = op.record.form == Form::composite;
    all.kernels.insert(op.record.name);
    for_each_sample(op, gradient->record.dtypes, [&](const check::Case &sample) {
        const std::vector<Tensor> results = Primitive(op, sample.attrs).run(sample.in);
        std::vector<Tensor> in = sample.in;
        if (!is_composite) in.insert(in.end(), results.begin(), results.end());
        for (const Tensor &y : results)
            if (is_float(y.dtype())) in.push_back(Tensor::ones(y.shape(), y.dtype()));
        const Attrs attrs(gradient->record, op.record, sample.attrs);
        Heard heard(in, all);
        const ListenerScope listening(&heard);
        run_composed_gradient(op, *gradient, in, attrs);
        check_call(op, heard);
    });
    if (is_composite) all.kernels.erase(op.record.name);
    add_files(all);
    return gradient;
}

}  // namespace halyard::exporting
