#include "location.h"

#include <stdio.h>
#include <string.h>

#include "common/complain.h"

/* The colon that ends the host, or NULL. Within brackets colons are the address's. */
static const char *find_colon(const char *word)
{
    const char *open_bracket = strchr(word, '[');
    const char *end = word + strcspn(word, "/");
    const char *from = word;

    if (open_bracket != NULL && open_bracket < end &&
        (open_bracket == word || open_bracket[-1] == '@')) {
        const char *closing = strchr(open_bracket, ']');

        if (closing == NULL || closing > end)
            return NULL;
        from = closing;
    }
    const char *colon = strchr(from, ':');
    return colon != NULL && colon < end ? colon : NULL;
}

/* "user@[::1]" -> "::1" */
static void cut_host(struct location *location)
{
    const char *at = strrchr(location->login, '@');
    const char *host = at != NULL ? at + 1 : location->login;
    size_t length = strlen(host);

    if (host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    memcpy(location->host, host, length);
    location->host[length] = '\0';
    size_t user = at != NULL ? (size_t)(at + 1 - location->login) : 0;
    memcpy(location->shell, location->login, user);
    memcpy(location->shell + user, location->host, length + 1);
}

int location_read(struct location *location, const char *word)
{
    const char *colon = find_colon(word);

    *location = (struct location){.path = word};
    if (colon == NULL)
        return word[0] != '\0' ? 0 : complain("an empty name");
    if (colon - word >= HOST_ROOM)
        return complain("the name of the host is too long: %.40s...", word);
    (void)snprintf(location->login, sizeof(location->login), "%.*s", (int)(colon - word), word);
    cut_host(location);
    location->kind = colon[1] == ':' ? LOCATION_SERVER : LOCATION_SHELL;
    location->path = colon + (colon[1] == ':' ? 2 : 1);
    if (location->host[0] == '\0')
        return complain("there is no host in '%s'", word);
    if (location->login[0] == '-' || location->host[0] == '-')
        return complain("a host does not begin with a dash: '%s'", word);
    return 0;
}

struct text location_name(const char *word)
{
    const char *colon = find_colon(word);
    const char *path = colon == NULL ? word : colon + (colon[1] == ':' ? 2 : 1);
    size_t end = strlen(path);

    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    struct text name = {path + start, end - start};
    bool is_home = colon != NULL && start == 0 && end == 1 && path[0] == '~';
    if (is_home || (name.length == 1 && name.bytes[0] == '.') ||
        (name.length == 2 && memcmp(name.bytes, "..", 2) == 0))
        name.length = 0;
    return name;
}

/* The word whose last name this is, or else one that names what is in a directory, or the only one.
 * NULL: there is none. */
static const char *find_word(char *const *words, int count, struct text first)
{
    const char *other = count == 1 ? words[0] : NULL;

    for (int i = 0; i < count; i++) {
        struct text name = location_name(words[i]);

        if (name.length == 0)
            other = words[i];
        else if (name.length == first.length && memcmp(name.bytes, first.bytes, first.length) == 0)
            return words[i];
    }
    return other;
}

static struct text first_name(struct text path)
{
    const char *slash = memchr(path.bytes, '/', path.length);

    return (struct text){path.bytes, slash != NULL ? (size_t)(slash - path.bytes) : path.length};
}

struct text location_call(char *const *words, int count, struct text path, char out[NAMED_ROOM])
{
    struct text first = first_name(path);
    const char *word = find_word(words, count, first), *between = "";

    if (word == NULL)
        return path;
    struct text name = location_name(word);
    size_t kept = name.length > 0 ? (size_t)(name.bytes - word) + name.length : strlen(word);
    if (name.length > 0) {
        path = (struct text){path.bytes + first.length, path.length - first.length};
    } else if (path.length == 1 && path.bytes[0] == '.') {
        path.length = 0;
    } else if (word[kept - 1] != '/' && word[kept - 1] != ':') {
        between = "/";
    }
    (void)snprintf(out, NAMED_ROOM, "%.*s%s%.*s", (int)kept, word, between, (int)path.length,
                   path.bytes);
    return text_of(out);
}

/* "host:~user": at a server that is a name as any other. */
static bool is_home_of_other(const char *word, struct text name)
{
    const char *colon = find_colon(word);

    return colon != NULL && name.bytes == colon + 1 && name.length > 1 && name.bytes[0] == '~';
}

bool location_asks_for(char *const *words, int count, struct text path)
{
    struct text first = first_name(path);

    for (int i = 0; i < count; i++) {
        struct text name = location_name(words[i]);

        if (name.length == 0 || is_home_of_other(words[i], name) ||
            (name.length == first.length && memcmp(name.bytes, first.bytes, first.length) == 0))
            return true;
    }
    return false;
}

bool location_is_same(const struct location *a, const struct location *b)
{
    return a->kind == b->kind && strcmp(a->login, b->login) == 0;
}
