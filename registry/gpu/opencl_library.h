// OpenCL's functions, found at run time, and its devices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::gpu::cl {

// The types of OpenCL 1.2's C interface. Objects are only passed on.
using Object = void *;
using Int = int32_t;
using Uint = uint32_t;
using Ulong = uint64_t;

// Its constants, by their names without CL_ and in the case of the kit.
inline constexpr Int success = 0, mem_object_allocation_failure = -4, out_of_resources = -5,
                     out_of_host_memory = -6, invalid_buffer_size = -61;
inline constexpr Uint platform_name = 0x0902;
inline constexpr Uint device_name = 0x102B, device_max_compute_units = 0x1002,
                      device_mem_base_addr_align = 0x1019, device_max_constant_buffer_size = 0x1020,
                      device_max_constant_args = 0x1021;
inline constexpr intptr_t context_platform = 0x1084;
inline constexpr Uint program_build_log = 0x1183;
inline constexpr Ulong mem_read_write = 1;
inline constexpr Uint buffer_create_type_region = 0x1220;

struct BufferRegion {
    size_t origin, size;
};

// The functions that the run time calls, by their names without cl.
struct Functions {
    Int (*get_platform_ids)(Uint, Object *, Uint *);
    Int (*get_platform_info)(Object, Uint, size_t, void *, size_t *);
    Int (*get_device_ids)(Object, Ulong, Uint, Object *, Uint *);
    Int (*get_device_info)(Object, Uint, size_t, void *, size_t *);
    Object (*create_context)(const intptr_t *, Uint, const Object *, void *, void *, Int *);
    Int (*release_context)(Object);
    Object (*create_command_queue)(Object, Object, Ulong, Int *);
    Int (*release_command_queue)(Object);
    Object (*create_buffer)(Object, Ulong, size_t, void *, Int *);
    Object (*create_sub_buffer)(Object, Ulong, Uint, const void *, Int *);
    Int (*release_mem_object)(Object);
    Int (*enqueue_write_buffer)(Object, Object, Uint, size_t, size_t, const void *, Uint,
                                const Object *, Object *);
    Int (*enqueue_read_buffer)(Object, Object, Uint, size_t, size_t, void *, Uint, const Object *,
                               Object *);
    Int (*enqueue_copy_buffer)(Object, Object, Object, size_t, size_t, size_t, Uint, const Object *,
                               Object *);
    Int (*enqueue_fill_buffer)(Object, Object, const void *, size_t, size_t, size_t, Uint,
                               const Object *, Object *);
    Int (*flush)(Object);
    Int (*finish)(Object);
    Object (*create_program_with_source)(Object, Uint, const char **, const size_t *, Int *);
    Int (*build_program)(Object, Uint, const Object *, const char *, void *, void *);
    Int (*get_program_build_info)(Object, Object, Uint, size_t, void *, size_t *);
    Int (*release_program)(Object);
    Object (*create_kernel)(Object, const char *, Int *);
    Int (*release_kernel)(Object);
    Int (*set_kernel_arg)(Object, Uint, size_t, const void *);
    Int (*enqueue_nd_range_kernel)(Object, Object, Uint, const size_t *, const size_t *,
                                   const size_t *, Uint, const Object *, Object *);
};

// The library, which stays open. Two environment variables select the platform and the types of
// device, as for Halide's run time: HL_OCL_PLATFORM_NAME is a part of a name, HL_OCL_DEVICE_TYPE
// lists cpu, gpu and acc. By default the first platform and all types are used.
class Library {
public:
    static const Library &get();

    const Functions &functions() const { return functions_; }
    // Returns why OpenCL can't be used; "" if it can. Platforms may come and go.
    std::string error() const;
    // Returns null without one.
    Object platform() const;
    // Returns the devices of the platform that are of the types; none if error() isn't "".
    std::vector<Object> devices() const;

private:
    Library();
    template<class F> void find(F &function, const char *name);
    std::vector<Object> platforms() const;
    std::string name_of(Object platform) const;
    bool ends_the_process(Object platform) const;

    void *library_ = nullptr;
    std::string missing_;  // why the functions can't be called
    Functions functions_ = {};
};

// Returns an error's name, as in CL_INVALID_VALUE, with its number.
std::string error_text(Int code);

}  // namespace halyard::gpu::cl
