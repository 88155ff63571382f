/* Files that are mapped although somebody else made them. */
#include "transport/shm/shared_file.h"

#include "../../support/suite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 8 * PAGE };

TEST(shared_file_is_safe__once_it_is_sealed)
{
    int file = shared_file_create(BYTES);

    ck_assert(!shared_file_is_safe(file, BYTES)); /* can become shorter */
    ck_assert(shared_file_seal(file, 0));
    ck_assert(shared_file_is_safe(file, BYTES));
    ck_assert(!shared_file_is_safe(file, BYTES + PAGE));
    ck_assert(!shared_file_is_safe(file, BYTES - 1));
    ck_assert(!shared_file_is_safe(file, 0));
    ck_assert_int_ne(ftruncate(file, 0), 0);
    ck_assert(!shared_file_seal(file, F_SEAL_WRITE)); /* for good */
    (void)close(file);
}

TEST(shared_file_is_safe__what_cannot_be_trusted)
{
    static const unsigned missing[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < 3; i++) {
        int file = shared_file_create(BYTES);
        unsigned seals = (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) & ~missing[i];
        ck_assert_int_eq(fcntl(file, F_ADD_SEALS, seals), 0);
        ck_assert(!shared_file_is_safe(file, BYTES));
        (void)close(file);
    }
    ck_assert(!shared_file_is_safe(null, BYTES));
    ck_assert(!shared_file_is_safe(-1, BYTES));
    (void)close(null);
}

/* A file of large pages can be sealed as well, and read only while the system has such pages. */
TEST(shared_file_is_safe__large_pages)
{
    enum { LARGE = 2 << 20 };
    int file = memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

    if (file < 0)
        return; /* this system has none */
    if (ftruncate(file, LARGE) == 0) {
        ck_assert(shared_file_seal(file, 0));
        ck_assert(!shared_file_is_safe(file, LARGE));
    }
    (void)close(file);
}

TEST(shared_file_map__and_unmap)
{
    int file = shared_file_create(BYTES);
    uint8_t *memory = shared_file_map(file, BYTES, PROT_READ | PROT_WRITE);

    ck_assert_ptr_nonnull(memory);
    memory[BYTES - 1] = 1;
    shared_file_unmap(memory, BYTES);
    shared_file_unmap(NULL, 0);
    ck_assert_ptr_null(shared_file_map(-1, BYTES, PROT_READ));
    (void)close(file);
}
