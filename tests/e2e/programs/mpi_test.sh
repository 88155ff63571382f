#!/bin/sh
# MPI programs as Debian has them, with its Open MPI over the provider for libfabric, on 2 and 4 ranks: NetPIPE and hpcc
# check what arrives, LAMMPS has to come to the same figures as on one rank, and when one of four ranks is killed the
# others are told. By UDP, and some in memory, too. A program that is not here is passed over, by name.
# load: alone
# stage: check-all
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/script.sh"

needs "$build/libzcrp-fi.so"
build=$(cd "$build" && pwd)
mpirun=$(command -v mpirun.openmpi) || { echo "there is no mpirun.openmpi: openmpi-bin"; exit 77; }
export FI_PROVIDER_PATH="$build" OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$place" || exit 1

# ranks NUMBER WORD... : Open MPI fails if the provider is not there, because it may take no other.
ranks() {
    number=$1
    shift
    timeout 500 "$mpirun" -n "$number" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include zcrp "$@"
}

# is_here PROGRAM PACKAGE
is_here() {
    command -v "$1" >/dev/null || { echo "passed over: $1 ($2)"; return 1; }
}

fails() {
    ! "$@"
}

# lacks PATTERN FILE
lacks() {
    ! grep -E "$1" "$2"
}

# ---- NetPIPE

netpipe() {
    ranks 2 NPopenmpi -i -u 70000 -o figures >said 2>&1
    check "NetPIPE" test $? -eq 0
    check "NetPIPE, all sizes" grep -q '65537 bytes .* Integrity check passed' said
    check "NetPIPE, nothing else arrived" lacks 'Integrity check failed' said
}

# ---- hpcc

# hpccinf NUMBER : a small problem, whose grid has as many processes.
hpccinf() {
    cat <<end
HPLinpack benchmark input file
hpcc
HPL.out output file name
8 device out
1 number of problem sizes
200 Ns
1 number of NBs
40 NBs
0 PMAP process mapping
1 number of process grids
$(($1 / 2)) Ps
2 Qs
16.0 threshold
1 number of panel fact
2 PFACTs
1 number of recursive stopping criteria
4 NBMINs
1 number of panels in recursion
2 NDIVs
1 number of recursive panel fact
1 RFACTs
1 number of broadcasts
1 BCASTs
1 number of lookahead depths
1 DEPTHs
2 SWAP
64 swapping threshold
0 L1
0 U
1 equilibration
8 memory alignment
separator
0 additional problem sizes for PTRANS
1200 values of N
0 additional blocking sizes for PTRANS
40 values of NB
end
}

# hpcc_on NUMBER : it tests HPL, PTRANS, random access, FFT, STREAM and DGEMM itself, latency and bandwidth with them.
hpcc_on() {
    rm -f hpccoutf.txt
    hpccinf "$1" >hpccinf.txt
    check "hpcc, $1 ranks" ranks "$1" hpcc
    check "hpcc, $1 ranks: whole" grep -q '^End of HPC Challenge tests' hpccoutf.txt
    check "hpcc, $1 ranks: success" grep -q '^Success=1$' hpccoutf.txt
    check "hpcc, $1 ranks: all took part" grep -q "^CommWorldProcs=$1\$" hpccoutf.txt
    check "hpcc, $1 ranks: no errors" \
        lacks 'FAILED|[1-9][0-9]* tests completed and failed|_Errors=[^0]|Found [1-9][0-9]* errors' hpccoutf.txt
}

# ---- LAMMPS

# Rock salt that melts: forces between neighbours, and far ones by PPPM, whose Fourier transforms have all ranks exchange.
lammps_input() {
    cat <<end
units lj
atom_style charge
lattice fcc 0.5
region box block 0 4 0 4 0 4
create_box 2 box
create_atoms 1 box
lattice fcc 0.5 origin 0.5 0 0
create_atoms 2 box
mass * 1.0
set type 1 charge 1.0
set type 2 charge -1.0
velocity all create 1.5 87287 loop geom
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-4
neighbor 0.3 bin
neigh_modify every 5 delay 0 check yes
fix 1 all nve
thermo_style custom step temp epair etotal press
thermo_modify norm yes format float %.6f
thermo 10
timestep 0.002
run 50
end
}

# figures LOG : step, temperature, energies, pressure.
figures() {
    sed -n '/^ *Step/,/^Loop/{/Loop/d;p}' "$1"
}

lammps() {
    lammps_input >in.salt
    check "LAMMPS, one rank" lmp -in in.salt -log 1 -screen none
    figures 1 >wanted
    check "LAMMPS has figures" test "$(wc -l <wanted)" -eq 7
    for number in 2 4; do
        check "LAMMPS, $number ranks" ranks "$number" lmp -in in.salt -log $number -screen none
        figures $number >got
        check "LAMMPS, $number ranks: the figures of one" diff wanted got
    done
}

# ---- a rank that dies

death() {
    ranks 4 --enable-recovery /usr/bin/python3 -B "$here/../../support/mpi_death.py" >said 2>&1
    check "a rank dies, $1" test "$(grep -o '4 of 4 ended, 3 ranks go on' said | wc -l)" -eq 3
    [ "$failures" -eq 0 ] || cat said
}

# ----

init='from mpi4py import MPI'
if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    check "a rank starts" ranks 1 /usr/bin/python3 -c "$init"
    export FI_PROVIDER=^zcrp
    check "none starts without the provider" fails ranks 1 /usr/bin/python3 -c "$init"
    unset FI_PROVIDER
    death UDP
    ZCRP_NO_MEMORY=0 death memory
else
    echo "passed over: mpi4py (python3-mpi4py)"
fi
! is_here NPopenmpi netpipe-openmpi || netpipe
! is_here lmp lammps || lammps
if is_here hpcc hpcc; then
    hpcc_on 2
    hpcc_on 4
fi

conclude
