// Recording: the calls of one compiled kernel with their arguments, as a file. tools/check writes
// it (record.h). A process that contains nothing else repeats the calls (runner.cpp), under
// oclgrind or built with a sanitizer.
#pragma once
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "HalideRuntime.h"

namespace halyard::check {

struct RecordedArgument {
    enum Kind : uint8_t { input, output, scalar } kind = input;
    halide_type_t type = {};
    std::vector<halide_dimension_t> dims;  // innermost first; strides are 0 or positive
    // The bytes from the first element to the last, or a scalar's value. For outputs only their
    // number matters.
    std::vector<char> bytes;
};
using RecordedCall = std::vector<RecordedArgument>;

struct Recording {
    std::string library, symbol;  // the kernel
    bool on_device = false;
    std::vector<RecordedCall> calls;
};

// Reads or writes the recording: archive(x) does either. One function does both, so that they
// agree.
template<class Archive> void archive(Archive &a, Recording &r) {
    a(r.library);
    a(r.symbol);
    a(r.on_device);
    a.list(r.calls, [&](RecordedCall &call) {
        a.list(call, [&](RecordedArgument &argument) {
            a(argument.kind);
            a(argument.type);
            a.list(argument.dims, a);
            a.list(argument.bytes, a);
        });
    });
}

class RecordingWriter {
public:
    explicit RecordingWriter(std::ostream &to) : to_(to) {}
    template<class T> void operator()(const T &value) {
        to_.write(reinterpret_cast<const char *>(&value), sizeof value);
    }
    void operator()(const std::string &text) {
        (*this)(text.size());
        to_.write(text.data(), (std::streamsize)text.size());
    }
    template<class T, class Each> void list(std::vector<T> &all, Each &&each) {
        (*this)(all.size());
        for (T &one : all)
            each(one);
    }

private:
    std::ostream &to_;
};

class RecordingReader {
public:
    explicit RecordingReader(std::istream &from) : from_(from) {}
    template<class T> void operator()(T &value) { from_.read((char *)&value, sizeof value); }
    void operator()(std::string &text) {
        size_t size = 0;
        (*this)(size);
        text.resize(size);
        from_.read(text.data(), (std::streamsize)size);
    }
    template<class T, class Each> void list(std::vector<T> &all, Each &&each) {
        size_t size = 0;
        (*this)(size);
        all.resize(size);
        for (T &one : all)
            each(one);
    }

private:
    std::istream &from_;
};

}  // namespace halyard::check
