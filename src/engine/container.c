#include "engine/container.h"

#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "engine/table.h"

bool container_is_used(const struct plan *p)
{
    return p->engine.container.image;
}

const char *container_option(const struct plan *p, const char *name, size_t *i)
{
    must(name && i);
    size_t n = strlen(name);
    for (; *i < p->engine.container.arg_count; ++*i) {
        const char *word = p->engine.container.args[*i];
        if (strncmp(word, name, n) == 0 && (word[n] == '=' || !word[n])) {
            ++*i;
            return word[n] ? word + n + 1 : word + n;
        }
    }
    return NULL;
}

/* The last value of an option; null: it is not there. */
static const char *last_option(const struct plan *p, const char *name)
{
    const char *last = NULL, *value;
    for (size_t i = 0; (value = container_option(p, name, &i));)
        last = value;
    return last;
}

/* ---- the image ---- */

/* The texts of an array, whose `[` was just read. */
static const char **read_texts(struct json *j, struct arena *a, size_t *ret_count)
{
    struct json count = *j;
    size_t n = 0;
    while (json_next(&count) == JSON_STRING)
        n++;
    const char **list = arena_array(a, n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        json_next(j);
        list[i] = json_copy(j, a);
    }
    json_next(j); /* the end */
    *ret_count = n;
    return list;
}

/* A value that is read as texts where it is an array of them, and skipped where it is anything else. */
static void take_texts(struct json *j, struct arena *a, const char ***ret_list, size_t *ret_count)
{
    enum json_kind k = json_next(j);
    if (k == JSON_ARRAY)
        *ret_list = read_texts(j, a, ret_count);
    else if (k == JSON_OBJECT)
        json_skip(j);
}

static void read_config(struct json *j, struct arena *a, struct container_image *image)
{
    if (json_next(j) != JSON_OBJECT)
        return;
    while (json_next(j) == JSON_KEY) {
        if (json_is(j, "Entrypoint"))
            take_texts(j, a, &image->entrypoint, &image->entrypoint_count);
        else if (json_is(j, "Cmd"))
            take_texts(j, a, &image->command, &image->command_count);
        else
            json_skip(j);
    }
}

bool container_read_image(struct span json, struct arena *a, struct container_image *ret_image)
{
    must(a);
    struct json j;
    struct container_image image = {0};
    const char *digest = NULL;
    json_init(&j, json);
    enum json_kind list = json_next(&j), k = json_next(&j); /* an array of one object */
    if (list != JSON_ARRAY || k != JSON_OBJECT)
        return false;
    while ((k = json_next(&j)) == JSON_KEY) {
        bool is_id = json_is(&j, "Id"), is_digest = json_is(&j, "Digest");
        if (json_is(&j, "RepoDigests"))
            take_texts(&j, a, &image.digests, &image.digest_count);
        else if (json_is(&j, "Config"))
            read_config(&j, a, &image);
        else if (!is_id && !is_digest)
            json_skip(&j);
        else if (json_next(&j) == JSON_STRING)
            *(is_id ? &image.id : &digest) = json_copy(&j, a);
    }
    if (k != JSON_OBJECT_END || !image.id || !*image.id)
        return false;
    if (strncmp(image.id, "sha256:", 7) != 0)
        image.id = arena_format(a, "sha256:%s", image.id);
    if (!image.digest_count && digest && *digest) {
        image.digests = arena_array(a, 1, sizeof *image.digests);
        image.digests[image.digest_count++] = digest;
    }
    *ret_image = image;
    return true;
}

/* "sha256:..." behind the '@', or the whole of it. */
static const char *digest_part(const char *text)
{
    const char *at = strchr(text, '@');
    return at ? at + 1 : text;
}

static bool has_digest(const struct container_image *image, const char *digest)
{
    bool bare = strncasecmp(digest, "sha256:", 7) != 0;
    bool found = strcasecmp(image->id + (bare ? 7 : 0), digest) == 0;
    for (size_t i = 0; i < image->digest_count; i++) {
        const char *one = digest_part(image->digests[i]);
        found = found || strcasecmp(bare && strlen(one) > 7 ? one + 7 : one, digest) == 0;
    }
    return found;
}

/* The digest by which another machine would find the same image: as the plan or the image's name states it, else the
 * repository's, else the id of an image that came from none. */
static bool settle_digest(struct plan *p, const struct container_image *image, struct err *e)
{
    const char *stated = p->engine.image_digest, *at = strchr(p->engine.container.image, '@');
    if (!stated && at)
        stated = at + 1;
    if (stated && !has_digest(image, stated))
        return err_set(e, ERR_PLAN,
                       "The image %s on this machine has the digest %s, but the plan states %s. Pull that image, or "
                       "correct engine.image_digest.",
                       p->engine.container.image, image->digest_count ? digest_part(image->digests[0]) : image->id,
                       stated);
    p->engine.image_digest = stated ? stated : image->digest_count ? digest_part(image->digests[0]) : image->id;
    return true;
}

/* A command in engine.command is whole, as it is without a container; behind an image it is the arguments of the
 * image's entrypoint, and so is one that begins with an option. */
