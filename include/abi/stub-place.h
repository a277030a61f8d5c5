/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the recorder's stub (collect/ptrace/stub.h) is in each traced address space:
 * readers know accesses to it by that. The assembler reads this header, too.
 */
#ifndef MOCA_ABI_STUB_PLACE_H
#define MOCA_ABI_STUB_PLACE_H

/*
 * Below what linkers choose (0x200000, 0x400000) and above what emulators of old machines
 * use (1 MiB and 64 KiB): a program that is not position-independent has its heap above its
 * code, and the heap grows to any size. Below 2 GiB, as sanitizers take what lies above.
 */
#define STUB_BASE 0x180000
#define STUB_CODE_SIZE 0x1000
#define STUB_DATA (STUB_BASE + STUB_CODE_SIZE)
#define STUB_DATA_SIZE 0x10000
#define STUB_SIZE (STUB_CODE_SIZE + STUB_DATA_SIZE)

#endif
