! SPDX-License-Identifier: GPL-2.0-or-later
! Threads by OpenMP, arrays of several kinds; prints checksums.
program stencil
  use omp_lib
  implicit none
  integer, parameter :: n = 96
  real(8) :: a(n, n), b(n, n), total
  integer :: i, j, step, hits(n)
  character(len=20) :: word
  a = 0
  b = 0
  do j = 1, n
     do i = 1, n
        a(i, j) = mod(i * 7 + j * 5, 13)
     end do
  end do
  do step = 1, 6
     !$omp parallel do private(i) schedule(static)
     do j = 2, n - 1
        do i = 2, n - 1
           b(i, j) = (a(i-1, j) + a(i+1, j) + a(i, j-1) + a(i, j+1)) / 4
        end do
     end do
     !$omp end parallel do
     a(2:n-1, 2:n-1) = b(2:n-1, 2:n-1)
  end do
  hits = 0
  total = 0
  !$omp parallel do reduction(+:total) schedule(dynamic, 5)
  do j = 1, n
     total = total + sum(nint(a(:, j) * 16))
     !$omp atomic
     hits(1 + mod(j, 7)) = hits(1 + mod(j, 7)) + 1
  end do
  !$omp end parallel do
  write (word, '(f16.2)') total
  print '(a)', trim(adjustl(word))
  print '(i0)', sum(hits)
end program stencil
