// Runs small PTX texts on the machine.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "gpu/machine/machine.h"

namespace halyard::ptx {

inline const std::string registers = R"(
    .reg .pred %p<8>;
    .reg .b16 %rs<8>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
    .reg .f32 %f<16>;
    .reg .f64 %fd<16>;
)";

// Returns a module with the entry "kernel". Its parameters p0 to p3 are 64 bits long.
inline std::string module_of(const std::string &body, const std::string &variables = "") {
    return ".version 7.0\n.target sm_80\n.address_size 64\n" + variables +
           ".visible .entry kernel(.param .u64 p0, .param .u64 p1, .param .u64 p2, "
           ".param .u64 p3)\n{" +
           registers + body + "    ret;\n}\n";
}

// A machine with one kernel, and buffers as its parameters.
class KernelRun {
public:
    explicit KernelRun(const std::string &text) : module(text, machine.memory) {}

    template<class T> uint64_t add(const std::vector<T> &values) {
        const uint64_t address = add_unwritten(values.size() * sizeof(T));
        Buffer &b = *machine.memory.near(address);
        std::memcpy(b.data.data(), values.data(), b.bytes);
        b.shadow.write_from_host(0, b.bytes);
        return address;
    }
    uint64_t add_unwritten(uint64_t bytes) {
        const uint64_t address = machine.memory.allocate(bytes);
        add_value(address);
        return address;
    }
    void add_value(uint64_t value) {
        for (size_t k = 0; k < 8; k++)
            arguments.push_back(uint8_t(value >> 8 * k));
    }

    std::vector<Finding> launch(const LaunchShape &shape) {
        std::vector<uint8_t> all = arguments;
        const Program &p = module.program("kernel");
        all.resize(std::max<size_t>(all.size(), p.entry->parameter_bytes));
        return machine.launch(p, shape, all);
    }

    template<class T> std::vector<T> values(uint64_t address) {
        Buffer &b = *machine.memory.near(address);
        std::vector<T> all(b.bytes / sizeof(T));
        std::memcpy(all.data(), b.data.data(), b.bytes);
        return all;
    }

    Machine machine;
    LoadedModule module;
    std::vector<uint8_t> arguments;
};

// Returns the error of decoding a kernel with this body; "" if there is none.
inline std::string refusal(const std::string &body) {
    try {
        KernelRun run(module_of(body));
        run.module.program("kernel");
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

}  // namespace halyard::ptx
