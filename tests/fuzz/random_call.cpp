#include "tests/fuzz/random_call.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "registry/dispatch/plan.h"
#include "registry/op/names.h"
#include "registry/op/signature.h"

namespace halyard::fuzz {
namespace {

constexpr int64_t max_elements = 1 << 16;

int64_t hostile_integer(Draw &draw) {
    using Limits = std::numeric_limits<int64_t>;
    static const std::vector<int64_t> values = {0,
                                                1,
                                                -1,
                                                2,
                                                -2,
                                                3,
                                                7,
                                                -8,
                                                9,
                                                31,
                                                64,
                                                100,
                                                1000,
                                                46341,
                                                -46341,
                                                65535,
                                                65536,
                                                1 << 20,
                                                INT32_MAX,
                                                INT32_MAX - 1,
                                                INT32_MIN,
                                                int64_t(INT32_MAX) + 1,
                                                int64_t(INT32_MIN) - 1,
                                                int64_t{1} << 32,
                                                int64_t{1} << 40,
                                                int64_t{1} << 61,
                                                3037000500,
                                                -3037000500,
                                                Limits::max(),
                                                Limits::max() - 1,
                                                Limits::min(),
                                                Limits::min() + 1,
                                                Limits::max() / 2};
    if (draw.one_in(2)) return draw.of(values);
    if (draw.one_in(2)) return int64_t(draw.below(20)) - 6;
    return int64_t(draw.bits()) >> draw.below(64);
}

double hostile_real(Draw &draw) {
    static const std::vector<double> values = {
        0,         -0.0,   1,        -1,       0.5,    -0.5,  2,      1e-5,         0.999999,
        1.0000001, 1e-300, 1e300,    -1e300,   5e-324, 1e-45, 3.5e38, 2147483648.0, -2147483649.0,
        9.3e18,    NAN,    INFINITY, -INFINITY};
    return draw.of(values);
}

std::string hostile_text(Draw &draw) {
    static const std::string letters("abijk,->.* \n%s\xff");
    std::string text;
    for (uint64_t left = draw.below(14); left > 0; left--)
        text += letters[draw.below(letters.size())];
    return text;
}

DType any_dtype(Draw &draw) { return (DType)draw.below(dtype_count); }

struct Sample {
    std::map<std::string, std::string> attrs;
    Dims dims;
};

// Parses "n=3 c=7 axis=1".
Sample parsed(const OpRecord &record, const std::string &text) {
    Sample sample;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const size_t at = word.find('=');
        const std::string name = word.substr(0, at);
        const std::string value = word.substr(at + 1);
        const auto is_it = [&](const AttrSpec &a) { return a.name == name; };
        if (std::ranges::any_of(record.attrs, is_it))
            sample.attrs[name] = value;
        else
            sample.dims[name] = std::stoll(value);
    }
    return sample;
}

std::vector<DType> dtypes_of(const std::string &text) {  // "f32,i32"
    std::vector<DType> all;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) all.push_back(dtype_of(word));
    return all;
}

AttrValue hostile_value(Draw &draw, const AttrSpec &a) {
    if (draw.one_in(30))
        // The attribute has another kind.
        return draw.one_in(2) ? AttrValue("none") : AttrValue(0.25);
    switch (a.kind) {
    case AttrKind::integer:
        return draw.one_in(2) ? hostile_integer(draw) : int64_t(draw.below(5)) - 2;
    case AttrKind::boolean: return draw.one_in(2);
    case AttrKind::real: return hostile_real(draw);
    case AttrKind::choice:
        return a.choices.empty() ? AttrValue("none") : AttrValue(draw.of(a.choices));
    case AttrKind::dtype: return any_dtype(draw);
    case AttrKind::text: return hostile_text(draw);
    case AttrKind::ints: break;
    }
    const bool fits = !a.parts.empty() && !draw.one_in(4);
    Ints list(fits ? a.parts.size() : draw.below(10));
    for (int64_t &v : list) v = draw.one_in(3) ? hostile_integer(draw) : int64_t(draw.below(6)) - 1;
    return list;
}

