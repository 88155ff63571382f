/* One message between two ends in one process, with keys if the library has them. `meson test` runs
 * it, and tests/checks/meson-check builds it in a project that has libzcrp as a subproject. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zcrp.h>

static void check(const char *what, int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "one_message: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

/* Keys for both ends. NULL: the library has none. */
static struct zcrp_keys *make_keys(void)
{
    static const char secret[] = "this secret protects no secrets.";
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_psk(&keys, "both", secret, strlen(secret));

    if (code != ZCRP_ERROR_NO_KEYS)
        check("keys", code);
    return keys;
}

int main(void)
{
    static char out[1 << 16] = "in place", in[sizeof(out)];
    struct zcrp_options options = {.keys = make_keys()};
    struct zcrp_listener *listener;
    struct zcrp_connection *here, *there;
    struct zcrp_msg *sent = zcrp_wrap_msg(out, sizeof(out));
    struct zcrp_msg *received = zcrp_wrap_msg(in, sizeof(in));
    char port[16];

    check("listen", zcrp_listen(&listener, "127.0.0.1", "0", &options));
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    check("connect", zcrp_connect(&there, "127.0.0.1", port, &options, -1));
    check("accept", zcrp_accept(listener, &here, -1));
    check("post", zcrp_submit(zcrp_connection_receiver(here), received, sizeof(in)));
    check("send", zcrp_submit(zcrp_connection_sender(there), sent, sizeof(out)));
    check("receive", zcrp_wait_for(received, -1));
    check("acknowledgement", zcrp_wait_for(sent, -1));
    check("close", zcrp_connection_close(there));
    (void)zcrp_connection_close(here);
    check("close", zcrp_listener_close(listener));
    zcrp_free_msg(sent);
    zcrp_free_msg(received);
    printf("%s, %s keys\n", in, options.keys == NULL ? "without" : "with");
    zcrp_keys_free(options.keys);
    return memcmp(in, out, sizeof(in)) != 0 || zcrp_version() != ZCRP_VERSION;
}
