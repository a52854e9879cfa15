// The names of variables in a C99 function.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

namespace halyard::c99 {

// Gives each of Halide's names one of C's: the name without stage and counter, and with a number if
// an enclosing block or the function's parameters have it already. "y.s1.r10$x.c" becomes c.
class Names {
public:
    Names();

    // Names declared between these two calls end with the second.
    void open_block();
    void close_block();

    // Declares a variable of the innermost block, and returns its name.
    std::string declare(const std::string &halide_name);
    // Declares a parameter, which has the name `name` if C allows that.
    std::string declare(const std::string &halide_name, const std::string &name);
    // Makes `halide_name` another name of a variable of C, in the innermost block.
    void alias(const std::string &halide_name, const std::string &name);
    // Returns the name of a variable, which is then read. Throws Error if it wasn't declared.
    const std::string &of(const std::string &halide_name);
    // Returns the name of a variable that was declared, without reading it.
    const std::string &declared(const std::string &halide_name) const {
        return names_.at(halide_name);
    }
    // Returns true if of() returned this name.
    bool is_read(const std::string &name) const { return read_.count(name) > 0; }
    bool has(const std::string &halide_name) const { return names_.count(halide_name) > 0; }

private:
    struct Declared {
        // name: "" for an alias. hidden: the name that it had before.
        std::string halide_name, name, hidden;
    };
    std::map<std::string, std::string> names_;
    std::set<std::string> used_, read_;
    std::vector<std::vector<Declared>> blocks_;
};

}  // namespace halyard::c99
