# 32-bit ARM under Linux, Cortex-A with NEON: Debian's gcc-arm-linux-gnueabihf.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_C_FLAGS_INIT "-march=armv7-a+neon-vfpv4")
find_program(EMULATOR NAMES qemu-arm qemu-arm-static)
if(EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${EMULATOR} -L /usr/arm-linux-gnueabihf)
endif()
