#include "proc/start.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"

static const char *const *environment(const struct child_spec *s)
{
    return s->env ? s->env : (const char *const *)environ;
}

/* ---- the order ---- */

int start_strings(const struct child_spec *s, struct guardian_order_message *ret_order)
{
    const char *const *env = environment(s);
    struct buf b = {0};
    *ret_order = (struct guardian_order_message){.order = ORDER_START, .has_folder = s->folder != NULL};
    if (s->folder)
        buf_add(&b, s->folder, strlen(s->folder) + 1);
    for (; s->argv[ret_order->value]; ret_order->value++)
        buf_add(&b, s->argv[ret_order->value], strlen(s->argv[ret_order->value]) + 1);
    for (; env[ret_order->more]; ret_order->more++)
        buf_add(&b, env[ret_order->more], strlen(env[ret_order->more]) + 1);
    for (; s->remove && s->remove[ret_order->remove]; ret_order->remove++)
        buf_add(&b, s->remove[ret_order->remove], strlen(s->remove[ret_order->remove]) + 1);
    int fd = memfd_create("jtok-start", MFD_CLOEXEC);
    size_t done = 0;
    for (ssize_t n; fd >= 0 && done < b.n; done += (size_t)n)
        if ((n = write(fd, b.p + done, b.n - done)) <= 0) {
            close(fd);
            fd = -1;
            break;
        }
    buf_done(&b);
    return fd;
}

bool start_send(int socket, const struct guardian_order_message *order, const int fds[START_FDS])
{
    assert(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(START_FDS * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec iov = {.iov_base = (void *)order, .iov_len = sizeof *order};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *h = CMSG_FIRSTHDR(&message);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(START_FDS * sizeof(int));
    memcpy(CMSG_DATA(h), fds, START_FDS * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *order;
}

/* ---- would it work? ---- */

const char *start_noun(const struct child_spec *s)
{
    return s->any_command ? "The command" : "The engine";
}

bool start_explain(const struct child_spec *s, enum guardian_step step, int number, struct err *e)
{
    const char *command = s->argv[0], *whose = s->any_command ? "The command" : "The engine's command";
    if (step == STEP_FOLDER)
        return err_set_errno(e, ERR_ENGINE, number,
                             "The engine was not started, because its working folder %s could not be entered",
                             s->folder);
    if (step == STEP_EXEC && number == ENOENT && !strchr(command, '/'))
        return err_set(e, ERR_ENGINE,
                       "%s \"%s\" was not found in the PATH. Activate the environment that it is installed in, or give "
                       "its full path%s.",
                       whose, command, s->any_command ? "" : " in the plan (engine.command)");
    if (step == STEP_EXEC && number == ENOENT)
        return err_set(e, ERR_ENGINE,
                       "%s %s does not exist, or the interpreter in its first line does not. Check the path%s.", whose,
                       command, s->any_command ? "" : " in the plan (engine.command)");
    if (step == STEP_EXEC && number == EACCES)
        return err_set(e, ERR_ENGINE,
                       "%s %s is not executable: it is not a program, lacks the x permission, or lies on a file system "
                       "that is mounted noexec.",
                       whose, command);
    return err_set_errno(e, ERR_ENGINE, number, "%s %s could not be started", whose, command);
}

/* Without a PATH, execvp has this one. */
static const char *search_path(const struct child_spec *s)
{
    for (const char *const *v = environment(s); *v; v++)
        if (strncmp(*v, "PATH=", 5) == 0)
            return *v + 5;
    return "/bin:/usr/bin";
}

/* What exec would say of this file, as far as that is known before; 0: nothing. */
static int exec_fault(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    return !S_ISREG(st.st_mode) ? EACCES : access(path, X_OK) == 0 ? 0 : errno;
}

/* As execvp goes through the PATH: what lacks a permission is passed over, and reported when nothing better comes. An
 * empty element is the working folder, of which an engine has an empty one of its own. */
int start_fault(const struct child_spec *s)
{
    const char *command = s->argv[0], *path = search_path(s);
    if (strchr(command, '/'))
        return *command == '/' || s->any_command ? exec_fault(command) : 0;
    int number = ENOENT;
    for (const char *end; *path; path = *end ? end + 1 : end) {
        char file[PATH_MAX];
        end = strchrnul(path, ':');
        if (end == path && !s->any_command)
            continue;
        snprintf(file, sizeof file, "%.*s/%s", end == path ? 1 : (int)(end - path), end == path ? "." : path, command);
        int fault = exec_fault(file);
        if (!fault)
            return 0;
        if (fault == EACCES)
            number = EACCES;
    }
    return number;
}

bool start_is_possible(const struct child_spec *s, struct err *e)
{
    int fault = start_fault(s);
    return !fault || start_explain(s, STEP_EXEC, fault, e);
}
