// A GPU, on whichever driver: the pool of its memory, its modules of kernels, its counters, and
// what becomes of its driver's failures.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/gpu/driver.h"
#include "registry/gpu/gpu.h"
#include "registry/gpu/pool.h"

namespace halyard::gpu {

// The device functions of a kernel, compiled when the first of them is launched after the device
// was opened.
struct Module {
    const char *text;
    int64_t opening = 0;  // when it was compiled
    void *program = nullptr;
    std::map<std::string, void *, std::less<>> functions = {};
};

class Device final : public Gpu {
public:
    // `open` throws DeviceError if the driver has no such device.
    using Open = std::unique_ptr<Driver> (*)();
    using Interface = const halide_device_interface_t *(*)();
    // Must never be destroyed: fork() waits for its mutex.
    Device(std::string name, Open open, Interface interface);

    Address allocate(size_t bytes) override;
    void release(Address block) override;
    void upload(Address to, const void *from, size_t bytes) override;
    void download(void *to, Address from, size_t bytes) override;
    void copy(Address to, Address from, size_t bytes) override;
    void fill(Address to, uint8_t byte, size_t bytes) override;
    void synchronize() override;
    std::string name() override;
    size_t alignment() const override { return alignment_; }
    int64_t opening() const override { return opening_; }
    Counters counters() const override;
    const halide_device_interface_t *interface() const override { return interface_(); }

    // Opens the driver, unless it is open. The other functions open it, too. A driver that answers
    // no more, after a kernel's bad access for example, is closed and opened again.
    void open();
    // Returns memory and modules to the driver. The next use opens it again.
    void close() noexcept;
    // Returns the number of the device that is open.
    std::optional<int> index() const;

    // Returns the module of the text, which must stay where it is as long as the module is used.
    Module &add_module(const char *text);
    struct LaunchArgument {
        size_t bytes;
        const void *value;  // of an Address if it is one
        bool is_address;
    };
    // Launches a function of the module; the arguments of `launch` are still to be set. A launch
    // without blocks does nothing.
    void launch(Module &module, Launch launch, std::span<const LaunchArgument> arguments);

private:
    // What lives from open() to close().
    struct Session {
        Session(const std::string &device, std::unique_ptr<Driver> opened);
        std::unique_ptr<Driver> driver;
        Pool pool;
        std::deque<std::string> launched;  // since the last synchronisation, the last of them
        size_t launches = 0;               // the number of all of them
        pid_t process;
        bool synchronizes_launches;
        bool is_lost = false;  // the driver answers no more

        bool answers() noexcept;

        void synchronized();
        void add_launch(const char *entry);
        std::string launches_text() const;
    };

    template<class F> auto with_session(F f);
    Session &session();
    void end_session() noexcept;
    bool belongs_to_parent() const;
    DevicePlace place_of(Session &s, Address address, size_t bytes) const;
    void compile(Session &s, Module &module);
    void *function(Session &s, Module &module, const char *entry);
    void launch_now(Session &s, Module &module, const Launch &launch);

    const std::string name_;
    const Open open_;
    const Interface interface_;
    mutable std::mutex mutex_;
    std::unique_ptr<Session> session_;
    std::vector<std::unique_ptr<Module>> modules_;
    Counters counters_;  // but for memory, which the pool counts
    std::atomic<size_t> alignment_ = 1;
    std::atomic<int64_t> opening_ = 0;
};

}  // namespace halyard::gpu
