# A microcontroller without an operating system, Cortex-M4 with its FPU: Debian's gcc-arm-none-eabi and
# libnewlib-arm-none-eabi. The test runs on a board of qemu-system-arm where that is installed. For another chip give its options:
# cmake -B build -DCMAKE_C_FLAGS="-mcpu=cortex-m0 -mthumb"
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -ffunction-sections -fdata-sections")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
find_program(EMULATOR NAMES qemu-system-arm)
if(EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${EMULATOR} -M mps2-an386 -nographic -monitor none -serial none
    -semihosting-config enable=on,target=native -kernel)
endif()
