#include "tools/ascend/device.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "ascend/simulator/check.h"
#include "ascend/simulator/mutate.h"
#include "dsl/all_ops.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"
#include "tools/fixed_call.h"

namespace halyard::ascend {

namespace {

// Returns the program's variant; "" is the scheduled one.
std::string variant_of(const Plan &p) {
    if (p.simulated) return p.kernel->variant;
    const Force::Choice *force = Force::current();
    return force && force->backend == "ascend" ? force->variant : "";
}

std::string key_of(const Plan &p, const FixedCall &c, const std::string &dtypes,
                   const std::string &variant) {
    std::string key = c.chip + " " + p.op->record.name + " " + dtypes + " " + variant;
    const auto add = [&](int n) { key += " " + std::to_string(n); };
    for (auto *all : {&c.inputs, &c.outputs}) {
        for (auto &layout : *all) {
            key += ",";
            for (auto &d : layout) {
                add(d.extent);
                add(d.stride);
            }
        }
    }
    for (int i : c.integers)
        add(i);
    for (auto &[name, value] : c.dims)
        key += " " + name + "=" + std::to_string(value);
    return key;
}

// Returns how many elements a buffer spans, from the first to the last.
int64_t span_of(const Plan::Buffer &b) {
    return elements_spanned(layout_of(b));
}

bool is_f64(const Plan::Buffer &b) {
    return b.type.code == halide_type_float && b.type.bits == 64;
}

// Copy elements between the host's and the device's form. Tables of f64 are f32 on the device.
void to_device(const Plan::Buffer &b, const void *host, std::vector<uint8_t> &memory) {
    const int64_t elements = span_of(b);
    if (!is_f64(b)) {
        std::memcpy(memory.data(), host, size_t(elements * b.bytes_per_element));
        return;
    }
    float *to = reinterpret_cast<float *>(memory.data());
    for (int64_t i = 0; i < elements; i++)
        to[i] = float(static_cast<const double *>(host)[i]);
}
void to_host(const Plan::Buffer &b, const std::vector<uint8_t> &memory, void *host) {
    const int64_t elements = span_of(b);
    if (!is_f64(b)) {
        std::memcpy(host, memory.data(), size_t(elements * b.bytes_per_element));
        return;
    }
    const float *from = reinterpret_cast<const float *>(memory.data());
    for (int64_t i = 0; i < elements; i++)
        static_cast<double *>(host)[i] = from[i];
}

// Returns true for a call that computes nothing. It never runs, and no program is made for it.
bool is_empty(const Plan &p) {
    const auto nothing = [](const Plan::Output &o) { return o.shape.elements() == 0; };
    return std::all_of(p.outputs.begin(), p.outputs.end(), nothing);
}

// The entry that stands in plans for an op's programs for one chip.
struct Programs : KernelEntry {
    std::string chip;
};

FixedCall call_for(const Plan &p, const std::string &chip) {
    FixedCall c = fixed_call_of(p);
    c.chip = chip;
    return c;
}

// Returns "ascend, ascend310, ascend910 or ascend910b".
std::string names_of_chips() {
    const std::vector<std::string> chips = dv::Profile::names();
    std::string text = "ascend";
    for (size_t k = 0; k < chips.size(); k++)
        text += (k + 1 < chips.size() ? ", " : " or ") + chips[k];
    return text;
}

class Device : public SimulatedDevice {
public:
    Device() { list_all_ops(ops_); }

    void use_chip(const std::string &name) override {
        const std::vector<std::string> chips = dv::Profile::names();
        const std::string chip = name == "ascend" ? FixedCall().chip : name;
        if (std::ranges::find(chips, chip) == chips.end())
            throw DeviceError(name, "no such device, expected cpu, opencl, " + names_of_chips());
        const std::lock_guard lock(mutex_);
        chip_ = chip;
    }
    std::string chip() override {
        const std::lock_guard lock(mutex_);
        return chip_;
    }
    // Returns the chip that the call was planned for.
    std::string chip_of(const Plan &p) {
        return p.simulated ? static_cast<const Programs *>(p.kernel)->chip : chip();
    }

    const KernelEntry &kernel(const RegisteredOp &op, const std::string &dtypes) override {
        const std::lock_guard lock(mutex_);
        const Force::Choice *force = Force::current();
        const std::string variant = force ? force->variant : "";
        Programs &k = kernels_[chip_ + " " + op.record.name + " " + dtypes + " " + variant];
        k.chip = chip_;
        k.op = op.record.name;
        k.backend = "ascend";
        k.dtypes = dtypes;
        k.variant = variant;
        return k;
    }
    std::vector<std::string> handwritten(const Plan &p, const std::string &dtypes) override {
        return is_empty(p) ? std::vector<std::string>() : made(p, dtypes).handwritten;
    }
    std::string rejection(const Plan &p, const std::string &dtypes) override {
        if (is_empty(p)) return "";
        try {
            made(p, dtypes);
        } catch (const Error &e) {
            return e.what();
        }
        return "";
    }
    void run(const Plan &p, void *const *args) override {
        dv::SimOptions options;
        options.timing = options.races = races_;
        simulate(p, p.kernel->dtypes, args, options);
    }
    void look_for_races(bool look) override { races_ = look; }

