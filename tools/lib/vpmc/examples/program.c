// SPDX-License-Identifier: MIT
/*
 * usage: program EVENTS COMMAND [ARGUMENT]...
 *
 * Counts COMMAND in user mode, with all its threads and children, from its first
 * instruction to its last one.
 */
#include <err.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vpmc.h>

int main(int argc, char **argv)
{
	struct vpmc_event *events;
	struct vpmc_error error;
	struct vpmc_read sums;
	unsigned int nr, i;
	int status, go[2];
	struct vpmc *v;
	char byte;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: program EVENTS COMMAND [ARGUMENT]...");
	if (vpmc_parse_events(argv[1], &events, &nr, &error))
		errx(1, "%s", error.text);
	if (pipe(go) || (pid = fork()) < 0)
		err(1, "pipe, or fork");
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)	/* wait until it is programmed */
			_exit(1);
		close(go[0]);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	if (vpmc_open_thread(&v, pid, 0, &error) ||
	    vpmc_program(v, events, nr,
			 VPMC_CONTROL_STOPPED | VPMC_CONTROL_ENABLE_ON_EXEC |
			 VPMC_CONTROL_INHERIT_THREADS |
			 VPMC_CONTROL_INHERIT_PROCESSES, &error) < 0)
		errx(1, "%s", error.text);
	if (write(go[1], "", 1) != 1)
		err(1, "write");
	waitpid(pid, &status, 0);
	if (vpmc_read_sums(v, VPMC_READ_LIVING | VPMC_READ_FINISHED, &sums))
		errx(1, "cannot read");
	for (i = 0; i < nr; i++)
		if (events[i].element >= 0)
			printf("%20llu  %s\n", (unsigned long long)
			       sums.sum[events[i].element], events[i].text);
		else
			printf("%20s  %s: %s\n", "-", events[i].text,
			       vpmc_reason_text(events[i].reason));
	vpmc_free_events(events);
	vpmc_close(v);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
