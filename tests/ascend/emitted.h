// Shared by tests of emitted files: temporary folders, programs that run the files, and programs to
// emit.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ascend/emit/emit.h"
#include "ascend/program/text.h"
#include "tests/ascend/programs.h"

namespace halyard::dv::test {

// Returns what a command writes to both of its outputs.
inline std::string output_of(const std::string &command, int *status) {
    std::string out;
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof buffer, pipe))
        out.append(buffer, n);
    *status = pclose(pipe);
    return out;
}

class Folder {  // A temporary folder that is removed with the object.
public:
    explicit Folder(const std::string &name)
        : path_(std::filesystem::temp_directory_path() /
                ("halyard_" + name + "_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    void write(const std::string &name, const std::string &text) const {
        std::ofstream(path_ / name) << text;
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

const std::string shims = "python3 -B " HALYARD_SOURCE_DIR "/tests/ascend/shims/";

// Returns the program that an emitted TIK kernel builds, without addresses and flags. Throws
// runtime_error with Python's message if it fails.
inline Program through_tik(const Program &p) {
    const Folder folder("tik");
    const PythonFiles files = emit_tik(p);
    folder.write("haly_" + p.name + ".py", files.kernel);
    folder.write("haly_" + p.name + "_info.py", files.registration);
    int status = 0;
    std::string text = output_of(shims + "run_tik.py " + folder.path() + " " + p.name, &status);
    if (status != 0) throw std::runtime_error(text + files.kernel);
    text.replace(text.find("PROFILE"), 7, p.profile);
    return parse_program(text);
}

// Returns a program's tensors with values in them.
inline Gm filled(const Program &p) {
    Gm gm(p);
    for (size_t t = 0; t < p.tensors.size(); t++) {
        for (size_t i = 0; i < gm.size(t) / bytes_of(p.tensors[t].dtype); i++) {
            const float v = float((i * 7 + t) % 13) / 8 - 0.5f;
            if (p.tensors[t].dtype == DType::f16)
                gm.as<float16>(t)[i] = float16(v);
            else if (p.tensors[t].dtype == DType::f32)
                gm.as<float>(t)[i] = v;
        }
    }
    return gm;
}
inline std::vector<uint8_t> bytes(const Program &p, Gm &gm) {
    std::vector<uint8_t> all;
    for (size_t t = 0; t < p.tensors.size(); t++)
        all.insert(all.end(), gm.as<uint8_t>(t), gm.as<uint8_t>(t) + gm.size(t));
    return all;
}
// Returns the bytes that a program leaves in its tensors.
inline std::vector<uint8_t> bits(const Program &p) {
    Gm gm = filled(p);
    const SimResult r = simulate(p, gm.bindings());
    EXPECT_TRUE(r.ok()) << to_text(r.issues);
    return bytes(p, gm);
}

// Returns a lowered op's program from tests/ascend/goldens.
inline Program golden(const std::string &name) {
    std::ifstream file(HALYARD_SOURCE_DIR "/tests/ascend/goldens/" + name + ".dv");
    return parse_program({std::istreambuf_iterator<char>(file), {}});
}

// Returns a program with something of all that the languages have names for: masks, strides,
// comparisons, conversions, tails and registers.
inline Program mixture() {
    Builder b("mixture", "ascend910");
    const Tensor x = b.input(DType::f16, 1024, "x");
    const Tensor y = b.output(DType::f16, 1024, "y");
    const Tensor z = b.output(DType::f32, 512, "z");
    b.for_range(0, 8, {.block_num = 4}, [&](const Expr &i) {
        const Tensor u = b.tensor(DType::f16, 128, Scope::ub, "u");
        const Tensor v = b.tensor(DType::f16, 128, Scope::ub, "v");
        const Tensor w = b.tensor(DType::f32, 64, Scope::ub, "w");
        const Tensor bits = b.tensor(DType::u8, 32, Scope::ub, "bits");
        b.data_move(u, x[i * 128], 1, 8, 0, 0);
        b.vec_dup(128, v, -1.25, 1, 8);
        b.vec_cmpv(CmpOp::ge, bits, u, v, 1, {});
        b.vec_sel(128, v, bits, u, 0.5, 1, {8, 8, 8});
        b.vec_cmpv(CmpOp::lt, bits, u, v, 1, {8, 8, 0, 1, 1, 0});
        b.vec_sel(128, v, bits, v, u, 1, {8, 8, 0, 1, 1, 0});
        b.vec_mul(VecMask(0x5555, 0xffff0000ffff0000), v, v, v, 1, {8, 8, 8});
        b.vec_div(min(i * 8 + 64, 128), v, u, v, 1, {8, 8, 8, 1, 1, 1});
        b.vec_add(128, v, v, u, 1, {8, 8, 8, 1, 1, 0});
        b.vec_sqrt(16, v, v, 1, {8, 8});
        b.vec_conv(64, Round::none, w, u, 1, 8, 4);
        const Scalar s = b.scalar(DType::f32, "s");
        const Scalar n = b.scalar(DType::i64, "n");
        b.set_as(s, w[3]);
        b.scalar_math(ScalarOp::max, s, s, 0.25);
        b.scalar_math(ScalarOp::div, s, 1.0, s);
        b.scalar_math(ScalarOp::neg, s, s, 0.0);
        b.set_as(n, max(i - 3, 0) % 2);
        b.vec_muls(64, w, w, s, 1, {8, 8});
        b.if_scope(n.expr() == 0, [&] { b.vec_adds(64, w, w, 1.0, 1, {8, 8}); });
        b.else_scope([&] { b.vec_abs(64, w, w, 1, {8, 8}); });
        b.set_value(w[5], s);
        b.data_move(y[i * 128], v, 1, 8, 0, 0);
        b.data_move(z[i * 64], w, 1, 8, 0, 0);
    });
    return b.build();
}

}  // namespace halyard::dv::test
