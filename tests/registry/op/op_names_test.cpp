#include <gtest/gtest.h>

#include "registry/op/op_record.h"

namespace halyard {
namespace {

using Names = std::vector<std::string>;

AttrSpec choice(const std::string &name, const Names &choices) {
    return {name, AttrKind::choice, choices[0], choices, {}};
}

TEST(ChoiceNames, TheClassIsNamedAfterTheAttribute) {
    AttrSpec a = choice("pad_mode", {"valid", "same"});
    EXPECT_EQ(choice_type(a), "PadMode");
    a.type = "BorderMode";
    EXPECT_EQ(choice_type(a), "BorderMode");
}

TEST(ChoiceNames, ConstantsAreTheChoices) {
    EXPECT_EQ(choice_constants(choice("mode", {"valid", "NCHW", "gelu_tanh"})),
              (Names{"valid", "NCHW", "gelu_tanh"}));
}

TEST(ChoiceNames, OtherNamesBecomeIdentifiers) {
    EXPECT_EQ(choice_constants(choice("mode", {"3x3", "two words", "+=", ""})),
              (Names{"as_3x3", "two_words", "as_", "as_2"}));
    EXPECT_EQ(choice_constants(choice("mode", {"default", "float", "NULL", "text", "names"})),
              (Names{"default_", "float_", "NULL_", "text_", "names_"}));
    EXPECT_EQ(choice_constants(choice("mode", {"a-b", "a_b", "a b"})),
              (Names{"a_b", "a_b_2", "a_b_3"}));
    EXPECT_EQ(choice_constants(choice("mode", {"Mode", "mode"})), (Names{"Mode_", "mode"}));
}

}  // namespace
}  // namespace halyard
