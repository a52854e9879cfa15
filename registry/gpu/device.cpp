#include "registry/gpu/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "registry/base/error.h"
#include "registry/base/fork.h"

namespace halyard::gpu {
namespace {

// Throws AttrError if the variable has another value than 0 or 1.
bool environment_synchronizes_launches() {
    const char *given = std::getenv("HALYARD_DEVICE_SYNC");
    const std::string value = given ? given : "";
    if (value.empty() || value == "0") return false;
    if (value == "1") return true;
    throw AttrError("device", "HALYARD_DEVICE_SYNC is '" + value + "', expected 0 or 1");
}

}  // namespace

Device::Session::Session(const std::string &device, std::unique_ptr<Driver> opened)
    : driver(std::move(opened)), pool(*driver, device), process(getpid()),
      synchronizes_launches(environment_synchronizes_launches()) {}

bool Device::Session::answers() noexcept {
    try {
        driver->synchronize();
        return true;
    } catch (...) {
        return false;
    }
}

void Device::Session::synchronized() {
    launched.clear();
    launches = 0;
}

void Device::Session::add_launch(const char *entry) {
    constexpr size_t most = 16;  // in a message
    launches++;
    launched.emplace_back(entry);
    if (launched.size() > most) launched.pop_front();
}

std::string Device::Session::launches_text() const {
    if (launched.empty()) return "";
    std::string text = "; launched since the last synchronisation: ";
    for (const std::string &entry : launched)
        text += (&entry == &launched.front() ? "" : ", ") + entry;
    const size_t others = launches - launched.size();
    return others == 0 ? text : text + ", and " + std::to_string(others) + " before them";
}

Device::Device(std::string name, Open open, Interface interface)
    : name_(std::move(name)), open_(open), interface_(interface) {
    hold_over_fork(mutex_);
}

bool Device::belongs_to_parent() const {
    return session_ && is_forked_child() && session_->process != getpid();
}

// Returns the open session; the mutex is held.
Device::Session &Device::session() {
    if (belongs_to_parent()) {
        throw DeviceError(name_, "this process was made by fork() after its parent opened the "
                                 "device: a driver works in the parent only");
    }
    if (session_ && session_->is_lost) end_session();
    if (!session_) {
        session_ = std::make_unique<Session>(name_, open_());
        alignment_ = session_->driver->alignment();
        opening_++;
    }
    return *session_;
}

// Returns f(session). If the driver has no memory left, kept blocks are returned to it and f is
// called again.
template<class F> auto Device::with_session(F f) {
    const std::lock_guard lock(mutex_);
    Session &s = session();
    try {
        try {
            return f(s);
        } catch (const OutOfMemory &) {
            s.pool.trim();
            return f(s);
        }
    } catch (const OutOfMemory &) {
        throw MemoryError(name_, "out of memory during a copy or a launch, with " +
                                     std::to_string(s.pool.live_bytes()) +
                                     " bytes in use and none kept");
    } catch (const DriverFailure &failure) {
        const std::string text = failure.text + s.launches_text();
        if (!s.answers()) {
            s.is_lost = true;
            opening_++;  // its blocks are lost with it
        }
        throw DeviceError(name_, text);
    }
}

DevicePlace Device::place_of(Session &s, Address address, size_t bytes) const {
    const DevicePlace place = s.pool.find(address, bytes);
    if (!place.block) {
        throw DeviceError(name_, std::to_string(bytes) + " bytes at address " +
                                     std::to_string(address) + " are in no block of the device");
    }
    return place;
}

Address Device::allocate(size_t bytes) {
    return with_session([&](Session &s) { return s.pool.allocate(bytes); });
}

void Device::release(Address block) {
    const std::lock_guard lock(mutex_);
    if (session_ && !belongs_to_parent()) session_->pool.release(block);
}

void Device::upload(Address to, const void *from, size_t bytes) {
    if (bytes == 0) return;
    with_session([&](Session &s) {
        s.driver->upload(place_of(s, to, bytes), from, bytes);
        s.synchronized();
        counters_.uploads++;
        counters_.uploaded_bytes += int64_t(bytes);
    });
}

void Device::download(void *to, Address from, size_t bytes) {
    if (bytes == 0) return;
    with_session([&](Session &s) {
        s.driver->download(to, place_of(s, from, bytes), bytes);
        s.synchronized();
        counters_.downloads++;
        counters_.downloaded_bytes += int64_t(bytes);
    });
}

void Device::copy(Address to, Address from, size_t bytes) {
    if (bytes == 0) return;
    with_session([&](Session &s) {
        s.driver->copy(place_of(s, to, bytes), place_of(s, from, bytes), bytes);
        counters_.copies++;
        counters_.copied_bytes += int64_t(bytes);
    });
}

void Device::fill(Address to, uint8_t byte, size_t bytes) {
    if (bytes == 0) return;
    with_session([&](Session &s) { s.driver->fill(place_of(s, to, bytes), byte, bytes); });
}

void Device::synchronize() {
    with_session([&](Session &s) {
        s.driver->synchronize();
        s.synchronized();
    });
}

std::string Device::name() {
    return with_session([](Session &s) { return s.driver->name(); });
}

Counters Device::counters() const {
    const std::lock_guard lock(mutex_);
    Counters c = counters_;
    if (session_) {
        c.driver_allocations += session_->pool.driver_allocations();
        c.live_bytes = int64_t(session_->pool.live_bytes());
        c.kept_bytes = int64_t(session_->pool.kept_bytes());
    }
    return c;
}

void Device::open() {
    const std::lock_guard lock(mutex_);
    session();
}

void Device::close() noexcept {
    const std::lock_guard lock(mutex_);
    if (session_ && !belongs_to_parent()) end_session();
}

// The mutex is held.
void Device::end_session() noexcept {
    counters_.driver_allocations += session_->pool.driver_allocations();
    session_.reset();
}

std::optional<int> Device::index() const {
    const std::lock_guard lock(mutex_);
    return session_ ? std::optional(session_->driver->index()) : std::nullopt;
}

Module &Device::add_module(const char *text) {
    const std::lock_guard lock(mutex_);
    modules_.push_back(std::make_unique<Module>(Module{text}));
    return *modules_.back();
}

void Device::compile(Session &s, Module &module) {
    if (module.opening == opening_) return;
    module.functions.clear();
    module.program = s.driver->compile(module.text);
    module.opening = opening_;
}

void *Device::function(Session &s, Module &module, const char *entry) {
    compile(s, module);
    const auto at = module.functions.find(std::string_view(entry));
    if (at != module.functions.end()) return at->second;
    void *const found = s.driver->function(module.program, entry);
    module.functions.emplace(entry, found);
    return found;
}

void Device::launch_now(Session &s, Module &module, const Launch &launch) {
    void *const f = function(s, module, launch.entry);
    s.driver->launch(f, launch);
    s.add_launch(launch.entry);
    counters_.launches++;
    if (!s.synchronizes_launches) return;
    s.driver->synchronize();
    s.synchronized();
}

void Device::launch(Module &module, Launch launch, std::span<const LaunchArgument> arguments) {
    if (std::find(launch.blocks, launch.blocks + 3, 0U) != launch.blocks + 3) return;
    with_session([&](Session &s) {
        std::vector<Argument> placed;
        placed.reserve(arguments.size());
        for (const LaunchArgument &a : arguments) {
            Argument &p = placed.emplace_back(Argument{a.bytes, a.value, a.is_address, {}});
            if (!a.is_address) continue;
            const Address address = *static_cast<const Address *>(a.value);
            if (address) p.place = place_of(s, address, 0);
        }
        launch.arguments = placed;
        launch_now(s, module, launch);
    });
}

}  // namespace halyard::gpu
