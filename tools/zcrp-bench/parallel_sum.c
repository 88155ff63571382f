/* The measurements of all flows as one. */
#include "parallel.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct allocations most(struct allocations a, struct allocations b)
{
    return (struct allocations){
        .calls = a.calls > b.calls ? a.calls : b.calls,
        .peak_bytes = a.peak_bytes > b.peak_bytes ? a.peak_bytes : b.peak_bytes,
    };
}

static void add(struct run *sum, const struct run *run)
{
    sum->count += run->count;
    sum->bytes += run->bytes;
    sum->seconds = larger(sum->seconds, run->seconds);
    sum->sender_cpu_s = larger(sum->sender_cpu_s, run->sender_cpu_s);
    sum->receiver_cpu_s = larger(sum->receiver_cpu_s, run->receiver_cpu_s);
    if (run->verdict > sum->verdict)
        sum->verdict = run->verdict;
    counts_add(&sum->sender_counts, &run->sender_counts);
    counts_add(&sum->receiver_counts, &run->receiver_counts);
    sum->sender_allocations = most(sum->sender_allocations, run->sender_allocations);
    sum->receiver_allocations = most(sum->receiver_allocations, run->receiver_allocations);
}

/* Jain's index: 1 if all are alike, 1 / count if one has everything. */
static double fairness(const struct run *runs, size_t count)
{
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        double rate = run_gbit_per_s(&runs[i]);

        sum += rate;
        squares += rate * rate;
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 1;
}

struct run parallel_sum(const struct run *runs, size_t count)
{
    struct run sum = runs[0];

    for (size_t i = 1; i < count; i++)
        add(&sum, &runs[i]);
    sum.flows = count;
    sum.fairness = fairness(runs, count);
    return sum;
}
