#include "control.h"

#include <stdbool.h>
#include <string.h>

struct control control_make(enum control_kind kind, uint16_t number, uint16_t port,
                            const char *text)
{
    struct control control = {.kind = (uint8_t)kind, .number = number, .port = port};

    control.length = (uint8_t)strnlen(text, CONTROL_TEXT);
    memcpy(control.text, text, control.length);
    return control;
}

size_t control_write(const struct control *control, uint8_t out[CONTROL_MOST])
{
    const uint8_t head[CONTROL_HEAD] = {
        'Z',
        'T',
        CONTROL_VERSION,
        control->kind,
        (uint8_t)(control->number >> 8),
        (uint8_t)control->number,
        (uint8_t)(control->port >> 8),
        (uint8_t)control->port,
        control->length,
    };

    memcpy(out, head, CONTROL_HEAD);
    memcpy(out + CONTROL_HEAD, control->text, control->length);
    return CONTROL_HEAD + (size_t)control->length;
}

static bool is_text(const struct control *control)
{
    for (size_t i = 0; i < control->length; i++) {
        char c = control->text[i];

        if (c == '\0' || (control->kind != CONTROL_REFUSED && (c <= ' ' || c > '~')))
            return false;
    }
    return true;
}

enum control_fault control_read(struct control *control, const uint8_t *bytes, size_t size)
{
    *control = (struct control){0};
    if (size < CONTROL_HEAD || bytes[0] != 'Z' || bytes[1] != 'T')
        return CONTROL_BAD;
    control->kind = bytes[3];
    if (bytes[2] != CONTROL_VERSION && control->kind != CONTROL_REFUSED)
        return CONTROL_OTHER_VERSION;
    control->number = (uint16_t)(bytes[4] << 8 | bytes[5]);
    control->port = (uint16_t)(bytes[6] << 8 | bytes[7]);
    control->length = bytes[8];
    if (size != CONTROL_HEAD + (size_t)control->length)
        return CONTROL_BAD;
    memcpy(control->text, bytes + CONTROL_HEAD, control->length);
    if (control->kind == CONTROL_WELCOME || control->kind == CONTROL_RESERVE)
        return control->length == CONTROL_TOKEN ? CONTROL_GOOD : CONTROL_BAD;
    return control->kind >= CONTROL_OPEN && control->kind <= CONTROL_RESERVE && is_text(control)
               ? CONTROL_GOOD
               : CONTROL_BAD;
}
