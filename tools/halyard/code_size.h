// Code size. A file of its own, because elf.h's macros are names in Halide.h.
#pragma once
#include <cstddef>
#include <string>

namespace halyard::command {

// instructions in the bytes of an ELF object; 0 for anything else
size_t code_bytes(const std::string &object);

}  // namespace halyard::command
