// TikTensors: maps the buffers of a program to TIK's tensors. TIK places tensors itself, and frees
// those of a scope at its end. Therefore
//   - a ring of slots that the iterations of a loop alternate is declared in that loop, which has a
//     thread_num; another ring is one larger tensor;
//   - buffers of one scope that have the same memory at different times are one tensor;
//   - other buffers are declared outside of a loop with thread_num, inside of which each thread
//   would have
//     its own.
#pragma once
#include <map>
#include <set>

#include "ascend/program/ir.h"

namespace halyard::dv {

class TikTensors {
public:
    explicit TikTensors(const Program &p);
    // Returns the program with its rings declared in their loops. The loops and buffers below are
    // those of this program.
    const Program &program() const { return program_; }

    struct Tensor {
        std::string name;
        Scope scope = Scope::ub;
        DType dtype = DType::f16;
        int64_t size = 0;  // in elements
    };
    int threads(const For &f) const;  // the loop's thread_num
    std::vector<Tensor> around(
        const For &f) const;  // the tensors declared in a scope around the loop
    // Returns the tensor to declare at an Alloc, or nullptr if it is declared elsewhere.
    const Tensor *declared_at(const Alloc &a) const;

    struct Home {  // the tensor that contains a buffer, and the byte at which it begins
        std::string tensor;
        DType dtype = DType::f16;
        int64_t bytes = 0;
    };
    const Home &home(const std::string &buffer) const { return homes_.at(buffer); }
    // Returns true if the iterations of a loop alternate the buffer's slots.
    bool alternates(const std::string &buffer) const { return alternating_.count(buffer) != 0; }

private:
    using Buffers = std::vector<const Buffer *>;
    void sink_rings(Body &nodes);
    bool is_ring_of(const For &f, const Buffer &b) const;
    void plan(const Body &nodes);
    std::vector<Tensor> share(const Buffers &buffers);

    Program program_;
    std::set<std::string> alternating_;
    std::map<std::string, Home> homes_;
    std::map<std::string, Tensor> declared_;  // by the buffer at whose Alloc it is declared
    std::map<const For *, std::vector<Tensor>> around_;
};

}  // namespace halyard::dv
