! SPDX-License-Identifier: GPL-2.0-or-later
! Data structures as Fortran makes them; expect.h says what is printed.
module fields
  implicit none
  real(8) :: velocity(512, 64)
  real(8), allocatable :: pressure(:, :)
  integer :: flags(4096)
end module fields

subroutine fill()
  use fields
  implicit none
  real(8), allocatable :: left(:), right(:)
  integer :: ids(8192)
  real(8) :: weights(1024)
  common /mesh/ ids, weights

  allocate(pressure(512, 100))
  allocate(left(512 * 40), right(512 * 60))
  pressure = 1.0d0
  left = 2.0d0
  right = 3.0d0
  velocity = 4.0d0
  flags = 5
  ids = 6
  weights = 7.0d0
  print '(a)', 'array pressure 100'
  print '(a)', 'array left 40'
  print '(a)', 'array right 60'
  print '(a)', 'array fields::velocity 64'
  print '(a)', 'array fields::flags 4'
  print '(a)', 'array mesh::ids 8'
  print '(a)', 'array mesh::weights 2'
  deallocate(left, right)
end subroutine fill

program known
  call fill()
end program known