// Draws one call step by step: attributes and extents from a sample, then changes to them.
class CallGenerator {
public:
    CallGenerator(const RegisteredOp &op, uint64_t number)
        : op_(op), record_(op.record),
          draw_(number), call_{&op, attributes_of_a_sample(), {}, {}, Way::run, draw_.bits()} {}

    RandomCall call() {
        change_attributes();
        change_extents();
        lay_out();
        choose_way();
        return call_;
    }

private:
    const RegisteredOp &op_;
    const OpRecord &record_;
    Draw draw_;
    Dims sample_dims_;
    std::map<std::string, DType> dtypes_;  // The dtypes of type variables.
    std::map<std::string, Shape> groups_;  // The dimensions that ..n stands for.
    Shape common_;  // The shape of inputs of any rank, if it isn't the sample's.
    bool has_common_ = false;
    RandomCall call_;

    Attrs attributes_of_a_sample() {
        Sample sample;
        if (!record_.samples.empty()) sample = parsed(record_, draw_.of(record_.samples));
        sample_dims_ = sample.dims;
        const auto set = record_.dtypes.empty() ? "f32" : draw_.of(record_.dtypes);
        const std::vector<DType> bound = dtypes_of(set);
        size_t next = 0;
        for (auto *side : {&op_.signature.inputs, &op_.signature.outputs}) {
            for (const TensorSpec &t : *side) {
                if (is_type_variable(t.dtype) && !dtypes_.count(t.dtype))
                    dtypes_[t.dtype] = bound[std::min(next++, bound.size() - 1)];
            }
        }
        for (const AttrSpec &a : record_.attrs) {
            if (a.kind == AttrKind::dtype && a.name == "dtype" && !sample.attrs.count("dtype"))
                sample.attrs["dtype"] = name_of(dtype_of_tensor(op_.signature.outputs[0]));
        }
        return Attrs(record_, sample.attrs);
    }

    DType dtype_of_tensor(const TensorSpec &t) const {
        return is_type_variable(t.dtype) ? dtypes_.at(t.dtype) : dtype_of(t.dtype);
    }

    void change_attributes() {
        if (draw_.one_in(2)) return;
        for (size_t k = 0; k < record_.attrs.size(); k++) {
            if (draw_.one_in(2))
                call_.changes.emplace_back(k, hostile_value(draw_, record_.attrs[k]));
        }
    }

    // Keeps the sample's extents or, sometimes, draws others; all tensors together stay small.
    void change_extents() {
        Dims dims = sample_dims_;
        if (draw_.one_in(2)) {
            for (auto &[name, extent] : dims)
                if (draw_.one_in(2)) extent = other_extent();
        }
        if (draw_.one_in(4)) {
            has_common_ = true;
            for (uint64_t rank = draw_.below(6); rank > 0; rank--)
                common_.push_back(other_extent());
        }
        for (int tries = 0; tries < 40; tries++) {
            draw_shapes(dims);
            if (largest() <= max_elements) return;
            auto most = std::ranges::max_element(dims, {}, [](auto &d) { return d.second; });
            if (most != dims.end()) most->second /= 2;
            for (int64_t &extent : common_) extent = std::min<int64_t>(extent, 3);
        }
        for (Operand &o : call_.operands)
            for (int64_t &extent : o.shape) extent = std::min<int64_t>(extent, 3);
    }

    int64_t other_extent() {
        static const std::vector<int64_t> extents = {0, 1,  1,  2,  3,  4,  5,  7,
                                                     8, 15, 16, 17, 31, 33, 64, 100};
        return draw_.one_in(40) ? int64_t(draw_.below(70000)) : draw_.of(extents);
    }

    // Returns the number of elements, as if no extent were 0, up to the limit.
    static int64_t volume(const Shape &shape) {
        int64_t elements = 1;
        for (const int64_t extent : shape)
            elements = std::min(elements * std::max<int64_t>(extent, 1), 5 * max_elements);
        return elements;
    }

    int64_t largest() const {
        int64_t most = 0;
        for (const Operand &o : call_.operands) most = std::max(most, volume(o.shape));
        return most;
    }

