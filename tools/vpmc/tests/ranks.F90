! SPDX-License-Identifier: GPL-2.0
!
! An MPI program in Fortran with known differences between its ranks. Rank R executes
! R * 100,000 iterations of a loop outside of MPI, and makes 1 + 1000 * R calls of a short
! subroutine. With -DF08 it uses the module mpi_f08.
program ranks
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: error, rank, size, i, total
  integer, volatile :: work

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  do i = 1, 1000 + rank * 100000
    work = i
  end do
  do i = 0, 1000 * rank
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  end do
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (total /= size * (size - 1) / 2) stop 1
  call MPI_Finalize(error)
end program ranks
