! SPDX-License-Identifier: MIT
! Counts a loop of Fortran, with another one in it.
program marker
  use vpmc
  implicit none
  integer :: turn, i
  integer, volatile :: work

  call vpmc_begin("all turns")
  do turn = 1, 3
    call vpmc_begin("a turn")
    do i = 1, 100000
      work = i                 ! the code that is counted
    end do
    call vpmc_end("a turn   ")  ! blanks at the end do not count
  end do
  call vpmc_end("all turns")
end program marker
