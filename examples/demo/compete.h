/* SPDX-License-Identifier: MIT */
/* Two programs without counters that use the processors in bursts. */
#ifndef COMPETE_H
#define COMPETE_H

void compete_start(void);
void compete_end(void);

#endif /* COMPETE_H */