static void settle_entrypoint(struct plan *p, const struct container_image *image, struct arena *a)
{
    struct plan_engine *g = &p->engine;
    const char *own = last_option(p, "--entrypoint");
    bool whole = !g->container.own_entrypoint && g->command_count && g->command[0][0] != '-';
    if (own && *own) {
        g->container.entrypoint = arena_array(a, 1, sizeof *g->container.entrypoint);
        g->container.entrypoint[0] = own;
        g->container.entrypoint_count = 1;
    } else if (!own && !whole) {
        g->container.entrypoint = image->entrypoint;
        g->container.entrypoint_count = image->entrypoint_count;
    }
    if (!g->command_count && !own) {
        g->command = image->command;
        g->command_count = image->command_count;
    }
}

bool container_settle(struct plan *p, const struct container_image *image, struct arena *a, struct err *e)
{
    must(container_is_used(p) && image->id);
    if (!settle_digest(p, image, e))
        return false;
    p->engine.container.image_id = image->id;
    settle_entrypoint(p, image, a);
    return true;
}

/* ---- where it listens ---- */

/* "[[IP:]HOST:]CONTAINER[/tcp]". */
struct mapping {
    struct span ip;
    int64_t host, inner; /* ABSENT_I64: not stated, or a range; host 0: {port} */
};

static int64_t port_of(struct span text)
{
    int64_t port;
    if (span_is(text, "{port}"))
        return 0;
    return num_i64(text, &port) && port > 0 && port <= 65535 ? port : ABSENT_I64;
}

static struct span behind_last_colon(struct span *text)
{
    size_t i = text->n;
    while (i > 0 && text->p[i - 1] != ':')
        i--;
    struct span part = {text->p + i, text->n - i};
    text->n = i ? i - 1 : 0;
    return part;
}

/* False: of another protocol. */
static bool read_mapping(const char *value, struct mapping *ret)
{
    struct span rest = {value, strcspn(value, "/")};
    if (value[rest.n] && strcmp(value + rest.n, "/tcp") != 0)
        return false;
    struct span inner = behind_last_colon(&rest), host = behind_last_colon(&rest);
    if (rest.n > 1 && rest.p[0] == '[')
        rest = (struct span){rest.p + 1, rest.n - 2};
    *ret = (struct mapping){.ip = rest, .host = port_of(host), .inner = port_of(inner)};
    return true;
}

/* The mapping of a port inside; `inner` 0: the only one. Returns how many fit. */
static size_t find_mapping(const struct plan *p, int64_t inner, struct mapping *ret)
{
    size_t found = 0;
    const char *value;
    for (size_t i = 0; (value = container_option(p, "--publish", &i));) {
        struct mapping m;
        if (!read_mapping(value, &m) || (inner && m.inner != inner))
            continue;
        *ret = m;
        found++;
    }
    return found;
}

static bool is_every_address(struct span ip)
{
    return ip.n == 0 || span_is(ip, "0.0.0.0") || span_is(ip, "::");
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;
}

static bool refuse_ports(const struct plan *p, int64_t inner, size_t found, struct err *e)
{
    size_t i = 0;
    const char *value = container_option(p, "--publish", &i);
    if (!inner)
        return err_set(e, ERR_PLAN,
                       "The container publishes %zu ports, and the engine's command does not say on which one it "
                       "listens inside. Give it --port.",
                       found);
    return err_set(e, ERR_PLAN,
                   "Inside its container the engine listens on port %lld, but -p %s does not publish that one on a "
                   "single port of this machine. Write -p HOST:%lld.",
                   (long long)inner, value, (long long)inner);
}

static bool take_published(struct plan *p, struct engine_command *c, struct arena *a, struct err *e)
{
    struct plan_engine *g = &p->engine;
    struct mapping m = {.host = ABSENT_I64, .inner = ABSENT_I64};
    int64_t inner = c->port == ABSENT_I64 ? 0 : c->port;
    size_t found = find_mapping(p, inner, &m);
    if (found != 1 || m.host == ABSENT_I64 || m.inner == ABSENT_I64 || !m.inner)
        return refuse_ports(p, found == 1 && m.inner > 0 ? m.inner : inner, found, e);
    if (c->host && is_loopback(c->host))
        return err_set(e, ERR_PLAN,
                       "The engine listens on %s inside its container, where a published port does not reach it. Give "
                       "it --host 0.0.0.0, or the container --network host.",
                       c->host);
    g->container.port = m.inner;
    c->port = m.host ? m.host : ABSENT_I64;
    c->host = is_every_address(m.ip) ? NULL : arena_copy(a, m.ip.p, m.ip.n);
    return true;
}

bool container_address(struct plan *p, struct engine_command *c, struct arena *a, struct err *e)
{
    must(container_is_used(p));
    const char *network = last_option(p, "--network"), *published = last_option(p, "--publish");
    bool host = network && strcmp(network, "host") == 0;
    if (published && host)
        return err_set(e, ERR_PLAN,
                       "The container has --network=host, where --publish=%s has no effect. Leave one of them out.",
                       published);
    if (network && !host && !published)
        return err_set(
            e, ERR_PLAN,
            "The engine can't be reached in the container's network %s. Publish its port (-p HOST:CONTAINER), "
            "or write --network host.",
            network);
    return !published || take_published(p, c, a, e);
}

