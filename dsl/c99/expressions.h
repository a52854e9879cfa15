// Halide's expressions as text in C99.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/c99/names.h"

namespace halyard::c99 {

// Returns the type in which C stores and computes values of a type: "float", "int32_t". Truth
// values are int, 16-bit floats their bits in uint16_t.
std::string type_name(const Halide::Type &t);

// Returns a float as text, which C reads as the same number: "0.5f". 16-bit floats are their bits.
std::string number_text(const Halide::Type &t, double value);

// What the expressions of one function share.
struct FunctionContext {
    std::string op;  // for errors
    Names names;
    std::set<std::string> helpers;        // that the text calls
    std::set<std::string> single_values;  // allocations of one element, which are plain variables
    std::set<std::string> data;           // integer variables computed from elements of tensors
    std::map<std::string, double> reals;  // values of real scalars, by Halide's name
    // The bounds of integer variables: loops and lets.
    Halide::Internal::Scope<Halide::Internal::Interval> bounds;
    // Writes a line before the statement that is being written.
    std::function<void(const std::string &)> write_line;
    // Called for each access to a single value, before the statement is written.
    std::function<void(const std::string &)> accesses;
    // Constants in scope by their type and text, in each open block.
    std::vector<std::map<std::string, std::string>> constants = {{}};
};

// Declares an integer or a real variable with its value: "const int32_t t = x + 1;".
void declare_let(FunctionContext &context, const std::string &name, const Halide::Expr &value);

// Returns an expression as text. Throws DispatchError for what C99 doesn't have. Lets inside of it
// are declared in lines of their own.
std::string text_of(FunctionContext &context, const Halide::Expr &e);
// Returns the place of an element in an allocation or a tensor: "x[4 * n + c]".
std::string element(FunctionContext &context, const std::string &name, const Halide::Expr &index);

}  // namespace halyard::c99
