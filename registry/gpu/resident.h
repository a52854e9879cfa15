// Resident: a tensor's memory that stays on a GPU between calls.
#pragma once
#include <mutex>

#include "registry/gpu/gpu.h"
#include "registry/tensor/tensor.h"

namespace halyard::gpu {

class Resident final : public DeviceCopy {
public:
    // Takes no memory of the device yet.
    Resident(Gpu &gpu, const Storage &storage) : gpu_(gpu), storage_(storage) {}
    ~Resident() override;
    Resident(const Resident &) = delete;
    Resident &operator=(const Resident &) = delete;

    void fetch() override;
    void fetch_to_write(bool all) override;
    bool copy_elements(const Tensor &to, const Tensor &from) override;

    // Return where the storage begins on the device. Its bytes are up to date there, unless `all`
    // of them will be written. If what writes fails, those that the host has stay good.
    Address to_read();
    Address begin_write(bool all);
    // The device has written: the host's bytes are no longer up to date.
    void end_write();
    // Stages of the kernel that run on the host have written all bytes there instead.
    void end_write_of_host();
    const Gpu &device() const { return gpu_; }

private:
    enum class UpToDate { host, both, device };

    void drop_lost_block();
    bool is_on_host();
    bool copy_by_kernel(const Tensor &to, const Tensor &from) const;
    void require_block();
    void upload();
    void download();

    std::mutex mutex_;
    Gpu &gpu_;
    const Storage &storage_;
    Address block_ = 0;
    int64_t opening_ = 0;  // of the device, when the block was taken
    UpToDate up_to_date_ = UpToDate::host;
};

// Returns the copy of the tensor's memory on the GPU, which is made at the first call. Host code
// must not have the memory's address (Storage::exposed).
Resident &resident(Storage &storage, Gpu &gpu);

// Returns where the tensor's first element is, in bytes from the beginning of its storage.
size_t offset_in_storage(const TensorImpl &t);

}  // namespace halyard::gpu
