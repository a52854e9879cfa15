// Compiles emitted Ascend C against a stand-in for its header and runs it. Every block becomes a
// program again, with the emitted flags and addresses, which runs without an issue and computes the
// same bits.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "ascend/emit/emit.h"
#include "ascend/program/text.h"
#include "registry/base/error.h"
#include "tests/ascend/emitted.h"

namespace halyard::dv {
namespace {

// Collects a block's instructions, and runs those so far when the scalar unit reads a value.
class Host {
public:
    Host(const Program &p, const test::Gm &gm) : program_(p), gm_(gm) {
        head_ = "program " + p.name + " " + p.profile + " blocks=1\n";
        for (size_t t = 0; t < p.tensors.size(); t++) {
            head_ += "gm gm" + std::to_string(t + 1) + " " + name_of(p.tensors[t].dtype) + "[" +
                     to_string(p.tensors[t].size) + "] inout\n";
        }
    }
    void begin() { lines_.clear(); }
    void issue(const std::string &line) { lines_ += line + "\n"; }
    double load(const std::string &place) {
        lines_ += "scalar_load r" + std::to_string(++loads_) + ", " + place + "\n";
        test::Gm before = gm_;
        float value = 0;
        std::vector<Binding> gm = before.bindings();
        gm.push_back({&value, 4});
        Program p = program("gm probe f32[1] out\n",
                            "scalar_store probe[0], r" + std::to_string(loads_) + "\n");
        SimOptions options;
        options.timing = false;
        const SimResult r = simulate(p, gm, {}, options);
        EXPECT_TRUE(r.ok()) << to_text(r.issues);
        return value;
    }
    // Runs the block with all checks.
    void run(test::Gm &gm) {
        const SimResult r = simulate(program("", ""), gm.bindings());
        EXPECT_TRUE(r.ok()) << to_text(r.issues) << lines_;
        gm_ = gm;
    }
    int lines() const { return int(std::count(lines_.begin(), lines_.end(), '\n')); }

private:
    Program program(const std::string &more_head, const std::string &more_lines) const {
        std::string memories;
        for (const auto &[name, scope] : {std::pair{"ub", Scope::ub},
                                          {"l1", Scope::l1},
                                          {"l0a", Scope::l0a},
                                          {"l0b", Scope::l0b},
                                          {"l0c", Scope::l0c}}) {
            memories += std::string("alloc ") + name_of(scope) + " " + name + " u8[" +
                        std::to_string(program_.chip().bytes(scope)) + "] @0\n";
        }
        return parse_program(head_ + more_head + memories + lines_ + more_lines);
    }

    const Program &program_;
    test::Gm gm_;  // The tensors as the block finds them.
    std::string head_, lines_;
    int loads_ = 0;
};

Host *host = nullptr;  // The kernel's C functions have no other access to it.
struct HalyHost {
    int64_t block;
    void (*issue)(const char *);
    double (*load)(const char *);
};

// Compiles a program's Ascend C, runs all its blocks, and returns the bytes of its tensors.
std::vector<uint8_t> through_ascendc(const Program &p, int *lines) {
    const test::Folder folder("ascendc");
    folder.write("kernel.cpp", emit_ascendc(p));
    const std::string library = folder.path() + "/" + p.name + ".so";
    int status = 0;
    const std::string reported = test::output_of(
        HALYARD_CXX
            " -std=c++17 -O0 -Wall -Wextra -shared -fPIC -fno-gnu-unique -I" HALYARD_SOURCE_DIR
            "/tests/ascend/shims " +
            folder.path() + "/kernel.cpp -o " + library,
        &status);
    EXPECT_EQ(reported, "") << emit_ascendc(p);
    if (status != 0) return {};
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    if (!handle) return {};
    const auto connect = (void (*)(HalyHost))dlsym(handle, "haly_connect");
    void *kernel = dlsym(handle, ("haly_" + p.name).c_str());
    EXPECT_TRUE(connect && kernel);
    if (!connect || !kernel) return {};
    test::Gm gm = test::filled(p);
    Host now(p, gm);
    host = &now;
    const auto address = [](uint64_t tensor) { return (uint8_t *)((tensor + 1) << 32); };
    for (int64_t b = 0; b < p.blocks.value(); b++) {
        now.begin();
        connect({b, [](const char *line) { host->issue(line); },
                 [](const char *place) { return host->load(place); }});
        if (p.tensors.size() == 2)
            ((void (*)(uint8_t *, uint8_t *))kernel)(address(0), address(1));
        else
            ((void (*)(uint8_t *, uint8_t *, uint8_t *))kernel)(address(0), address(1), address(2));
        now.run(gm);
        *lines += now.lines();
    }
    host = nullptr;
    dlclose(handle);
    return test::bytes(p, gm);
}

TEST(AscendC, EmittedKernelsGiveTheSameBits) {
    int lines = 0;
    for (const Program &p :
         {test::add_relu_builder(16384, 4, 1024).build(), test::softmax_builder(6, 256).build(),
          test::mixture(), test::matmul_builder(64, 128, 64, 32, 64, 32).build(),
          test::golden("softmax_f16"), test::golden("matmul_f16")})
        EXPECT_EQ(through_ascendc(p, &lines), test::bits(p)) << p.name;
    std::printf("%d instructions issued\n", lines);
}

TEST(AscendC, HasHeaderAndGuard) {
    Program p = test::add_relu_builder(4096, 1, 1024).build();
    p.schedule_hash = "1f3a";
    const std::string text = emit_ascendc(p);
    EXPECT_EQ(text.find("// Ascend C kernel of add_relu for ascend910, schedule 1f3a.\n"), 0u);
    EXPECT_NE(text.find("__CCE_AICORE__ != 100"), std::string::npos);
    EXPECT_EQ(text.find("using namespace"), std::string::npos);
}

TEST(AscendC, RejectsUnsupportedPrograms) {
    Program p = parse_program(
        "program p ascend910 blocks=1\nalloc l1 l f16[512] @0\nalloc l0a a f16[256] @0\nload3d "
        "a[0], l[0]  h=4 w=4 c1=1 m=16 k=16 pad_value=-1\n");
    EXPECT_THROW(emit_ascendc(p), AttrError);
    // The program has no addresses yet.
    EXPECT_THROW(emit_ascendc(test::add_relu_builder(4096, 1, 1024).written()), AttrError);
}

}  // namespace
}  // namespace halyard::dv
