/* Whose address it is: this machine's, or another one's. */
#include "check.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <net/if.h>
#include "http/address.h"

/* 1: all of them are; 0: one is not; -1: the name is not known here. */
static int is_local(const char *host)
{
    struct address list[ADDRESSES_MAX];
    struct err e = {0};
    int n = 0, local = 1;
    if (!address_resolve(host, 8000, list, &n, &e))
        return -1;
    assert_true(n >= 1);
    for (int i = 0; i < n; i++)
        local = local && address_is_local(&list[i]);
    return local;
}

static void every_form(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int local;
    } cases[] = {
        {"localhost", 1},
        {"127.0.0.1", 1},
        {"127.0.0.2", 1},
        {"127.255.255.254", 1},
        {"0.0.0.0", 1},
        {"::1", 1},
        {"[::1]", 1},
        {"::", 1},
        {"unix:/x.sock", 1},
        {"::ffff:127.0.0.1", 1},
        {"192.0.2.1", 0},
        {"198.51.100.7", 0},
        {"126.255.255.255", 0},
        {"128.0.0.1", 0},
        {"2001:db8::1", 0},
        {"[2001:db8::1]", 0},
        {"::2", 0},
        {"::ffff:192.0.2.1", 0},
        {"a-name-that-no-hosts-file-has.invalid", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (is_local(cases[i].host) != cases[i].local)
            print_error("%s\n", cases[i].host);
        assert_int_equal(is_local(cases[i].host), cases[i].local);
    }
}

/* Each address of an interface is this machine's, and its neighbour is not, unless that is one, too. */
static void addresses_of_the_interfaces(void **state)
{
    (void)state;
    struct ifaddrs *list = NULL;
    int seen = 0;
    assert_int_equal(getifaddrs(&list), 0);
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        char text[NI_MAXHOST];
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        assert_int_equal(
            getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), text, sizeof text, NULL, 0, NI_NUMERICHOST), 0);
        assert_int_equal(is_local(text), 1);
        seen++;
    }
    freeifaddrs(list);
    assert_true(seen >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form), cmocka_unit_test(addresses_of_the_interfaces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