    std::vector<std::string> faults(const Plan &p, const std::string &dtypes) override {
        const std::vector<dv::Program> &programs = made(p, dtypes).lowered.programs;
        std::vector<std::string> all;
        for (size_t k = 0; k < programs.size(); k++) {
            for (auto &fault : dv::faults_of(programs[k]))
                all.push_back(fault + of_program(k));
        }
        return all;
    }
    void plant(const std::string &fault) override {
        fault_ = fault;
        made_.clear();
    }

    const Compiled &made(const Plan &p, const std::string &dtypes) {
        if (is_empty(p)) {
            throw DispatchError(p.op->record.name,
                                "no Ascend program: no output of the call has elements");
        }
        auto call = std::make_shared<FixedCall>(call_for(p, chip_of(p)));
        const std::string &name = p.op->record.name;
        const std::string variant = variant_of(p);
        const std::string key = key_of(p, *call, dtypes, variant);
        const std::lock_guard lock(mutex_);
        Made &m = made_[key];
        if (!m.compiled && m.refused.empty()) {
            Instance i;
            i.backend = "ascend";
            i.dtypes = dtypes;
            i.variant = variant;
            i.call = call;
            // The kit's ops, and those of libraries that a tool has opened.
            const OpTable &ops = ops_.make(name) ? ops_ : op_table();
            try {
                if (!ops.make(name))
                    throw DispatchError(name, "no Ascend program: its source isn't in the kit");
                m.compiled = std::make_unique<Compiled>(compile(ops, name, i));
                if (!fault_.empty()) plant_fault(*m.compiled, name);
            } catch (const Error &e) {
                m.refused = e.what();
            }
        }
        if (!m.compiled) throw DispatchError(name, m.refused.substr(m.refused.find("] ") + 2));
        return *m.compiled;
    }

    std::vector<dv::SimResult> simulate(const Plan &p, const std::string &dtypes, void *const *args,
                                        const dv::SimOptions &options) {
        const Lowered &l = made(p, dtypes).lowered;
        const size_t inputs = p.inputs.size();
        const size_t scalars = p.scalars.size();
        std::vector<double> numbers;
        for (size_t k = 0; k < scalars; k++) {
            numbers.push_back(p.scalars[k].attr >= 0
                                  ? *static_cast<const double *>(args[inputs + k])
                                  : p.scalars[k].i);
        }
        dv::Scalars values;
        for (auto &value : l.scalars)
            values.push_back(value(numbers));
        // The device's memory: tensors of whole blocks.
        std::vector<std::vector<uint8_t>> memory;
        std::vector<dv::Binding> gm;
        const auto &tensors = l.programs[0].tensors;
        const auto host = [&](size_t t) {
            return ((const halide_buffer_t *)args[t < inputs ? t : t + scalars])->host;
        };
        const auto buffer = [&](size_t t) -> const Plan::Buffer & {
            return t < inputs ? p.inputs[t] : p.outputs[t - inputs];
        };
        const size_t given = inputs + p.outputs.size();
        for (size_t t = 0; t < tensors.size(); t++) {
            memory.emplace_back(size_t(*tensors[t].size.constant()) * bytes_of(tensors[t].dtype));
            if (t < given) to_device(buffer(t), host(t), memory[t]);
            gm.push_back({memory[t].data(), int64_t(memory[t].size())});
        }
        std::vector<dv::SimResult> results;
        for (const dv::Program &program : l.programs) {
            results.push_back(dv::simulate(program, gm, values, options));
            if (!results.back().ok()) {
                throw DispatchError(p.op->record.name, "its Ascend program is wrong: " +
                                                           dv::to_text(results.back().issues));
            }
        }
        for (size_t t = inputs; t < given; t++)
            to_host(buffer(t), memory[t], host(t));
        return results;
    }

private:
    struct Made {
        std::unique_ptr<Compiled> compiled;
        std::string refused;
    };
    static std::string of_program(size_t k) {
        return k ? " of program " + std::to_string(k + 1) : "";
    }

    // Plants the fault again, in a program that compile() had found faultless.
    void plant_fault(Compiled &c, const std::string &op) const {
        for (size_t k = 0; k < c.lowered.programs.size(); k++) {
            const std::string of = of_program(k);
            if (!fault_.ends_with(of)) continue;
            dv::Program &p = c.lowered.programs[k];
            dv::plant(p, fault_.substr(0, fault_.size() - of.size()));
            const std::vector<dv::Issue> issues = dv::verify(p);
            if (dv::has_errors(issues))
                throw DispatchError(op, "its Ascend program is wrong: " + dv::to_text(issues));
        }
    }

    bool races_ = false;
    std::string chip_ = FixedCall().chip;
    std::string fault_;
    OpTable ops_;
    std::mutex mutex_;
    std::map<std::string, Programs> kernels_;
    std::map<std::string, Made> made_;
};

Device &device() {
    static Device d;
    return d;
}

}  // namespace

FixedCall call_of(const Plan &p) {
    return call_for(p, device().chip_of(p));
}

const Compiled &programs_of(const Plan &p, const std::string &dtypes) {
    return device().made(p, dtypes);
}

std::vector<dv::SimResult> simulate(const Plan &p, const std::string &dtypes, void *const *args,
                                    const dv::SimOptions &options) {
    return device().simulate(p, dtypes, args, options);
}

}  // namespace halyard::ascend

extern "C" halyard::SimulatedDevice *halyard_simulated_device() {
    return &halyard::ascend::device();
}
