// SPDX-License-Identifier: MIT
/* Counts the instructions (event 0xc0) and branches (0xc4) of a loop, in user mode (0x10000). */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/vpmc.h>

static void read_counts(const volatile struct vpmc_page *page, __u64 *count)
{
	__u64 generation;

	do {	/* repeat if the thread was switched out meanwhile */
		generation = page->generation;
		for (__u32 i = page->nr_counters - 2, k = 0; k < 2; i++, k++)	/* the last two */
			count[k] = page->slot[i].base + (page->state == VPMC_STATE_RUNNING ?
				__builtin_ia32_rdpmc(page->slot[i].index) ^ page->sign : 0);
	} while (page->generation != generation);
}

int main(void)
{
	int fd = open("/proc/self/perfctr", O_RDWR | O_CREAT, 0666);
	struct vpmc_page *page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	__u64 a[2], b[2];

	if (page == MAP_FAILED)
		err(1, fd < 0 ? "/proc/self/perfctr (needs CONFIG_VPMC=y)" : "mmap");
	struct vpmc_control set = { .size = sizeof(set), .flags = page->state ? VPMC_CONTROL_ADD : VPMC_CONTROL_NEW,
	    .nr_counters = 2, .counter = { { 0x100c0, VPMC_ANY }, { 0x100c4, VPMC_ANY } } };
	if (ioctl(fd, VPMC_IOC_CONTROL, &set))
		err(1, "CONTROL: counter %u, enum vpmc_reason %u", set.bad_counter, set.reason);
	if (!(page->caps & VPMC_CAP_RDPMC))
		errx(1, "RDPMC is forbidden: /sys/bus/event_source/devices/cpu/rdpmc is 0");
	read_counts(page, a);	/* no system call, here and below */
	for (int i = 1000000; i; i--) __asm__ volatile("" : "+r" (i));	/* the work */
	read_counts(page, b);
	printf("%llu instructions, %llu branches\n", b[0] - a[0], b[1] - a[1]);
}
