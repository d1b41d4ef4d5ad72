/* jtok doctor: what this machine can measure, what is missing and how to get it. */
#ifndef JTOK_CLI_DOCTOR_H
#define JTOK_CLI_DOCTOR_H

/* argv[0] is "doctor". Prints to standard output; returns the exit code: 0 can be measured, 2 wrong arguments, 3 no GPU
 * can be measured. Takes about 3 s (--quick: none of the measurements). */
int cmd_doctor(int argc, char **argv);

#endif
