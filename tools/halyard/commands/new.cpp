// halyard new: creates an op that passes its checks, for its author to change: in the kit, in a
// project, or with a new project around it.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench/harness/variadic_ops.h"
#include "primitives/library.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/program.h"
#include "tools/halyard/command.h"
#include "tools/templates.h"

namespace halyard::command {
using namespace bench;
namespace {
namespace fs = std::filesystem;

struct NewOptions {
    std::string op, like = "unary", project;
};

// The templates in tools/halyard/templates, with the arguments of the call in the project's main.
struct Template {
    const char *name, *arguments;
};
constexpr Template templates[] = {
    {"unary", "ramp({2, 3})"},
    {"softmax", "ramp({2, 3})"},
    {"matmul", "ramp({2, 3}), ramp({3, 4})"},
    {"conv2d", "ramp({1, 2, 5, 5}), ramp({3, 2, 3, 3})"},
};

using Words = std::vector<std::pair<std::string, std::string>>;

// Returns the template with every placeholder replaced, in one pass: replacements aren't searched
// again.
std::string filled(const std::string &name, const Words &words) {
    const std::string text = text_of(installed("share/halyard/templates") / name);
    std::string s;
    for (size_t at = 0; at < text.size();) {
        const auto word = std::find_if(words.begin(), words.end(), [&](auto &w) {
            return text.compare(at, w.first.size(), w.first) == 0;
        });
        if (word == words.end())
            s += text[at++];
        else {
            s += word->second;
            at += word->first.size();
        }
    }
    return s;
}

bool one_of(const std::string &name, std::initializer_list<const char *> list) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_word_of_cpp(const std::string &s) {
    return one_of(
        s, {"alignas",  "alignof",  "and",      "asm",       "auto",      "bitand",   "bitor",
            "bool",     "break",    "case",     "catch",     "char",      "class",    "compl",
            "concept",  "const",    "continue", "decltype",  "default",   "delete",   "do",
            "double",   "else",     "enum",     "explicit",  "export",    "extern",   "false",
            "float",    "for",      "friend",   "goto",      "if",        "inline",   "int",
            "long",     "main",     "mutable",  "namespace", "new",       "noexcept", "not",
            "nullptr",  "operator", "or",       "private",   "protected", "public",   "register",
            "requires", "return",   "short",    "signed",    "sizeof",    "static",   "struct",
            "switch",   "template", "this",     "throw",     "true",      "try",      "typedef",
            "typeid",   "typename", "union",    "unsigned",  "using",     "virtual",  "void",
            "volatile", "while",    "xor"});
}

bool spelled(const std::string &s, bool upper) {
    auto fits = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
               (upper && c >= 'A' && c <= 'Z');
    };
    return !s.empty() && std::all_of(s.begin(), s.end(), fits) && s[0] != '_' &&
           !(s[0] >= '0' && s[0] <= '9') && s.back() != '_' && s.find("__") == std::string::npos;
}

// Throws AttrError if C++, the registry or a gradient's name rules out the name.
void check_op_name(const std::string &name) {
    if (!spelled(name, false)) {
        throw AttrError(
            name, "is no name for an op: lower-case letters, digits and single _, a letter first");
    }
    if (is_word_of_cpp(name)) throw AttrError(name, "is no name for an op: C++ has that word");
    OpRecord wanted;
    wanted.name = name;
    for (const RegisteredOp *op : library().ops()) {
        const OpRecord &r = op->record;
        const std::vector<std::string> further = further_names(r);
        if (r.name == name || std::find(further.begin(), further.end(), name) != further.end())
            throw AttrError(name, "is an op already: " + r.name + ": " + r.signature);
        if (r.name.starts_with(name + "_d"))
            throw AttrError(name, "would take the op " + r.name + " for its gradient");
        if (!r.internal && class_name(r) == class_name(wanted)) {
            throw AttrError(name, "would be ops::" + class_name(wanted) +
                                      ", which is the class of " + r.name);
        }
    }
    if (variadic_op(name)) throw AttrError(name, "is an op already");
}

void check_project_name(const std::string &name) {
    if (!spelled(name, true)) {
        throw AttrError(name,
                        "is no name for a project: letters, digits and single _, a letter first");
    }
    // Targets of CMake and of the kit.
    if (is_word_of_cpp(name) ||
        one_of(name, {"all", "clean", "halyard", "help", "install", "package", "test"}) ||
        // Folders of headers.
        one_of(name, {"bench", "dsl", "kernels", "nn", "primitives", "registry", "tools", "train"}))
        throw AttrError(name, "is no name for a project: C++, CMake or the kit has that word");
}

void print_next(const std::vector<std::string> &commands) {
    std::printf("next:\n");
    for (auto &c : commands)
        std::printf("  %s\n", c.c_str());
}

// Creates a project with one op. Its name is the folder's.
int new_project(const NewOptions &o, const Template &like, Words words) {
    fs::path dir = fs::path(o.project).lexically_normal();
    if (!dir.has_filename()) dir = dir.parent_path();
    const std::string name = fs::absolute(dir).filename();
    check_project_name(name);
    if (fs::exists(dir) && !(fs::is_directory(dir) && fs::is_empty(dir)))
        throw IoError(o.project, "is there already, and isn't an empty folder");
    std::error_code failed;
    fs::create_directories(dir, failed);
    if (failed) throw IoError(o.project, "can't be created: " + failed.message());
    words.insert(words.end(), {{"new_project", name}, {templates[0].arguments, like.arguments}});
    write_file((dir / (o.op + ".cpp")).string(), filled(o.like + ".cpp", words),
               Durability::to_system);
    for (const char *file : {"CMakeLists.txt", "main.cpp"}) {
        write_file((dir / file).string(), filled(std::string("project/") + file, words),
                   Durability::to_system);
    }
    std::printf("wrote %s, main.cpp and CMakeLists.txt\n", (dir / (o.op + ".cpp")).c_str());

    const fs::path prefix = own_program().parent_path().parent_path();
    const bool installed = fs::exists(prefix / "share/halyard/templates") &&
                           fs::exists(prefix / "include/halyard");
    if (!installed) std::printf("first, in the kit: make install PREFIX=/where/the/kit/goes\n");
    const std::string kit = installed ? prefix.string() : "/where/the/kit/goes";
    const std::string build = (dir / "build").string();
    print_next(
        {"cmake -S " + dir.string() + " -B " + build + " -DCMAKE_PREFIX_PATH=" + kit,
         "cmake --build " + build,
         kit + "/bin/halyard --kernels " + build + "/lib" + name + "_kernels.so check " + o.op});
    return 0;
}

// Creates an op file in the folder of `lists`, and adds its line there.
int new_file(const NewOptions &o, const fs::path &lists, const char *end, const Words &words) {
    const fs::path file = lists.parent_path() / (o.op + ".cpp");
    if (fs::exists(file)) throw IoError(file, "is there already");
    std::string text = text_of(lists);
    const size_t at = text.find(end) + 1;
    write_file(file.string(), filled(o.like + ".cpp", words), Durability::to_system);
    write_file(lists.string(), text.insert(at, "halyard_op(" + o.op + ")\n"),
               Durability::to_system);
    std::printf("wrote %s, and a line into %s\n", file.c_str(), lists.c_str());
    const size_t name = at + std::string("halyard_op()\n").size() + o.op.size() +
                        std::string("halyard_library(").size();
    const std::string project = text.substr(name, text.find_first_of(") ", name) - name);
    if (lists.has_parent_path()) {
        print_next({"scripts/build.sh", "build/release/bin/halyard check " + o.op,
                    "build/release/bin/halyard bench " + o.op});
    } else {
        const std::string halyard = own_program().string() + " --kernels build/lib" + project +
                                    "_kernels.so ";
        print_next({"cmake --build build", halyard + "check " + o.op, halyard + "bench " + o.op});
    }
    return 0;
}

int run(const NewOptions &o) {
    check_op_name(o.op);
    const auto like = std::find_if(std::begin(templates), std::end(templates),
                                   [&](const Template &t) { return o.like == t.name; });
    OpRecord record;
    record.name = o.op;
    const Words words = {{"new_op", o.op}, {"NewOp", class_name(record)}};
    if (!o.project.empty()) return new_project(o, *like, words);
    struct Place {
        const char *lists, *end;
    };
    for (const Place &p : {Place{"kernels/CMakeLists.txt", "\nhalyard_ops_done("},
                           Place{"CMakeLists.txt", "\nhalyard_library("}}) {
        if (fs::exists(p.lists) && text_of(p.lists).find(p.end) != std::string::npos)
            return new_file(o, p.lists, p.end, words);
    }
    throw IoError("new", "this folder is neither the kit's nor that of a project with "
                         "halyard_library(); --project DIR makes one");
}

}  // namespace

void add_new(CLI::App &app, Run &selected) {
    auto o = std::make_shared<NewOptions>();
    CLI::App *sub = app.add_subcommand("new", "Create an op that passes its checks, to start from");
    sub->footer("In the kit's folder: kernels/NAME.cpp and its CMake line. In a project's: "
                "NAME.cpp and its line.");
    sub->add_option("name", o->op, "The op's name and its file's")->required();
    sub->add_option("--like", o->like, "The template: unary (default), softmax, matmul, conv2d")
        ->check(CLI::IsMember({"unary", "softmax", "matmul", "conv2d"}));
    sub->add_option("--project", o->project, "Create a project in this folder, named after it");
    sub->callback([o, &selected] { selected = [o] { return run(*o); }; });
}

}  // namespace halyard::command
