// How the buffers of a program become TIK's tensors. TIK places them itself, and gives back what a
// scope declared where it ends, so
//   - a ring of slots that a loop turns is declared in that loop, whose thread_num does the
//   turning; another ring is one larger tensor;
//   - buffers of one scope that have the same memory at different times are one tensor;
//   - what isn't a ring is declared around a loop with thread_num: inside, there would be one for
//   each thread.
#pragma once
#include <map>
#include <set>

#include "ascend/program/ir.h"

namespace halyard::dv {

class TikTensors {
public:
    explicit TikTensors(const Program &p);
    // The program, with the rings declared where they are turned; the loops and buffers below are
    // its.
    const Program &program() const { return program_; }

    struct Tensor {
        std::string name;
        Scope scope = Scope::ub;
        DType dtype = DType::f16;
        int64_t size = 0;  // in elements
    };
    int threads(const For &f) const;                 // its thread_num
    std::vector<Tensor> around(const For &f) const;  // what is declared in a scope around it
    // or nullptr: with another buffer, or around a loop
    const Tensor *declared_at(const Alloc &a) const;

    struct Home {  // the tensor that a buffer lies in, and where
        std::string tensor;
        DType dtype = DType::f16;
        int64_t bytes = 0;
    };
    const Home &home(const std::string &buffer) const { return homes_.at(buffer); }
    bool turned(const std::string &buffer) const { return turned_.count(buffer) != 0; }

private:
    using Buffers = std::vector<const Buffer *>;
    void sink_rings(Body &nodes);
    bool turns(const For &f, const Buffer &b) const;
    void plan(const Body &nodes);
    std::vector<Tensor> share(const Buffers &buffers);

    Program program_;
    std::set<std::string> turned_;
    std::map<std::string, Home> homes_;
    std::map<std::string, Tensor> declared_;  // by the buffer whose Alloc it stands at
    std::map<const For *, std::vector<Tensor>> around_;
};

}  // namespace halyard::dv
