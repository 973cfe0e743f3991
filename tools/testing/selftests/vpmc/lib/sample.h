/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets that are sampled, and what their samples must say.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "inherit.h"
#include "overflow.h"

#define SAMPLE_ROOM	(1 << 22)

/* What was read, in the order of time. */
struct samples {
	char *buffer;
	size_t bytes;
	struct vpmc_sample_head **record;
	int nr;
	uint64_t lost;
};

static inline int samples_alloc(struct samples *s)
{
	memset(s, 0, sizeof(*s));
	s->buffer = malloc(SAMPLE_ROOM);
	s->record = calloc(SAMPLE_ROOM / sizeof(struct vpmc_sample_head),
			   sizeof(*s->record));
	return s->buffer && s->record ? 0 : -ENOMEM;
}

static inline void samples_free(struct samples *s)
{
	free(s->buffer);
	free(s->record);
}

static inline int sample_is_later(const void *a, const void *b)
{
	const struct vpmc_sample_head *x = *(void **)a, *y = *(void **)b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Reads up to @room bytes, and appends them. Returns 0 or -errno. */
static inline int samples_read_some(int fd, struct samples *s, size_t room)
{
	struct vpmc_read_samples read = {
		.size = sizeof(read),
		.buffer = (uint64_t)s->buffer + s->bytes, .bytes = room,
	};
	struct vpmc_sample_head *head;
	uint64_t at;
	int err = vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, &read);

	if (err)
		return err;
	s->lost = read.lost;
	for (at = 0; at < read.bytes; at += head->size) {
		head = (void *)(s->buffer + s->bytes + at);
		if (head->size < sizeof(*head) || head->size % 8 ||
		    head->size > read.bytes - at)
			return -EBADMSG;
		s->record[s->nr++] = head;
	}
	s->bytes += read.bytes;
	qsort(s->record, s->nr, sizeof(*s->record), sample_is_later);
	return 0;
}

static inline int samples_read(int fd, struct samples *s)
{
	return samples_read_some(fd, s, SAMPLE_ROOM - s->bytes);
}

static inline void samples_forget(struct samples *s)
{
	s->bytes = 0;
	s->nr = 0;
}

/* The samples of a thread; 0 stands for all. */
static inline int samples_of(const struct samples *s, uint32_t tid)
{
	int n = 0;

	for (int i = 0; i < s->nr; i++)
		n += s->record[i]->type == VPMC_SAMPLE_PERIOD &&
		     (!tid || s->record[i]->tid == tid);
	return n;
}

static inline const char *map_path(const struct vpmc_sample_map *map)
{
	return (const char *)map + map->path_offset;
}

/*
 * The mapping of a sample, by the rule of struct vpmc_sample_map; or NULL. It may have
 * the flag VPMC_MAP_UNKNOWN.
 */
static inline const struct vpmc_sample_map *
samples_map(const struct samples *s, const struct vpmc_sample *sample)
{
	const struct vpmc_sample_head *head = &sample->head;
	const struct vpmc_sample_map *map, *found = NULL;

	for (int i = 0; i < s->nr; i++) {
		map = (void *)s->record[i];
		if (map->head.type != VPMC_SAMPLE_MAP || map->head.tid != head->tid)
			continue;
		if (head->ns >= map->unsure && head->ns < map->since && map->unsure)
			return NULL;
		if (map->head.execs == head->execs && map->since <= head->ns &&
		    sample->ip >= map->start && sample->ip < map->end)
			found = map;
	}
	return found;
}

/* As open_with_period(), sampled. */
static inline int open_sampled(struct set *set, uint64_t period,
			       unsigned int flags, uint16_t records)
{
	struct vpmc_control *control = &set->control;

	set->fd = vpmc_open();
	if (set->fd < 0)
		return set->fd;
	set->page = vpmc_map(set->fd);
	control_init(control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM |
		     VPMC_CONTROL_SAMPLE | flags);
	control_add_period(control, EV_INSNS, FIXED(0), period);
	control_choose(control, EV_BRANCHES, VPMC_ANY);
	control->ring_records = records;
	control->ring_watermark = records > 1 ? records / 2 : 1;
	return set->page == MAP_FAILED ? -ENOMEM : set_control(set);
}

/*
 * Returns how many samples of a thread that ran code_loop() once, from zero,
 * are wrong.
 */
static inline int samples_wrong(const struct samples *s, uint32_t pid,
				uint32_t tid, uint64_t period)
{
	uint64_t at = 0, ticks = 0;
	int wrong = 0;

	for (int i = 0; i < s->nr; i++) {
		const struct vpmc_sample *sample = (void *)s->record[i];

		if (sample->head.type != VPMC_SAMPLE_PERIOD ||
		    sample->head.tid != tid)
			continue;
		at += period;
		if (sample->head.pid != pid || sample->head.execs ||
		    sample->head.size != sizeof(*sample) + 2 * 8 ||
		    sample->mask != 1 || sample->periods != 1 ||
		    sample->ip != loop_ip(at) || sample->sum[0] != at ||
		    sample->sum[1] != branches_at(at) ||
		    sample->ticks <= ticks || !samples_map(s, sample)) {
			fprintf(stderr, "# %u/%u at %llu: pid %u mask %#x periods %u ip %#llx sums %llu %llu map %d\n",
				pid, tid, (unsigned long long)at,
				sample->head.pid, sample->mask, sample->periods,
				(unsigned long long)sample->ip,
				(unsigned long long)sample->sum[0],
				(unsigned long long)sample->sum[1],
				!!samples_map(s, sample));
			if (++wrong == 5)
				break;
		}
		ticks = sample->ticks;
	}
	return wrong;
}

#endif /* SAMPLE_H */
