// DeviceCopy: the bytes of a tensor's memory on a device. Host and device each know whether theirs
// are up to date; a copy happens once, when the other side reads them.
#pragma once

namespace halyard {

class Tensor;

class DeviceCopy {
public:
    virtual ~DeviceCopy() = default;
    // Brings the host's bytes up to date.
    virtual void fetch() = 0;
    // Lets the host write: its bytes are up to date, unless `all` of them will be written, and the
    // device's no longer are.
    virtual void fetch_to_write(bool all) = 0;
    // Copies the elements of `from`, which this is the copy of, into `to` on the device. Returns
    // false if the host should: its bytes are up to date, or the device can't.
    virtual bool copy_elements(const Tensor &to, const Tensor &from) = 0;
};

}  // namespace halyard