bool container_port_is_free(const struct plan *p)
{
    const char *value;
    for (size_t i = 0; (value = container_option(p, "--publish", &i));)
        if (strstr(value, "{port}"))
            return true;
    return false;
}

/* ---- paths ---- */

struct mount {
    struct span outer, inner;
};

/* The value of a key in "type=bind,source=/x,target=/y". */
static struct span mount_key(struct span text, const char *const *names)
{
    for (size_t at = 0; at < text.n;) {
        size_t n = 0;
        while (at + n < text.n && text.p[at + n] != ',')
            n++;
        for (const char *const *name = names; *name; name++)
            if (n > strlen(*name) && strncmp(text.p + at, *name, strlen(*name)) == 0)
                return (struct span){text.p + at + strlen(*name), n - strlen(*name)};
        at += n + 1;
    }
    return (struct span){0};
}

static struct mount mount_of_keys(const char *value)
{
    static const char *const sources[] = {"source=", "src=", NULL};
    static const char *const targets[] = {"target=", "destination=", "dst=", NULL};
    struct span text = span_of(value);
    return (struct mount){mount_key(text, sources), mount_key(text, targets)};
}

/* "HOST:CONTAINER[:options]"; a volume that has a name, not a path, is none of this machine's folders. */
static struct mount mount_of_volume(const char *value)
{
    size_t n = strcspn(value, ":");
    const char *inner = value[n] ? value + n + 1 : value + n;
    return (struct mount){{value, n}, {inner, strcspn(inner, ":")}};
}

/* Mount i of the options; false behind the last. */
static bool mount_at(const struct plan *p, size_t *i, struct mount *ret)
{
    for (; *i < p->engine.container.arg_count; ++*i) {
        size_t at = *i;
        const char *volume = container_option(p, "--volume", &at);
        bool is_volume = volume && at == *i + 1;
        at = *i;
        const char *keys = container_option(p, "--mount", &at);
        bool is_keys = keys && at == *i + 1;
        if (!is_volume && !is_keys)
            continue;
        *ret = is_volume ? mount_of_volume(volume) : mount_of_keys(keys);
        ++*i;
        return true;
    }
    return false;
}

/* Does `path` lie in `folder`, or is it the same? */
static bool is_within(const char *path, struct span folder)
{
    folder = span_without_slash(folder);
    return folder.n && folder.p[0] == '/' && strncmp(path, folder.p, folder.n) == 0 &&
           (path[folder.n] == '/' || !path[folder.n] || folder.n == 1);
}

/* `path` with the folder that it lies in replaced, by the mount that is nearest to it. */
static const char *translate(const struct plan *p, const char *path, bool inward, struct arena *a)
{
    struct mount m;
    struct span from = {0}, to = {0};
    for (size_t i = 0; mount_at(p, &i, &m);) {
        struct span one = span_without_slash(inward ? m.outer : m.inner);
        if (is_within(path, one) && one.n > from.n) {
            from = one;
            to = span_without_slash(inward ? m.inner : m.outer);
        }
    }
    if (!from.n || !to.n || to.p[0] != '/')
        return NULL;
    return arena_format(a, "%.*s%s", SPAN_ARG(to), path + from.n);
}

bool container_mounts(const struct plan *p, const char *inner)
{
    must(inner);
    struct mount m;
    for (size_t i = 0; mount_at(p, &i, &m);)
        if (span_is(span_without_slash(m.inner), inner))
            return true;
    return false;
}

const char *container_inner_path(const struct plan *p, const char *path, struct arena *a)
{
    const char *inner = translate(p, path, true, a);
    return inner ? inner : path;
}

const char *container_outer_path(const struct plan *p, const char *path, struct arena *a)
{
    const char *outer = translate(p, path, false, a);
    return outer || p->engine.container.own_entrypoint ? outer : path;
}

/* Where the hub's cache lies inside: as this machine's is mounted, or where an option mounts one at its usual place. */
static const char *inner_hub(const struct plan *p, const struct engine_site *site, struct arena *a)
{
    static const char USUAL[] = "/.cache/huggingface";
    struct mount m;
    const char *inner = site->hub_folder ? translate(p, site->hub_folder, true, a) : NULL;
    for (size_t i = 0; !inner && mount_at(p, &i, &m);) {
        struct span at = span_without_slash(m.inner);
        if (at.n >= strlen(USUAL) && memcmp(at.p + at.n - strlen(USUAL), USUAL, strlen(USUAL)) == 0)
            inner = arena_copy(a, at.p, at.n);
    }
    return inner ? inner : site->hub_folder;
}

const char *const *container_inherits(const struct plan *p, const struct engine_site *site, struct arena *a)
{
    const char **list = arena_array(a, 2, sizeof *list), *hub = inner_hub(p, site, a);
    if (hub)
        list[0] = arena_format(a, "HF_HOME=%s", hub);
    return list;
}
