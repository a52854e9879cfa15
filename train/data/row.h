// Row: one row of a dataset, with a tensor for each column.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::dataset {

using Columns = std::shared_ptr<const std::vector<std::string>>;
using Tensors = std::vector<Tensor>;

class Row {
public:
    Row() = default;
    Row(Columns columns, Tensors tensors, std::shared_ptr<const std::string> origin = {})
        : columns_(std::move(columns)), tensors_(std::move(tensors)), origin_(std::move(origin)) {}
    // Returns the tensor of a column. Throws AttrError with the names of the columns.
    const Tensor &operator[](const std::string &column) const;
    template<std::integral I> const Tensor &operator[](I i) const { return tensors_.at(size_t(i)); }
    size_t size() const { return tensors_.size(); }
    const Columns &columns() const { return columns_; }
    Tensors &tensors() { return tensors_; }
    const Tensors &tensors() const { return tensors_; }
    // Returns where the row was read, for error messages: "a/b.jpg", "s.tar: 7.jpg at byte 512". It
    // is null for rows from memory and for batches.
    const std::shared_ptr<const std::string> &origin() const { return origin_; }

private:
    Columns columns_;
    Tensors tensors_;
    std::shared_ptr<const std::string> origin_;
};

// Returns the index of a column. Throws AttrError with the names of the columns.
size_t find_column(const std::string &op, const Columns &columns, const std::string &name);

}  // namespace halyard::dataset
