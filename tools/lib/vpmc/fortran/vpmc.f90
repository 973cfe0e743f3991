! SPDX-License-Identifier: LGPL-2.1-or-later
!
! libvpmc from Fortran: regions by their names. Compile this file with the program, and link with
! -lvpmc. vpmc-marker(7) describes who counts, what is counted, and where the report goes.
!
! A region is of the thread that begins it, also in an OpenMP program. Blanks at the end of a name
! do not count. A region's values have a few instructions of the calls themselves.
!
! Copyright (C) 2026 vpmc developers

module vpmc
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_size_t
  implicit none
  private
  public :: vpmc_open, vpmc_begin, vpmc_end, vpmc_write, vpmc_report

  ! Formats of vpmc_report()
  integer(c_int), parameter, public :: vpmc_report_text = 0, vpmc_report_json = 1

  interface
    ! Makes the calling thread ready. Its first region does this otherwise.
    subroutine vpmc_open() bind(C, name="vpmc_marker_open")
    end subroutine vpmc_open

    ! Writes the report of the process now, as at its end.
    subroutine vpmc_write() bind(C, name="vpmc_marker_write")
    end subroutine vpmc_write

    ! Writes all threads' regions to a descriptor: 1 is standard output. The result is 0, or a
    ! negative error number.
    function vpmc_report(fd, format) result(error) bind(C, name="vpmc_report")
      import :: c_int
      integer(c_int), value :: fd, format
      integer(c_int) :: error
    end function vpmc_report

    subroutine name_begin(name, length) bind(C, name="vpmc_name_begin")
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
    end subroutine name_begin

    subroutine name_end(name, length) bind(C, name="vpmc_name_end")
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
    end subroutine name_end
  end interface

contains

  ! Begins a region. It may have begun already.
  subroutine vpmc_begin(name)
    character(kind=c_char, len=*), intent(in) :: name

    call name_begin(name, len(name, kind=c_size_t))
  end subroutine vpmc_begin

  ! Ends the region that has begun last under this name.
  subroutine vpmc_end(name)
    character(kind=c_char, len=*), intent(in) :: name

    call name_end(name, len(name, kind=c_size_t))
  end subroutine vpmc_end

end module vpmc
