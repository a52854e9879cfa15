#include "tools/halyard/code_size.h"

#include <elf.h>

#include <cstring>

namespace halyard::command {

size_t code_bytes(const std::string &object) {
    Elf64_Ehdr head;
    if (object.size() < sizeof head) return 0;
    std::memcpy(&head, object.data(), sizeof head);
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    size_t bytes = 0;
    for (size_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        const size_t at = head.e_shoff + i * head.e_shentsize;
        if (at + sizeof section > object.size()) return 0;
        std::memcpy(&section, object.data() + at, sizeof section);
        if (section.sh_flags & SHF_EXECINSTR) bytes += section.sh_size;
    }
    return bytes;
}

}  // namespace halyard::command