    void draw_shapes(Dims dims) {
        bind_attributes(call_.attrs, dims);
        groups_.clear();
        for (const TensorSpec &t : op_.signature.inputs) {
            if (!t.group.empty() && !groups_.count(t.group))
                dims[t.group] = draw_group(t.group, dims);
        }
        try {
            bind_derived(record_, dims);
        } catch (const Error &) {  // The extents contradict attributes: the op must report it.
        }
        call_.operands.clear();
        for (const TensorSpec &t : op_.signature.inputs) {
            Operand o;
            o.dtype = dtype_of_tensor(t);
            o.shape = shape_of(t, dims);
            const auto end = dims.find(t.name + "_end");
            if (end != dims.end()) o.end = end->second;
            const auto least = dims.find(t.name + "_least");
            if (least != dims.end() && is_float(o.dtype)) o.least = double(least->second);
            call_.operands.push_back(o);
        }
    }

    int64_t draw_group(const std::string &name, const Dims &dims) {
        const auto found = dims.find(name);
        const int64_t extent = found == dims.end() ? 1 + int64_t(draw_.below(4)) : found->second;
        Shape &group = groups_[name];
        switch (draw_.below(6)) {
        case 0: group = {1, extent}; break;
        case 1: group = {2, extent}; break;
        case 2:
            if (extent == 1) break;  // A tensor without dimensions is one row.
            [[fallthrough]];
        default: group = {extent};
        }
        return group.elements();
    }

    Shape shape_of(const TensorSpec &t, const Dims &dims) {
        Shape shape;
        if (t.any_rank) {
            if (has_common_) return common_;
            for (const char *name : {"d0", "d1", "d2"})
                if (dims.count(name)) shape.push_back(dims.at(name));
            return shape;
        }
        if (!t.group.empty()) shape = groups_.at(t.group);
        for (const std::string &e : t.extents)
            if (shape.rank() < max_rank) shape.push_back(extent_of(e, dims));
        const auto swap = dims.find("transpose_" + t.name);
        if (swap != dims.end() && swap->second && shape.rank() > 1)
            std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
        return shape;
    }

    int64_t extent_of(const std::string &expression, const Dims &dims) {
        try {
            const int64_t extent = evaluate<int64_t>(expression, dims);
            if (extent >= 0 && extent <= max_elements) return extent;
        } catch (const Error &) {  // No sample gives the name, or it divides by zero.
        }
        return 1 + int64_t(draw_.below(5));
    }

    // Changes what a caller may get wrong or pass in another way, one operand at a time.
    void lay_out() {
        const bool change_layouts = draw_.one_in(2);
        const bool changed = draw_.one_in(6);
        // Otherwise they may imply another full size.
        const bool broadcasts = !changed && draw_.one_in(3);
        const bool undefined = draw_.one_in(25);
        const auto values = (Values)draw_.below(3);
        const uint64_t whole = draw_.below(
            call_.operands.size());  // This operand gives the full size of the others.
        for (size_t k = 0; k < call_.operands.size(); k++) {
            Operand &o = call_.operands[k];
            o.values = values_of(op_.signature.inputs[k], o.dtype, values);
            if (changed && draw_.one_in(2)) change_shape(o.shape);
            if (draw_.one_in(40)) o.dtype = any_dtype(draw_);
            if (undefined && draw_.one_in(2)) o.defined = false;
            if (change_layouts && draw_.one_in(2)) o.layout = random_layout(o.shape.rank());
            if (broadcasts && k != whole && draw_.one_in(2))
                o.broadcast = some_dimensions(op_.signature.inputs[k], o.shape);
        }
        if (draw_.one_in(80) && !call_.operands.empty()) call_.operands.pop_back();
        if (draw_.one_in(80)) {
            Operand extra;
            extra.shape = {2};
            call_.operands.push_back(extra);
        }
    }

    Values values_of(const TensorSpec &t, DType dtype, Values values) {
        if (is_float(dtype)) return values;
        if (draw_.one_in(8)) return Values::hostile;
        return is_type_variable(t.dtype) ? Values::small : Values::indices;
    }

