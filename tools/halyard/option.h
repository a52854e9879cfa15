// What options of several subcommands have in common.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace halyard::command {

// Throws AttrError where an option or argument was given that does nothing in this mode: "[bench]
// --json does nothing with --suite". `used`: those that do something, as they are declared,
// "--json" or the name of an argument.
void refuse_idle(const CLI::App &sub, const std::string &mode,
                 const std::vector<std::string> &used);

// The other way round: these do nothing in this mode.
void refuse(const CLI::App &sub, const std::string &mode, const std::vector<std::string> &idle);

// Digits alone, up to `most`: CLI11 takes -1 for the largest number.
CLI::Validator whole_number(uint64_t most);

}  // namespace halyard::command
