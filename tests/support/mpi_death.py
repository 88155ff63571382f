#!/usr/bin/env python3
"""An MPI program whose last rank kills itself. What each other rank has with it ends with an error then: a receive that
was posted before, one that is posted later, a look for its message, a large send. The others go on with each other.

    mpirun -n 4 mpi_death.py        each rank that is left says how many of the four ended, and how many go on
"""
import os
import signal

from mpi4py import MPI

ALL = MPI.COMM_WORLD
DEAD = ALL.size - 1
LARGE = 1 << 20


def ends(call):
    """Does it end with an error?"""
    try:
        call()
    except MPI.Exception:
        return True
    return False


def meet():
    """Each has a connection to each."""
    for other in range(ALL.size):
        if other != ALL.rank:
            ALL.Sendrecv(bytes(8), other, recvbuf=bytearray(8), source=other)


def part():
    """The others tell the first one that they are done, and it has read that when their sends end: a process that ends
    takes along what it has sent last."""
    others = ALL.Create_group(ALL.group.Excl([DEAD]))
    total = others.allreduce(1)
    for other in range(1, others.size):
        if others.rank == 0:
            others.Recv(bytearray(1), other)
        elif others.rank == other:
            others.Ssend(bytes(1), 0)
    return total


def main():
    ALL.Set_errhandler(MPI.ERRORS_RETURN)
    buffer = bytearray(LARGE)
    meet()
    receive = ALL.Irecv(buffer, DEAD, 1) if ALL.rank != DEAD else None
    ALL.Barrier()
    if ALL.rank == DEAD:
        os.kill(os.getpid(), signal.SIGKILL)
    ended = sum(map(ends, (receive.Wait, lambda: ALL.Recv(bytearray(8), DEAD, 2), lambda: ALL.Probe(DEAD, 3),
                           lambda: ALL.Send(buffer, DEAD, 4))))
    print(f"{ended} of 4 ended, {part()} ranks go on", flush=True)
    os._exit(0)  # MPI_Finalize would wait for the dead one


main()
