#include "gpu/machine/decoder.h"

#include <algorithm>
#include <bit>

#include "gpu/ptx/lexer.h"
#include "registry/base/integer.h"

namespace halyard::ptx {

Registers::Registers(const Module &module, const Entry &entry,
                     const std::map<std::string, uint64_t> &addresses)
    : entry_(entry) {
    uint32_t next_predicate = 1;  // the first is true
    for (auto &[name, type] : entry.registers) {
        if (type == "pred")
            predicates_[name] = next_predicate++;
        else
            rows_[name] = next_row_++;
    }
    place_variables(module, addresses);
}

void Registers::place_variables(const Module &module,
                                const std::map<std::string, uint64_t> &addresses) {
    variables_ = addresses;
    std::vector<const Variable *> all;
    for (const auto *list : {&module.variables, &entry_.variables}) {
        for (const Variable &v : *list)
            all.push_back(&v);
    }
    for (const Variable *v : all) {
        uint64_t *end = v->space == Space::shared  ? &shared_bytes_
                        : v->space == Space::local ? &local_bytes_
                                                   : nullptr;
        if (!end || v->dynamic) continue;
        *end = round_up(*end, v->alignment);
        variables_[v->name] = *end;
        *end += v->bytes;
    }
    for (const Variable *v : all)
        if (v->dynamic) dynamic_alignment_ = std::max<uint64_t>(dynamic_alignment_, v->alignment);
    shared_bytes_ = round_up(shared_bytes_, dynamic_alignment_);
    for (const Variable *v : all)
        if (v->dynamic) variables_[v->name] = shared_bytes_;
}

uint32_t Registers::constant(uint64_t bits) {
    const auto [at, is_new] = constants_.emplace(bits, next_row_);
    next_row_ += is_new;
    return at->second;
}

uint32_t Registers::special(const std::string &name, int line) {
    if (const auto at = special_rows_.find(name); at != special_rows_.end()) return at->second;
    static const std::map<std::string, Special> names = {
        {"%tid", Special::tid},       {"%ntid", Special::ntid},     {"%ctaid", Special::ctaid},
        {"%nctaid", Special::nctaid}, {"%laneid", Special::laneid}, {"%warpid", Special::warpid},
    };
    const size_t dot = std::min(name.find('.'), name.size());
    const auto known = names.find(name.substr(0, dot));
    const std::string axis = dot < name.size() ? name.substr(dot + 1) : "x";
    const size_t dimension = std::string("xyz").find(axis);
    if (known == names.end() || axis.size() != 1 || dimension == std::string::npos)
        ptx::refuse(line, "'" + name + "' is no register of this entry");
    specials_.push_back({next_row_, known->second, uint32_t(dimension)});
    return special_rows_[name] = next_row_++;
}

uint32_t Registers::row(const Operand &o, const TypeName &type, int line) {
    if (o.kind == Operand::Kind::number) {
        // A literal in decimals is an f64.
        if (type == "f32" && o.bits > 0xFFFF'FFFF) {
            const float narrow = float(std::bit_cast<double>(o.bits));
            return constant(std::bit_cast<uint32_t>(narrow));
        }
        return constant(o.bits);
    }
    if (o.kind != Operand::Kind::name || o.negated) ptx::refuse(line, "an operand is no register");
    if (const auto at = rows_.find(o.name); at != rows_.end()) return at->second;
    if (const auto at = variables_.find(o.name); at != variables_.end())
        return constant(at->second);
    return special(o.name, line);
}

uint32_t Registers::predicate(const std::string &name, int line) const {
    const auto at = predicates_.find(name);
    if (at == predicates_.end()) ptx::refuse(line, "'" + name + "' is no predicate of this entry");
    return at->second;
}

const Parameter *Registers::parameter(const std::string &name) const {
    for (const Parameter &p : entry_.parameters)
        if (p.name == name) return &p;
    return nullptr;
}

const TypeName *Registers::type_of(const std::string &name) const {
    const auto at = entry_.registers.find(name);
    return at == entry_.registers.end() ? nullptr : &at->second;
}

void Registers::finish(Program &p) const {
    p.rows = next_row_;
    p.predicates = uint32_t(predicates_.size()) + 1;
    for (auto &[bits, row] : constants_)
        p.constants.emplace_back(row, bits);
    p.specials = specials_;
    p.shared_bytes = shared_bytes_;
    p.dynamic_alignment = dynamic_alignment_;
    p.local_bytes = local_bytes_;
}

bool Decoder::take(const char *word) {
    const auto at = std::find(words_.begin() + 1, words_.end(), word);
    if (at == words_.end()) return false;
    words_.erase(at);
    return true;
}

TypeName Decoder::take_type() {
    if (words_.size() < 2) refuse();
    const TypeName type = words_.back();
    words_.pop_back();
    return type;
}

std::string Decoder::take_any() {
    if (words_.size() < 2) refuse();
    const std::string word = words_[1];
    words_.erase(words_.begin() + 1);
    return word;
}

void Decoder::require_no_more() const {
    if (words_.size() > 1) refuse();
}

void Decoder::refuse() const {
    refuse("is not supported");
}

void Decoder::refuse(const std::string &why) const {
    ptx::refuse(statement.line, statement.opcode + " " + why);
}

const Operand &Decoder::operand(size_t k) const {
    if (k >= statement.operands.size()) refuse("has too few operands");
    return statement.operands[k];
}

void Decoder::require_operands(size_t count) const {
    if (statement.operands.size() != count) {
        refuse("has " + std::to_string(statement.operands.size()) + " operands, expected " +
               std::to_string(count));
    }
}

uint32_t Decoder::row(size_t k, const TypeName &type) {
    return registers.row(operand(k), type, statement.line);
}

uint32_t Decoder::predicate(size_t k) const {
    const Operand &o = operand(k);
    if (o.kind != Operand::Kind::name) refuse("needs a predicate");
    return registers.predicate(o.name, statement.line);
}

void Decoder::rows(const TypeName &to, const TypeName &a) {
    require_operands(2);
    step.to = row(0, to);
    step.a = row(1, a);
}

void Decoder::rows(const TypeName &to, const TypeName &a, const TypeName &b) {
    require_operands(3);
    step.to = row(0, to);
    step.a = row(1, a);
    step.b = row(2, b);
}

void Decoder::rows(const TypeName &to, const TypeName &a, const TypeName &b, const TypeName &c) {
    require_operands(4);
    step.to = row(0, to);
    step.a = row(1, a);
    step.b = row(2, b);
    step.c = row(3, c);
}

namespace {

Step decode(const Statement &s, Registers &registers, const Entry &entry) {
    Decoder d(s, registers, entry);
    if (!s.guard.empty()) {
        d.step.guard = registers.predicate(s.guard, s.line);
        d.step.guard_flip = s.guard_negated ? all_lanes : 0;
    }
    const bool known = decode_arithmetic(d) || decode_bits(d) || decode_comparison(d) ||
                       decode_conversion(d) || decode_memory(d) || decode_control(d);
    if (!known) d.refuse();
    d.require_no_more();
    if (d.step.control == Control::next && !d.step.execute) d.refuse();
    return d.step;
}

}  // namespace

Program decode(const Module &module, const Entry &entry,
               const std::map<std::string, uint64_t> &addresses) {
    Program p;
    p.name = entry.name;
    p.entry = &entry;
    Registers registers(module, entry, addresses);
    for (const Statement &s : entry.code)
        p.steps.push_back(decode(s, registers, entry));
    Step end;
    end.control = Control::exit;
    p.steps.push_back(end);
    registers.finish(p);
    return p;
}

}  // namespace halyard::ptx
