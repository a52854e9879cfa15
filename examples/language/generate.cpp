#include "examples/language/generate.h"

#include <algorithm>

#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/argmax.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/random_order.h"
#include "primitives/ops/softmax.h"
#include "registry/base/error.h"

namespace halyard::examples {

std::string continued(const nn::Cell &network, std::string text, int64_t count, int64_t length,
                      double temperature) {
    if (text.empty())
        throw AttrError("generate", "the text is empty, expected a byte to go on from");
    const StopTape stop;
    for (int64_t i = 0; i < count; i++) {
        const int64_t seen = std::min(int64_t(text.size()), length);
        const Tensor x = Tensor::empty({1, seen}, DType::i32);
        for (int64_t k = 0; k < seen; k++)
            x.data<int32_t>()[k] = (unsigned char)text[text.size() - size_t(seen - k)];
        const Tensor logits = network(x).slice(1, seen - 1, seen).reshape({-1});
        const Tensor next = temperature > 0 ? F::multinomial(F::softmax(logits / temperature), 1)
                                            : F::argmax(logits);
        text += char(next.reshape({}).item<int>());
    }
    return text;
}

}  // namespace halyard::examples
