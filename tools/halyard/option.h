// Helpers for the options of several subcommands.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace halyard::command {

// Throws AttrError if an option or argument was given that has no effect in this mode: "[bench]
// --json does nothing with --suite". `used` are those that have one, as they are declared: "--json"
// or an argument's name.
void refuse_idle(const CLI::App &sub, const std::string &mode,
                 const std::vector<std::string> &used);

// Throws AttrError if one of `idle` was given, the options without effect in this mode.
void refuse(const CLI::App &sub, const std::string &mode, const std::vector<std::string> &idle);

// Returns true for "ascend" and for the name of a simulated Ascend chip.
bool is_ascend(const std::string &device);
// Accepts "cpu", "ascend" and the names of the chips.
CLI::Validator cpu_or_ascend();
// Returns "ascend (ascend910), ascend310, ascend910b", for the options' descriptions.
std::string ascend_names();

// Accepts digits only, up to `most`. CLI11 would take -1 for the largest number.
CLI::Validator whole_number(uint64_t most);

}  // namespace halyard::command
