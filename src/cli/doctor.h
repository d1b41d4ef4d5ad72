/* jtok doctor: what this machine can measure, what is missing and how to get it. */
#ifndef JTOK_CLI_DOCTOR_H
#define JTOK_CLI_DOCTOR_H

/* argv[0] is "doctor". Prints to standard output; returns the exit code (exit.h): EXIT_OK when at least one GPU can be
 * measured, EXIT_DEVICE when none can. Takes about 3 s (--quick: none of the measurements). */
int cmd_doctor(int argc, char **argv);

#endif
