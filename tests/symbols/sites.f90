! SPDX-License-Identifier: GPL-2.0-or-later
! As sites.c, in Fortran.
module fields
  implicit none
  integer, parameter :: base = 12500
  type cell
    real(8), allocatable :: values(:)
    real(4), pointer :: p(:)
  end type
  real(8), allocatable :: u(:,:)
  type(cell) :: cells(3)
contains
  subroutine setup(n)
    integer, intent(in) :: n
    ! allocate(w(n)) in a comment
    allocate(u(4, 3125))                        ! 0 u real(kind=8)(4,3125)
    allocate(cells(2)%values(n + 1))            ! 1 cells()%values real(kind=8)
    allocate(cells(1)%p(2*(n + 2)))             ! 2 cells()%p real(kind=4)
    u = 1; cells(2)%values = 2; cells(1)%p = 3
  end subroutine
end module

program main
  use fields
  implicit none
  real(8), allocatable :: a(:), b(:), c(:,:), d(:)
  integer, allocatable :: k(:)
  integer :: ierr, n
  n = base + command_argument_count()
  call setup(n)
  allocate(a(n + 3), b(n + 4))                  ! 3 a real(kind=8)
                                                ! 4 b real(kind=8)
  allocate(c(1, &
             n + 5), stat=ierr)                 ! 5 c real(kind=8)
  allocate(k(0:2*(n + 6) - 1)); k = 4           ! 6 k integer(kind=4)
  a = 1; b = 2; c = 3
  d = [ a, 0d0, 0d0, 0d0, 0d0 ]                 ! 7 d real(kind=8)
  print *, 'allocate(z(n))', a(1), b(2), c(1,1), k(0), u(1,1), d(1)
  deallocate(a)
end program