    void change_shape(Shape &shape) {
        const int at = shape.rank() ? int(draw_.below(uint64_t(shape.rank()))) : 0;
        if (draw_.one_in(6) && shape.rank() < max_rank)
            shape.insert(at, 1 + int64_t(draw_.below(3)));
        if (shape.rank() == 0) return;
        switch (draw_.below(5)) {
        case 0: shape[at] = 0; break;
        case 1: shape[at] = 1; break;
        case 2: shape.erase(at); break;
        case 3: shape[at] += draw_.one_in(2) ? 1 : -1; break;
        default: shape[at] = int64_t(draw_.below(40));
        }
        for (int64_t &extent : shape) extent = std::max<int64_t>(extent, 0);
        if (volume(shape) > 4 * max_elements) shape = {3};
    }

    std::string random_layout(int rank) {
        static const std::vector<std::string> all = {"reversed", "swapped", "gaps",
                                                     "pitch",    "shifted", "still"};
        std::string layout = draw_.of(all);
        if (layout != "still") return layout;
        return rank ? layout + std::to_string(draw_.below(uint64_t(rank))) : "shifted";
    }

    // Returns some of the dimensions that NumPy's rules let a caller pass with an extent of 1: any
    // if inputs of any rank broadcast against each other, and a leading ..n that another input has
    // too.
    unsigned some_dimensions(const TensorSpec &t, const Shape &shape) {
        const auto is_index = [](const TensorSpec &o) {
            return o.any_rank && !is_type_variable(o.dtype);
        };
        if (record_.form == Form::composite && std::ranges::any_of(op_.signature.inputs, is_index))
            return 0;  // A shorter index has another meaning.
        const auto shared = [&](const TensorSpec &o) {
            return &o != &t && (t.any_rank ? o.any_rank : !t.group.empty() && o.group == t.group);
        };
        if (std::ranges::none_of(op_.signature.inputs, shared)) return 0;
        const int count = t.any_rank ? shape.rank() : groups_.at(t.group).rank();
        return unsigned(draw_.bits()) & ((1u << std::min(count, shape.rank())) - 1);
    }

    void choose_way() {
        const auto updates = [](const TensorSpec &t) { return t.name.ends_with("_out"); };
        const bool may_update = std::ranges::any_of(op_.signature.outputs, updates);
        const bool elementwise = record_.form == Form::elementwise;
        if ((may_update || elementwise) && draw_.one_in(4))
            call_.way = Way::in_place;
        else if (elementwise && draw_.one_in(4))
            call_.way = Way::promoted;
        else if (draw_.one_in(3))
            call_.way = Way::gradient;
    }
};

std::string text_of(const AttrValue &value) {
    if (const auto *i = std::get_if<int64_t>(&value.v)) return std::to_string(*i);
    if (const auto *r = std::get_if<double>(&value.v)) return std::to_string(*r);
    if (const auto *s = std::get_if<std::string>(&value.v)) return "'" + *s + "'";
    std::string text;
    for (const int64_t v : std::get<Ints>(value.v))
        text += (text.empty() ? "" : ",") + std::to_string(v);
    return text.empty() ? "none" : text;
}

}  // namespace

Shape Operand::given() const {
    Shape g = shape;
    for (int d = 0; d < g.rank(); d++)
        if ((broadcast >> d & 1) && g[d] > 1) g[d] = 1;
    return g;
}

std::string RandomCall::text() const {
    static const char *values[] = {"quarters", "specials", "small", "indices", "hostile"};
    static const char *ways[] = {"", ", promoted", ", in place", ", gradient"};
    std::string s = op->record.name + ways[size_t(way)] + " " + attrs.text();
    for (auto &[k, value] : changes) s += " but " + op->record.attrs[k].name + "=" + text_of(value);
    for (const Operand &o : operands) {
        s += std::string(" | ") + (o.defined ? name_of(o.dtype) + o.given().text() : "undefined");
        if (o.broadcast) s += " for " + o.shape.text();
        if (!o.layout.empty()) s += " " + o.layout;
        s += std::string(" ") + values[size_t(o.values)];
    }
    return s;
}

RandomCall random_call(const std::vector<const RegisteredOp *> &ops, uint64_t number) {
    return CallGenerator(*ops[number % ops.size()], number).call();
}

}  // namespace halyard::fuzz
