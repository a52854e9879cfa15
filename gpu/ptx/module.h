// A PTX module as text describes it: entries with their parameters, registers, variables and
// statements. What an opcode means is for the machine (gpu/machine/decode.h).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace halyard::ptx {

enum class Space : uint8_t { param, global, shared, constant, local };

// A type as PTX writes it, without its dot: "f32", "b64", "pred".
using TypeName = std::string;

struct Operand {
    enum class Kind : uint8_t {
        name,     // a register, a special register, a label or a variable
        number,   // `bits` holds an integer, or the bits of an f32 or f64
        address,  // [name + offset], or [offset] if `name` is empty
        vector,   // {a, b, ...}
        sink,     // _, a result that nobody reads
    };
    Kind kind = Kind::name;
    std::string name;
    bool negated = false;  // !%p1
    uint64_t bits = 0;     // a number, or the offset of an address
    std::vector<Operand> parts;
};

struct Statement {
    int line = 0;
    std::string opcode;              // "ld.global.v4.f32"
    std::vector<std::string> words;  // "ld", "global", "v4", "f32"
    std::string guard;               // the predicate in @%p1; empty if there is none
    bool guard_negated = false;
    std::vector<Operand> operands;
};

struct Parameter {
    std::string name;
    TypeName type;
    uint32_t offset = 0;  // in the block of parameters that a launch receives
    uint32_t bytes = 0;
};

struct Variable {
    std::string name;
    Space space = Space::shared;
    uint32_t alignment = 1;
    uint64_t bytes = 0;
    bool dynamic = false;           // .extern .shared: as long as the launch says
    std::vector<uint8_t> contents;  // initial values; empty if there are none
};

struct Entry {
    std::string name;
    int line = 0;
    std::vector<Parameter> parameters;
    uint32_t parameter_bytes = 0;
    std::map<std::string, TypeName> registers;
    std::vector<Variable> variables;  // .shared and .local
    std::vector<Statement> code;
    std::map<std::string, size_t> labels;    // the statement that follows each label
    std::array<uint32_t, 3> most_threads{};  // .maxntid; 0 if it isn't stated
};

struct Module {
    std::string version, target;
    std::vector<Variable> variables;
    std::vector<Entry> entries;

    // Returns null if there is none.
    const Entry *find(const std::string &name) const;
};

// Returns the bytes of a value of this type; 0 for pred and for names that are no type.
uint32_t bytes_of(const TypeName &type);

// Parses a module. Throws DeviceError "[ptx] line N: what is wrong".
Module parse(const std::string &text);

}  // namespace halyard::ptx
