// Code size. It has its own file, because elf.h's macros are names in Halide.h.
#pragma once
#include <cstddef>
#include <string>

namespace halyard::command {

// Returns the bytes of instructions in an ELF object; 0 for anything else.
size_t code_bytes(const std::string &object);

}  // namespace halyard::command
