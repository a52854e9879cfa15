// Runs a plan's kernel on a GPU.
#include <algorithm>
#include <array>
#include <vector>

#include "registry/base/error.h"
#include "registry/dispatch/arguments.h"
#include "registry/dispatch/device.h"
#include "registry/gpu/buffer_rows.h"
#include "registry/gpu/gpu.h"
#include "registry/gpu/resident.h"

namespace halyard {
namespace gpu {
namespace {

// A block of the device's memory for the time of a call.
class Block {
public:
    Block() = default;
    Block(Gpu &gpu, size_t bytes) : gpu_(&gpu), address_(gpu.allocate(bytes)) {}
    ~Block() {
        if (gpu_) gpu_->release(address_);
    }
    Block(Block &&o) noexcept : gpu_(std::exchange(o.gpu_, nullptr)), address_(o.address_) {}
    Block &operator=(Block &&o) noexcept {
        std::swap(gpu_, o.gpu_);
        std::swap(address_, o.address_);
        return *this;
    }
    Address address() const { return address_; }

private:
    Gpu *gpu_ = nullptr;
    Address address_ = 0;
};

// Where a call's tensor is on the device.
struct Place {
    Address block = 0;
    size_t offset = 0;             // of element [0,0,...] within the block
    Resident *resident = nullptr;  // whose block it is; null: it is the call's own
    bool host_wrote = false;       // a kernel's stage on the host did
    Block own = {};
};

bool has_gaps(const halide_buffer_t &b) {
    size_t elements = 1;
    for (int d = 0; d < b.dimensions; d++)
        elements *= size_t(b.dim[d].extent);
    return elements * b.type.bytes() != span_of(b);
}

class GpuCall {
public:
    explicit GpuCall(const Operands &call)
        : call_(call), gpu_(gpu(call.plan.kernel->backend)), inputs_(call.plan.inputs.size()) {
        for (size_t k = 0; k < call.buffers(); k++)
            places_[k] = k < inputs_ ? place_to_read(call.tensor(k))
                                     : place_to_write(call.tensor(k));
    }

    void run() {
        Arguments a;
        call_.add_to(a);
        const int64_t iterations = call_.plan.loops.empty() ? 1 : call_.plan.loops.elements();
        for (int64_t i = 0; i < iterations; i++)
            run_iteration(a, i);
        for (size_t k = inputs_; k < call_.buffers(); k++)
            finish_output(k);
    }

private:
    Place place_to_read(const Tensor &t) {
        const TensorImpl &of = *t.impl();
        if (of.storage->exposed) return copy_of(of, true);
        Resident &there = resident(*of.storage, gpu_);
        return {there.to_read(), offset_in_storage(of), &there, false, {}};
    }
    Place place_to_write(const Tensor &t) {
        const TensorImpl &of = *t.impl();
        of.count_write();
        if (of.storage->exposed) return copy_of(of, !of.dense);
        Resident &there = resident(*of.storage, gpu_);
        return {there.begin_write(of.is_whole_storage()), offset_in_storage(of), &there, false, {}};
    }
    // Returns a block for the tensor's bytes, which are in it if `filled`.
    Place copy_of(const TensorImpl &t, bool filled) {
        const size_t bytes = t.span_bytes();
        t.before_read();
        Block own(gpu_, bytes);
        if (filled) gpu_.upload(own.address(), t.data, bytes);
        const Address address = own.address();
        return {address, 0, nullptr, false, std::move(own)};
    }
    void finish_output(size_t k) {
        const Place &place = places_[k];
        const TensorImpl &t = *call_.tensor(k).impl();
        if (place.host_wrote) return finish_on_host(place, t);
        if (place.resident) return place.resident->end_write();
        gpu_.download(t.data, place.block, t.span_bytes());
    }
    void finish_on_host(const Place &place, const TensorImpl &t) const {
        if (!place.resident) return;
        if (!t.is_whole_storage()) {
            throw DispatchError(call_.plan.op->record.name,
                                "a stage of its GPU kernel runs on the CPU and writes a part of "
                                "other memory: its schedule must be for the GPU throughout");
        }
        place.resident->end_write_of_host();
    }

    void run_iteration(Arguments &a, int64_t i) {
        std::vector<std::pair<size_t, Block>> moved;  // with the number of the buffer
        for (size_t k = 0; k < call_.buffers(); k++) {
            halide_buffer_t &b = a.buffers()[k];
            const auto moved_by = size_t(call_.offset(k, i));
            const size_t offset = places_[k].offset + moved_by;
            // A stage on the host fetches its inputs, and says that it wrote its outputs.
            b.host = reinterpret_cast<uint8_t *>(call_.tensor(k).impl()->data) + moved_by;
            b.set_device_dirty(k < inputs_ && places_[k].resident);
            b.set_host_dirty(false);
            b.device_interface = gpu_.interface();
            b.device = places_[k].block + offset;
            if (offset % gpu_.alignment() != 0) moved.emplace_back(k, aligned(b, k >= inputs_));
        }
        if (const int status = call_.plan.kernel->fn(a.args))
            kernel_failed(call_.plan.op->record.name, status);
        for (size_t k = inputs_; k < call_.buffers(); k++)
            places_[k].host_wrote |= a.buffers()[k].host_dirty();
        for (const auto &[k, block] : moved) {
            if (k < inputs_ || places_[k].host_wrote) continue;
            const Address to = places_[k].block + places_[k].offset + size_t(call_.offset(k, i));
            gpu_.copy(to, block.address(), span_of(a.buffers()[k]));
        }
    }
    // Moves the buffer to a block of its own, whose beginning is aligned.
    Block aligned(halide_buffer_t &b, bool is_output) {
        const size_t bytes = span_of(b);
        Block block(gpu_, bytes);
        if (!is_output || has_gaps(b)) gpu_.copy(block.address(), b.device, bytes);
        b.device = block.address();
        return block;
    }

    const Operands &call_;
    Gpu &gpu_;
    size_t inputs_;
    std::array<Place, Plan::max_arguments> places_;
};

}  // namespace
}  // namespace gpu

void call_on_device(const Operands &call) {
    gpu::GpuCall(call).run();
}

}  // namespace halyard
