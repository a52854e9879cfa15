// The parser. It reads every statement and leaves the meaning of opcodes to the machine, so that a
// kernel is refused only if it is launched.
#include <algorithm>
#include <cctype>

#include "gpu/ptx/lexer.h"
#include "gpu/ptx/module.h"
#include "registry/base/integer.h"

namespace halyard::ptx {
namespace {

constexpr uint64_t largest_variable = uint64_t(1) << 30;

std::vector<std::string> words_of(std::string_view opcode) {
    std::vector<std::string> words;
    for (size_t from = 0; from <= opcode.size();) {
        const size_t dot = std::min(opcode.find('.', from), opcode.size());
        words.emplace_back(opcode.substr(from, dot - from));
        from = dot + 1;
    }
    return words;
}

class Parser {
public:
    explicit Parser(const std::string &text) : lexer_(text) {}

    Module module() {
        while (lexer_.peek().kind != Token::Kind::end)
            item();
        return std::move(module_);
    }

private:
    void item() {
        const Token t = lexer_.take();
        if (t.is(".version"))
            module_.version = lexer_.take().spelling;
        else if (t.is(".target"))
            target();
        else if (t.is(".address_size"))
            lexer_.take();
        else if (t.is(".entry"))
            entry(t.line);
        else if (is_space(t))
            variable(t, module_.variables);
        else if (t.is(".file") || t.is(".section"))
            debug_information(t);
        else if (!t.is(".visible") && !t.is(".extern") && !t.is(".weak"))
            refuse(t.line, "'" + std::string(t.spelling) + "' is not supported in a module");
        is_extern_ = t.is(".extern");
    }

    void target() {
        module_.target = lexer_.take().spelling;
        while (lexer_.accept(","))
            lexer_.take();
    }

    void debug_information(const Token &t) {
        while (lexer_.peek().line == t.line && lexer_.peek().kind != Token::Kind::end)
            lexer_.take();
        if (!lexer_.accept("{")) return;
        while (!lexer_.accept("}")) {
            if (lexer_.take().kind == Token::Kind::end) refuse(t.line, ".section has no end");
        }
    }

    static bool is_space(const Token &t) {
        return t.is(".shared") || t.is(".global") || t.is(".const") || t.is(".local");
    }

    static Space space_of(const Token &t) {
        if (t.is(".shared")) return Space::shared;
        if (t.is(".const")) return Space::constant;
        return t.is(".local") ? Space::local : Space::global;
    }

    TypeName type() {
        const Token t = lexer_.expect(Token::Kind::word, "a type");
        const TypeName name(t.spelling.substr(1));
        if (bytes_of(name) == 0) refuse(t.line, "'" + std::string(t.spelling) + "' is no type");
        return name;
    }

    // Parses what follows .shared, .global, .const or .local.
    void variable(const Token &space, std::vector<Variable> &to) {
        Variable v;
        v.space = space_of(space);
        if (lexer_.accept(".align")) v.alignment = uint32_t(lexer_.integer());
        const TypeName element = type();
        v.alignment = std::max(v.alignment, bytes_of(element));
        v.name = lexer_.expect(Token::Kind::word, "a variable's name").spelling;
        uint64_t elements = 1;
        while (lexer_.accept("[")) {
            v.dynamic = lexer_.peek().is("]");
            if (!v.dynamic) elements *= lexer_.integer();
            lexer_.expect("]");
        }
        if (v.dynamic && !is_extern_ && v.space == Space::shared)
            refuse(space.line, v.name + " has no size");
        if (elements > largest_variable)
            refuse(space.line, v.name + " has " + std::to_string(elements) + " elements");
        v.bytes = v.dynamic ? 0 : elements * bytes_of(element);
        if (lexer_.accept("=")) v.contents = initial_values(bytes_of(element), v.bytes);
        lexer_.expect(";");
        to.push_back(std::move(v));
    }

    std::vector<uint8_t> initial_values(uint32_t element, uint64_t bytes) {
        std::vector<uint8_t> contents;
        const bool is_list = lexer_.accept("{");
        do {
            const uint64_t value = lexer_.integer();
            for (uint32_t k = 0; k < element; k++)
                contents.push_back(uint8_t(value >> 8 * k));
        } while (is_list && lexer_.accept(","));
        if (is_list) lexer_.expect("}");
        contents.resize(bytes);  // the rest is 0
        return contents;
    }

    void entry(int line) {
        Entry e;
        e.line = line;
        e.name = lexer_.expect(Token::Kind::word, "an entry's name").spelling;
        if (lexer_.accept("(")) {
            while (!lexer_.accept(")")) {
                parameter(e);
                lexer_.accept(",");
            }
        }
        while (!lexer_.peek().is("{"))
            entry_directive(e);
        body(e);
        module_.entries.push_back(std::move(e));
    }

    void parameter(Entry &e) {
        lexer_.expect(".param");
        uint32_t alignment = 1;
        if (lexer_.accept(".align")) alignment = uint32_t(lexer_.integer());
        Parameter p;
        p.type = type();
        p.bytes = bytes_of(p.type);
        alignment = std::max(alignment, p.bytes);
        if (lexer_.accept(".ptr")) {  // what a pointer points to
            while (lexer_.peek().spelling.starts_with(".")) {
                if (lexer_.take().is(".align")) lexer_.integer();
            }
        }
        p.name = lexer_.expect(Token::Kind::word, "a parameter's name").spelling;
        if (lexer_.accept("[")) {
            p.bytes *= uint32_t(lexer_.integer());
            lexer_.expect("]");
        }
        p.offset = round_up(e.parameter_bytes, alignment);
        e.parameter_bytes = p.offset + p.bytes;
        e.parameters.push_back(std::move(p));
    }

