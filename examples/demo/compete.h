/* SPDX-License-Identifier: MIT */
/* Two programs without counters that keep the processors busy. */
#ifndef COMPETE_H
#define COMPETE_H

void compete_start(void);
void compete_end(void);

#endif /* COMPETE_H */
