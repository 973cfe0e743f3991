/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the measurement of markers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MARKER_H
#define MARKER_H

/* The thread has a set of @n counters, and somebody has asked for its regions. */
void measure_markers(unsigned int n);

#endif /* MARKER_H */
