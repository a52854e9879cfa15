// Choice: the value of an attribute that takes one of several names. The generated headers declare
// a class for each such attribute, whose constants are the names:
//
//     F::conv2d(x, weight, {1, 1}, F::PadMode::same);
//     F::conv2d(x, weight, {1, 1}, "same");
//
// A misspelt constant doesn't compile. Text converts too, because MindSpore's vocabulary is text,
// and is checked when an op takes it: that throws AttrError with the op's choices.
#pragma once
#include <string>
#include <string_view>

#include "registry/op/attrs.h"

namespace halyard {

// The base of the generated classes (choice_class() in tools/emit.cpp). Neither is a template: GCC
// 12 doesn't instantiate what a default member initialiser uses inside another one, as in
// `nn::MaxPool2d pool{{.kernel_size = 2}};` in a class.
class Choice {
public:
    const std::string &text() const { return text_; }
    operator AttrValue() const { return text_; }

protected:
    explicit Choice(std::string_view text) : text_(text) {}

private:
    std::string text_;
};

}  // namespace halyard
