/* A host of API version 9: registers a library of custom ops, and prints the text of the status
 * that it returns.
 *
 * usage: old_host LIBRARY */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char said[512];

static void *create_status(int code, const char *text) {
    snprintf(said, sizeof said, "%d %s", code, text);
    return said;
}

/* Only the first function of the table may be called. */
static void *table[300];

static const void *get_api(uint32_t version) {
    return version <= 9 ? table : NULL;
}

static const char *version_text(void) {
    return "1.9.1";
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    void *(*create)(int, const char *) = create_status;
    memcpy(&table[0], &create, sizeof create);
    const struct {
        const void *(*get_api)(uint32_t);
        const char *(*version_text)(void);
    } base = {get_api, version_text};
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    void *(*register_ops)(void *, const void *);
    void *found = dlsym(library, "RegisterCustomOps");
    if (!found) return 1;
    memcpy(&register_ops, &found, sizeof found);
    const void *status = register_ops(table, &base);
    printf("%s\n", status ? said : "no status");
    return 0;
}
