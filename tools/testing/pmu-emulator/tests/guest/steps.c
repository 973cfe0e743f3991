// SPDX-License-Identifier: GPL-2.0
/*
 * usage: steps PROGRAM [ARGUMENT]...
 * The single-step reference: counts the instructions of a program from exec to exit
 * with the PMU, and again by executing it one instruction at a time.  A pass of
 * REP is a step of its own that leaves the instruction pointer where it was.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static void run(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	personality(ADDR_NO_RANDOMIZE);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execv(argv[0], argv);
	_exit(127);
}

static uint64_t count(char **argv, uint64_t config, int *status)
{
	uint64_t val;
	int go[2], fd;
	pid_t pid;
	char c;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 0)
			_exit(126);
		close(go[0]);
		run(argv);
	}
	fd = perf_open(config, USER, 0, -1, pid);
	close(go[0]);
	close(go[1]);
	waitpid(pid, status, 0);
	val = perf_read(fd);
	close(fd);
	return val;
}

/* Near branches: Jcc, JCXZ, LOOP, JMP, CALL, RET and the indirect ones */
static bool is_branch(const unsigned char *insn)
{
	while (strchr("\x67\xf2\xf3\x2e\x3e\x66", *insn) && *insn)
		insn++;
	if ((*insn & 0xf0) == 0x40)
		insn++;
	switch (*insn) {
	case 0x70 ... 0x7f:
	case 0xc2 ... 0xc3:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xe9:
	case 0xeb:
		return true;
	case 0x0f:
		return (insn[1] & 0xf0) == 0x80;
	case 0xff:
		return (insn[1] >> 3 & 7) == 2 || (insn[1] >> 3 & 7) == 4;
	}
	return false;
}

static void step(char **argv, uint64_t *insns, uint64_t *branches, int *status)
{
	struct user_regs_struct regs;
	unsigned char insn[16];
	char path[32];
	pid_t pid = fork();
	int mem;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		run(argv);
	}
	*insns = *branches = 0;
	waitpid(pid, status, 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY);
	if (mem < 0)
		die(path);
	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	while (WIFSTOPPED(*status)) {
		unsigned long long ip = regs.rip;

		memset(insn, 0, sizeof(insn));
		if (pread(mem, insn, sizeof(insn), ip) < 1)
			die("read of an instruction");
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		waitpid(pid, status, 0);
		if (WIFSTOPPED(*status)) {
			ptrace(PTRACE_GETREGS, pid, 0, &regs);
			if (regs.rip == ip)
				continue;	/* a pass of REP */
		}
		++*insns;
		*branches += is_branch(insn);
	}
	close(mem);
}

int main(int argc, char **argv)
{
	uint64_t insns, branches;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: steps PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	argv++;
	step(argv, &insns, &branches, &status);
	check_eq("stepped program: exit status", status, 0);
	printf("# %llu instructions, %llu branches\n", (unsigned long long)insns,
	       (unsigned long long)branches);
	check_eq("instructions:u is the number of steps",
		 count(argv, PERF_COUNT_HW_INSTRUCTIONS, &status), insns);
	check_eq("and again", count(argv, PERF_COUNT_HW_INSTRUCTIONS, &status), insns);
	check_eq("branches:u is the number of steps over branches",
		 count(argv, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, &status), branches);
	check_eq("counted program: exit status", status, 0);
	return done_testing();
}
