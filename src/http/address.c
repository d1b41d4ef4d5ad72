#include "http/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include "base/must.h"

static bool unix_address(const char *path, struct address *ret_address, struct err *e)
{
    assert(path);
    struct address a = {0};
    struct sockaddr_un *u = (struct sockaddr_un *)&a.storage;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof u->sun_path)
        return err_set(
            e, ERR_PLAN,
            "The path of the Unix socket, \"%s\", has %zu bytes, but it must have 1 to %zu. Use a shorter one.", path,
            n, sizeof u->sun_path - 1);
    u->sun_family = AF_UNIX;
    memcpy(u->sun_path, path, n + 1);
    a.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    snprintf(a.text, sizeof a.text, "unix:%s", path);
    snprintf(a.host, sizeof a.host, "localhost");
    *ret_address = a;
    return true;
}

static struct address inet_address(const struct sockaddr *s, socklen_t length, const char *name, int port)
{
    assert(port > 0 && port <= 65535);
    struct address a = {.length = length};
    memcpy(&a.storage, s, length);
    char number[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "?";
    getnameinfo(s, length, number, sizeof number, NULL, 0, NI_NUMERICHOST);
    bool six = s->sa_family == AF_INET6;
    snprintf(a.text, sizeof a.text, six ? "[%s]:%d" : "%s:%d", number, port);
    bool name_is_six = strchr(name, ':') != NULL;
    snprintf(a.host, sizeof a.host, name_is_six ? "[%.120s]:%d" : "%.120s:%d", name, port);
    return a;
}

/* The hosts file by hand: getaddrinfo would go on to a name server for a name that isn't in it. */
static int from_hosts_file(const char *name, int port, struct address list[ADDRESSES_MAX])
{
    assert(name[0]);
    int count = 0;
    FILE *f = fopen("/etc/hosts", "re");
    char line[1024];
    while (f && count < ADDRESSES_MAX && fgets(line, sizeof line, f)) {
        line[strcspn(line, "#\n")] = 0;
        char *rest = NULL, *number = strtok_r(line, " \t", &rest), *word;
        if (!number)
            continue;
        while ((word = strtok_r(NULL, " \t", &rest)) && strcasecmp(word, name) != 0)
            ;
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        if (word && inet_pton(AF_INET, number, &v4.sin_addr) == 1)
            list[count++] = inet_address((struct sockaddr *)&v4, sizeof v4, name, port);
        else if (word && inet_pton(AF_INET6, number, &v6.sin6_addr) == 1)
            list[count++] = inet_address((struct sockaddr *)&v6, sizeof v6, name, port);
    }
    if (f)
        fclose(f);
    return count;
}

/* "localhost" means this machine whatever the hosts file holds (RFC 6761, 6.3). */
static int loopback(int port, struct address list[ADDRESSES_MAX])
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
    list[0] = inet_address((struct sockaddr *)&v4, sizeof v4, "localhost", port);
    list[1] = inet_address((struct sockaddr *)&v6, sizeof v6, "localhost", port);
    return 2;
}

bool address_resolve(const char *host, int port, struct address ret_list[ADDRESSES_MAX], int *ret_count, struct err *e)
{
    must(host && ret_list && ret_count);
    if (strncmp(host, "unix:", 5) == 0) {
        if (!unix_address(host + 5, &ret_list[0], e))
            return false;
        *ret_count = 1;
        return true;
    }
    if (port < 1 || port > 65535)
        return err_set(e, ERR_PLAN, "The port of host \"%s\" is %d, but ports go from 1 to 65535. Correct engine.port.",
                       host, port);
    char name[256];
    size_t n = strlen(host);
    bool brackets = n > 1 && host[0] == '[' && host[n - 1] == ']';
    if (n == 0 || n >= sizeof name)
        return err_set(e, ERR_PLAN,
                       "The name of the host has %zu bytes, but it must have 1 to %zu. Correct engine.host.", n,
                       sizeof name - 1);
    snprintf(name, sizeof name, "%.*s", (int)(brackets ? n - 2 : n), host + brackets);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(name, service, &hints, &found) == 0) {
        ret_list[0] = inet_address(found->ai_addr, found->ai_addrlen, name, port);
        freeaddrinfo(found);
        *ret_count = 1;
        return true;
    }
    int count = strcasecmp(name, "localhost") == 0 ? loopback(port, ret_list) : from_hosts_file(name, port, ret_list);
    if (count == 0)
        return err_set(e, ERR_PLAN,
                       "The host \"%s\" is neither an address nor a name in /etc/hosts, and jtok does not ask name "
                       "servers. Give its "
                       "numeric address, or add the name to /etc/hosts.",
                       host);
    *ret_count = count;
    return true;
}

/* ---- this machine's ---- */

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

static bool is_own(const struct sockaddr *s)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)s)->sin6_addr;
    if (s->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_UNSPECIFIED(six);
    in_addr_t four = ntohl(((const struct sockaddr_in *)s)->sin_addr.s_addr);
    return four >> 24 == 127 || four == INADDR_ANY;
}

/* An IPv4 address written as an IPv6 one (::ffff:127.0.0.1), as the IPv4 address; any other one as it is. */
static struct sockaddr_storage unmapped(const struct sockaddr_storage *s)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)s)->sin6_addr;
    struct sockaddr_storage plain = {.ss_family = AF_INET};
    if (s->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(six))
        return *s;
    memcpy(&((struct sockaddr_in *)&plain)->sin_addr, &six->s6_addr[12], sizeof(struct in_addr));
    return plain;
}

bool address_is_local(const struct address *a)
{
    must(a->length > 0);
    if (address_is_unix(a))
        return true;
    const struct sockaddr_storage plain = unmapped(&a->storage);
    const struct sockaddr *s = (const struct sockaddr *)&plain;
    struct ifaddrs *list = NULL;
    bool local = is_own(s);
    if (!local && getifaddrs(&list) == 0)
        for (struct ifaddrs *i = list; i && !local; i = i->ifa_next)
            local = same_host(i->ifa_addr, s);
    if (list)
        freeifaddrs(list);
    return local;
}

bool address_is_loopback_v4(const struct address *a)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->storage;
    return a->storage.ss_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}