    void entry_directive(Entry &e) {
        const Token t = lexer_.expect(Token::Kind::word, "'{'");
        const bool sets_threads = t.is(".maxntid") || t.is(".reqntid");
        if (!sets_threads && !t.is(".minnctapersm") && !t.is(".maxnreg"))
            refuse(t.line, "'" + std::string(t.spelling) + "' is not supported at an entry");
        size_t d = 0;
        do {
            const uint64_t n = lexer_.integer();
            if (sets_threads && d < 3) e.most_threads[d++] = uint32_t(n);
        } while (lexer_.accept(","));
        while (sets_threads && d < 3)
            e.most_threads[d++] = 1;
    }

    void body(Entry &e) {
        const int line = lexer_.expect("{").line;
        int depth = 1;
        while (depth > 0) {
            const Token t = lexer_.take();
            if (t.kind == Token::Kind::end) refuse(line, "the body of " + e.name + " has no end");
            if (t.is("{"))
                depth++;
            else if (t.is("}"))
                depth--;
            else if (t.is(".reg"))
                registers(e);
            else if (is_space(t))
                variable(t, e.variables);
            else if (t.is(".pragma") || t.is(".loc"))
                skip_directive(t);
            else if (t.kind == Token::Kind::word && lexer_.accept(":"))
                label(e, t);
            else
                statement(e, t);
        }
    }

    void skip_directive(const Token &t) {
        if (t.is(".pragma")) {
            while (!lexer_.accept(";"))
                lexer_.take();
            return;
        }
        while (lexer_.peek().line == t.line && lexer_.peek().kind != Token::Kind::end)
            lexer_.take();
    }

    static void label(Entry &e, const Token &t) {
        if (!e.labels.emplace(t.spelling, e.code.size()).second)
            refuse(t.line, "label " + std::string(t.spelling) + " is there twice");
    }

    // Parses ".b32 %r<10>, %s;". The first declares %r0 to %r9.
    void registers(Entry &e) {
        const TypeName t = lexer_.accept(".pred") ? TypeName("pred") : type();
        do {
            const Token name = lexer_.expect(Token::Kind::word, "a register's name");
            const std::string text(name.spelling);
            if (!lexer_.accept("<")) {
                declare(e, text, t, name.line);
                continue;
            }
            const uint64_t count = lexer_.integer();
            lexer_.expect(">");
            if (count > 100'000) refuse(name.line, text + " declares too many registers");
            for (uint64_t k = 0; k < count; k++)
                declare(e, text + std::to_string(k), t, name.line);
        } while (lexer_.accept(","));
        lexer_.expect(";");
    }

    static void declare(Entry &e, const std::string &name, const TypeName &type, int line) {
        const auto [at, is_new] = e.registers.emplace(name, type);
        if (!is_new && at->second != type)
            refuse(line, name + " is declared as ." + type + " and ." + at->second);
    }

    void statement(Entry &e, Token t) {
        Statement s;
        s.line = t.line;
        if (t.is("@")) {
            s.guard_negated = lexer_.accept("!");
            s.guard = lexer_.expect(Token::Kind::word, "a predicate").spelling;
            t = lexer_.take();
        }
        if (t.kind != Token::Kind::word)
            refuse(t.line, "expected an instruction, not '" + std::string(t.spelling) + "'");
        s.opcode = t.spelling;
        s.words = words_of(t.spelling);
        while (!lexer_.accept(";")) {
            s.operands.push_back(operand());
            if (!lexer_.peek().is(";")) lexer_.expect(",");
        }
        e.code.push_back(std::move(s));
    }

    Operand operand() {
        Operand o;
        if (lexer_.accept("[")) return address();
        if (lexer_.peek().is("{")) return list("{", "}");
        if (lexer_.peek().is("(")) return list("(", ")");
        o.negated = lexer_.accept("!");
        if (lexer_.peek().is("-") || lexer_.peek().kind == Token::Kind::number) {
            o.kind = Operand::Kind::number;
            o.bits = lexer_.integer();
            return o;
        }
        o.name = lexer_.expect(Token::Kind::word, "an operand").spelling;
        if (o.name == "_") o.kind = Operand::Kind::sink;
        return o;
    }

    Operand address() {
        Operand o;
        o.kind = Operand::Kind::address;
        if (lexer_.peek().kind == Token::Kind::word) {
            o.name = lexer_.take().spelling;
            if (lexer_.accept("+")) o.bits = lexer_.integer();
        } else {
            o.bits = lexer_.integer();
        }
        lexer_.expect("]");
        return o;
    }

    Operand list(const char *open, const char *close) {
        Operand o;
        o.kind = Operand::Kind::vector;
        lexer_.expect(open);
        while (!lexer_.accept(close)) {
            o.parts.push_back(operand());
            lexer_.accept(",");
        }
        return o;
    }

    Lexer lexer_;
    Module module_;
    bool is_extern_ = false;
};

}  // namespace

const Entry *Module::find(const std::string &name) const {
    for (const Entry &e : entries)
        if (e.name == name) return &e;
    return nullptr;
}

uint32_t bytes_of(const TypeName &type) {
    if (type.size() < 2 || std::string("busf").find(type[0]) == std::string::npos) return 0;
    const std::string digits = type.substr(type.starts_with("bf") ? 2 : 1);
    if (digits == "8") return type[0] == 'f' ? 0 : 1;
    if (digits == "16") return 2;
    if (digits == "16x2" || digits == "32") return 4;
    return digits == "64" ? 8 : 0;
}

Module parse(const std::string &text) {
    return Parser(text).module();
}

}  // namespace halyard::ptx
