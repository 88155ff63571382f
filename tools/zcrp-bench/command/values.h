/* Values on the command line that are lists or have a form of their own. Each function reads one
 * into the struct options at `place`, instead of what an earlier option of the name or the default
 * has set. 0, or -1 with a complaint. */
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H

int values_transport(void *place, const char *text); /* zcrp,tcp:cubic,peers */
int values_size(void *place, const char *text);      /* 64,1K..1M*4 */
int values_memory(void *place, const char *text);    /* 64M, all */
int values_pin(void *place, const char *text);       /* 0,1 */
int values_loss(void *place, const char *text);      /* 1% */
int values_tcp_cc(void *place, const char *text);    /* cubic */
int values_listen(void *place, const char *text);    /* HOST:PORT; NULL is any address */
int values_connect(void *place, const char *text);
int values_json(void *place, const char *text); /* a file; NULL is standard output */

#endif
