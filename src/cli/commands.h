/* One function a command. argv[0] is the command's name, its arguments follow; the value is the exit code (exit.h).
 * Each prints its result to stdout and, on failure, one error to stderr. */
#ifndef JTOK_CLI_COMMANDS_H
#define JTOK_CLI_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

int cmd_analyze(int argc, char **argv);  /* the result anew from the records, under any reading */
int cmd_verify(int argc, char **argv);   /* seal, consistency, and the result byte for byte */
int cmd_report(int argc, char **argv);   /* a stored result as text, JSON, CSV or SVG */
int cmd_compare(int argc, char **argv);  /* two set-ups, by METHOD section 9 */
int cmd_gate(int argc, char **argv);     /* one metric of them against a limit */
int cmd_rank(int argc, char **argv);     /* a ranking of models, by METHOD section 9 */
int cmd_list(int argc, char **argv);     /* the runs of a folder */
int cmd_estimate(int argc, char **argv); /* lifecycle energy for N requests */
int cmd_method(int argc, char **argv);   /* the method, with every decision marked [D] */
int cmd_schema(int argc, char **argv);   /* the JSON Schema of a document that jtok writes */

#endif
