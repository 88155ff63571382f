#include "zcrp-bench/command/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doctor_say(bool is_ok, const char *format, ...)
{
    va_list arguments;

    printf("%s  ", is_ok ? "ok              " : "could be better ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void doctor_advise(const char *command)
{
    printf("%-18s%s\n", "", command);
}

void doctor_read_word(const char *path, char word[DOCTOR_WORD])
{
    FILE *file = fopen(path, "re");
    char line[4 * DOCTOR_WORD] = "";
    const char *start;

    word[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL) {
        start = strchr(line, '[') != NULL ? strchr(line, '[') + 1 : line;
        snprintf(word, DOCTOR_WORD, "%.*s", (int)strcspn(start, "] \n"), start);
    }
    fclose(file);
}
