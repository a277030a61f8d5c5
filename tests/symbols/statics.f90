! SPDX-License-Identifier: GPL-2.0-or-later
! Static variables of Fortran.
module fields
  implicit none
  type cell
    real(8) :: x, y
  end type
  real(8) :: u(0:63, 10)
  type(cell) :: cells(5)
  integer, save :: counter = 7
  real(8), allocatable :: heap(:,:)
end module

subroutine solve(n)
  implicit none
  integer :: n
  real(4), save :: kept(3,2)
  real(8) :: a(4), b(2,3)
  integer :: k
  common /shared/ a, b, k
  external show
  kept(n, 1) = n; a(n) = n; b(1, n) = n; k = n
  call show('kept|real(kind=4)(3,2)', kept, 24_8)
  call show('shared::a|real(kind=8)(4)', a, 32_8)
  call show('shared::b|real(kind=8)(2,3)', b, 48_8)
  call show('shared::k|integer(kind=4)', k, 4_8)
end subroutine

program statics
  use fields
  implicit none
  external show, solve
  real(8) :: big(20000, 3)
  real(8) :: blank
  common blank
  blank = 1; big = 2; u = 3; cells%x = 4; counter = counter + 1
  call show('fields::u|real(kind=8)(0:63,10)', u, 5120_8)
  call show('fields::cells|type(cell)(5)', cells, 80_8)
  call show('fields::counter|integer(kind=4)', counter, 4_8)
  call show('big|real(kind=8)(20000,3)', big, 480000_8)
  call show('blank|real(kind=8)', blank, 8_8)
  call solve(1)
  if (allocated(heap)) print *, big(1, 1), u(1, 1), cells(1)%x, counter
end program
