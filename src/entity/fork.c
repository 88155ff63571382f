#include "fork.h"

#include "collection.h"
#include "helm.h"
#include "paper.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "registry.h"

static void after_fork(void)
{
    bell_after_fork();
    collection_after_fork();
    helm_after_fork();
    paper_after_fork();
    registry_after_fork();
}

void fork_watch(void)
{
    forked_watch(after_fork);
}
