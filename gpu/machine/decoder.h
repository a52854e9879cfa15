// What decoding one statement needs, and the families of instructions.
#pragma once
#include "gpu/machine/program.h"

namespace halyard::ptx {

// The registers of an entry, as numbers.
class Registers {
public:
    Registers(const Module &module, const Entry &entry,
              const std::map<std::string, uint64_t> &addresses);

    uint32_t row(const Operand &o, const TypeName &type, int line);  // a register or a number
    uint32_t predicate(const std::string &name, int line) const;
    const Parameter *parameter(const std::string &name) const;
    const TypeName *type_of(const std::string &name) const;  // null: it is no register
    void finish(Program &p) const;

private:
    uint32_t constant(uint64_t bits);
    uint32_t special(const std::string &name, int line);
    void place_variables(const Module &module, const std::map<std::string, uint64_t> &addresses);

    const Entry &entry_;
    std::map<std::string, uint32_t> rows_, predicates_;
    std::map<uint64_t, uint32_t> constants_;
    std::map<std::string, uint64_t> variables_;  // addresses, in the window of their space
    std::vector<Program::SpecialRow> specials_;
    std::map<std::string, uint32_t> special_rows_;
    uint32_t next_row_ = 0;
    uint64_t shared_bytes_ = 0, local_bytes_ = 0, dynamic_alignment_ = 1;
};

// A statement on its way to a step.
class Decoder {
public:
    Decoder(const Statement &s, Registers &registers, const Entry &entry)
        : statement(s), registers(registers), entry(entry), words_(s.words) {}

    const std::string &mnemonic() const { return statement.words[0]; }
    // Removes a word of the opcode. Returns false if it isn't there.
    bool take(const char *word);
    // Removes and returns the last word, which is a type.
    TypeName take_type();
    // Removes and returns the first word left.
    std::string take_any();
    // Throws DeviceError if a word of the opcode is left, which no decoder has taken.
    void require_no_more() const;
    [[noreturn]] void refuse() const;  // "OPCODE is not supported"
    [[noreturn]] void refuse(const std::string &why) const;

    const Operand &operand(size_t k) const;
    void require_operands(size_t count) const;
    // Return the number of an operand's row, read or written as this type, or of its predicate.
    uint32_t row(size_t k, const TypeName &type);
    uint32_t predicate(size_t k) const;
    // Sets to, a, b and c of the step to the rows of the operands.
    void rows(const TypeName &to, const TypeName &a);
    void rows(const TypeName &to, const TypeName &a, const TypeName &b);
    void rows(const TypeName &to, const TypeName &a, const TypeName &b, const TypeName &c);

    const Statement &statement;
    Registers &registers;
    const Entry &entry;
    Step step;

private:
    std::vector<std::string> words_;
};

// Each decodes the mnemonics of a family. Returns false for another mnemonic.
bool decode_arithmetic(Decoder &d);
bool decode_bits(Decoder &d);
bool decode_comparison(Decoder &d);
bool decode_conversion(Decoder &d);
bool decode_memory(Decoder &d);
bool decode_control(Decoder &d);

}  // namespace halyard::ptx
