/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of vpmc. Each gets its own arguments, its name first, and returns
 * the exit status.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef COMMANDS_H
#define COMMANDS_H

int stat_main(int argc, char **argv);
int info_main(int argc, char **argv);
int list_main(int argc, char **argv);
int ctl_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int graph_main(int argc, char **argv);
int record_main(int argc, char **argv);
int report_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int cpus_main(int argc, char **argv);

/* main() of perfex, which is vpmc under another name */
int perfex_main(int argc, char **argv);

#endif /* COMMANDS_H */
