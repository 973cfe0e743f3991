#include "commands.h"
#include "fail.h"
int report_main(int argc, char **argv) { (void)argc; (void)argv; fail(125, "no"); }
