#include "dsl/gpu/exact_ptx.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace halyard::gpu {
namespace {

using Halide::Buffer;
using Halide::Module;
using Halide::Internal::Call;

void remove_all(std::string &line, const std::string &what) {
    for (size_t at = 0; (at = line.find(what, at)) != std::string::npos;)
        line.erase(at, what.size());
}

// Adds .rn to the opcode of the line, which may follow a predicate: "@%p1 add.f32 %f1, ...".
void round_explicitly(std::string &line) {
    for (const char *name : {"add", "sub", "mul"}) {
        for (const char *type : {".f32", ".f64"}) {
            const std::string opcode = std::string(name) + type;
            const size_t at = line.find(opcode);
            const bool is_opcode = at != std::string::npos &&
                                   (at == 0 || std::isspace((unsigned char)line[at - 1]));
            if (is_opcode) line.insert(at + std::strlen(name), ".rn");
        }
    }
}

// Returns the name of the kernel that a line begins; empty if it begins none.
std::string kernel_begun_by(const std::string &line) {
    const std::string entry = ".entry ";
    const size_t at = line.find(entry);
    if (at == std::string::npos) return "";
    const size_t from = at + entry.size();
    return line.substr(from, line.find_first_of("( \t", from) - from);
}

// Collects the shapes of blocks from the calls that launch kernels.
class Launches : public Halide::Internal::IRVisitor {
public:
    BlockShapes blocks;

private:
    using IRVisitor::visit;
    void visit(const Call *c) override {
        if (c->name == "halide_cuda_run") read(c->args);
        IRVisitor::visit(c);
    }
    // The name is followed by the blocks and the threads in x, y and z.
    void read(const std::vector<Halide::Expr> &args) {
        for (size_t k = 0; k + 6 < args.size(); k++) {
            const auto *name = args[k].as<Halide::Internal::StringImm>();
            if (!name) continue;
            std::array<int, 3> threads{};
            for (size_t d = 0; d < 3; d++) {
                const auto constant = Halide::Internal::as_const_int(args[k + 4 + d]);
                if (!constant) return;
                threads[d] = int(*constant);
            }
            blocks[name->value] = threads;
            return;
        }
    }
};

BlockShapes block_shapes(const Module &module) {
    Launches launches;
    for (const auto &f : module.functions())
        f.body.accept(&launches);
    return launches.blocks;
}

}  // namespace

std::string exact_ptx(const std::string &ptx, const BlockShapes &blocks) {
    std::istringstream lines(ptx);
    std::string text, kernel;
    for (std::string line; std::getline(lines, line);) {
        if (const std::string begun = kernel_begun_by(line); !begun.empty()) kernel = begun;
        const auto shape = blocks.find(kernel);
        if (line.starts_with("{") && shape != blocks.end()) {
            const auto &[x, y, z] = shape->second;
            text += ".maxntid " + std::to_string(x) + ", " + std::to_string(y) + ", " +
                    std::to_string(z) + "\n";
            kernel.clear();
        }
        remove_all(line, ".ftz");
        round_explicitly(line);
        text += line + "\n";
    }
    return text;
}

std::string ptx_of(const Module &module) {
    const Buffer<> code = module.get_cuda_ptx_assembly_buffer();
    if (!code.defined()) return "";
    std::string text(static_cast<const char *>(code.data()), code.size_in_bytes());
    text.resize(std::min(text.size(), text.find('\0')));
    return text;
}

Module with_exact_ptx(const Module &module) {
    const std::string text = exact_ptx(ptx_of(module), block_shapes(module));
    const Buffer<> old = module.get_cuda_ptx_assembly_buffer();
    Module exact(module.name(), module.target(), module.get_metadata_name_map());
    exact.set_any_strict_float(module.any_strict_float());
    for (const auto &f : module.functions())
        exact.append(f);
    for (const Buffer<> &b : module.buffers()) {
        if (!b.same_as(old)) {
            exact.append(b);
            continue;
        }
        Buffer<uint8_t> rewritten(int(text.size() + 1), b.name());
        std::memcpy(rewritten.data(), text.c_str(), text.size() + 1);
        exact.append(rewritten);
    }
    return exact;
}

}  // namespace halyard::gpu
