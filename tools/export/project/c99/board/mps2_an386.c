/* What a C program needs on a bare Cortex-M4 under QEMU (machine mps2-an386): the vectors, and
 * newlib's system calls, which semihosting passes to the emulator. QEMU loads the data and clears
 * the rest. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

extern char board_heap[], board_heap_end[], board_stack_end[];

int main(void);
void board_reset(void);
void _fini(void);

/* Calls of semihosting. */
enum { sys_open = 1, sys_close = 2, sys_write = 5, sys_read = 6, sys_exit_extended = 0x20 };

static intptr_t semihosting(intptr_t call, const void *arguments) {
    register intptr_t r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* newlib's exit() calls it. */
void _fini(void) {}

void _exit(int status) {
    const intptr_t arguments[] = {0x20026 /* the application ends */, status};
    for (;;)
        semihosting(sys_exit_extended, arguments);
}

/* Opens a file of the machine that runs the emulator: mode 1 reads bytes, 5 writes them. */
static intptr_t host_open(const char *name, intptr_t mode) {
    intptr_t length = 0;
    while (name[length])
        length++;
    {
        const intptr_t arguments[] = {(intptr_t)name, mode, length};
        return semihosting(sys_open, arguments);
    }
}

int _open(const char *name, int flags) {
    const intptr_t file = host_open(name, (flags & 3) == 0 ? 1 : 5);
    return file < 0 ? -1 : (int)file + 3;
}

int _close(int file) {
    const intptr_t arguments[] = {file - 3};
    return file < 3 ? 0 : (int)semihosting(sys_close, arguments);
}

/* Semihosting returns how many bytes are left. */
int _write(int file, const char *bytes, int count) {
    static intptr_t terminal = -1;
    intptr_t arguments[3];
    if (file < 3 && terminal < 0) terminal = host_open(":tt", 5);
    arguments[0] = file < 3 ? terminal : file - 3;
    arguments[1] = (intptr_t)bytes;
    arguments[2] = count;
    return count - (int)semihosting(sys_write, arguments);
}

int _read(int file, char *bytes, int count) {
    const intptr_t arguments[] = {file - 3, (intptr_t)bytes, count};
    return file < 3 ? 0 : count - (int)semihosting(sys_read, arguments);
}

int _lseek(int file, int offset, int from) {
    (void)file;
    (void)offset;
    (void)from;
    errno = ESPIPE;
    return -1;
}

int _fstat(int file, struct stat *status) {
    status->st_mode = file < 3 ? S_IFCHR : S_IFREG;
    return 0;
}

int _isatty(int file) {
    return file < 3;
}

int _kill(int process, int signal) {
    (void)process;
    _exit(128 + signal);
    return -1;
}

int _getpid(void) {
    return 1;
}

void *_sbrk(intptr_t bytes) {
    static char *end = board_heap;
    char *const begin = end;
    if (bytes > board_heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += bytes;
    return begin;
}

static void board_fault(void) {
    static const char text[] = "the processor reports a fault\n";
    _write(2, text, sizeof text - 1);
    _exit(134);
}

void board_reset(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* access to the FPU */
    __asm__ volatile("dsb\n isb");
    *(volatile uint32_t *)0xe000ed14 |= 1u << 4; /* division by zero faults */
    exit(main());
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))board_stack_end,
    board_reset,
    board_fault,
    board_fault,
    board_fault,
    board_fault,
    board_fault};
