/* A rank of traffic that SimGrid simulates: one collective, or a schedule of messages in rounds. Rank 0 prints the time
   of the slowest rank, and the bytes that every link carried. Buffers are shared by all ranks, since nobody looks into them.

   traffic allreduce COUNT JOBS   an allreduce of COUNT floats in each of JOBS jobs, whose ranks alternate
   traffic alltoall BYTES         BYTES from every rank to every other
   traffic rounds FILE            rows of round, sender, receiver, bytes; all of a round at once */
#include <mpi.h>
#include <simgrid/link.h>
#include <simgrid/plugins/load.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void allreduce(int rank, int count, int jobs, double *start) {
    MPI_Comm own;
    MPI_Comm_split(MPI_COMM_WORLD, rank % jobs, rank, &own);
    float *in = SMPI_SHARED_MALLOC(4L * count), *out = SMPI_SHARED_MALLOC(4L * count);
    MPI_Barrier(MPI_COMM_WORLD);
    *start = MPI_Wtime();
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, own);
}

static void alltoall(int size, int bytes, double *start) {
    char *in = SMPI_SHARED_MALLOC((long)bytes * size), *out = SMPI_SHARED_MALLOC((long)bytes * size);
    MPI_Barrier(MPI_COMM_WORLD);
    *start = MPI_Wtime();
    MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void rounds(int rank, FILE *file, double *start) {
    int rows = 0, count = 0, round, from, to, bytes;
    while (fscanf(file, "%d %d %d %d", &round, &from, &to, &bytes) == 4) {
        rows++;
        count = round >= count ? round + 1 : count;
    }
    MPI_Request *open = malloc(sizeof(MPI_Request) * (2 * rows + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    *start = MPI_Wtime();
    for (int at = 0; at < count; at++) {
        int n = 0;
        rewind(file);
        for (int row = 0; row < rows; row++) {
            if (fscanf(file, "%d %d %d %d", &round, &from, &to, &bytes) != 4) break;
            if (round != at || (from != rank && to != rank)) continue;
            char *data = SMPI_SHARED_MALLOC(bytes);
            if (from == rank) MPI_Isend(data, bytes, MPI_CHAR, to, row, MPI_COMM_WORLD, &open[n++]);
            if (to == rank) MPI_Irecv(data, bytes, MPI_CHAR, from, row, MPI_COMM_WORLD, &open[n++]);
        }
        MPI_Waitall(n, open, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    double start = 0, mine, slowest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t links = rank == 0 ? sg_link_count() : 0;
    sg_link_t *link = rank == 0 ? sg_link_list() : NULL;
    for (size_t n = 0; n < links; n++) sg_link_load_track(link[n]);
    if (!strcmp(argv[1], "allreduce")) allreduce(rank, atoi(argv[2]), atoi(argv[3]), &start);
    else if (!strcmp(argv[1], "alltoall")) alltoall(size, atoi(argv[2]), &start);
    else rounds(rank, fopen(argv[2], "r"), &start);
    mine = MPI_Wtime() - start;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("seconds %.9f\n", slowest);
    for (size_t n = 0; n < links; n++) printf("carried %s %.0f\n", sg_link_get_name(link[n]), sg_link_get_cum_load(link[n]));
    MPI_Finalize();
    return 0;
}
