! SPDX-License-Identifier: GPL-2.0-or-later
! usage: solve KERNEL SIZE REPEATS; a Fortran program as it is built by everybody:
! libgfortran handles SIGSEGV, SIGBUS, SIGFPE and SIGILL.
! blocks: a block-tridiagonal system of 5x5 blocks, as solvers along lines have it
! wave: a recurrence over a cube, whose planes depend on those ahead of them
! gradient: the conjugate gradient method with a sparse matrix
module kernels
  implicit none
contains
  ! c = c - a b, of blocks
  subroutine multiply(a, b, c)
    real(8), intent(in) :: a(5, 5), b(5, 5)
    real(8), intent(inout) :: c(5, 5)
    integer :: j
    do j = 1, 5
      c(1,j) = c(1,j) - a(1,1)*b(1,j) - a(1,2)*b(2,j) - a(1,3)*b(3,j) - a(1,4)*b(4,j) - a(1,5)*b(5,j)
      c(2,j) = c(2,j) - a(2,1)*b(1,j) - a(2,2)*b(2,j) - a(2,3)*b(3,j) - a(2,4)*b(4,j) - a(2,5)*b(5,j)
      c(3,j) = c(3,j) - a(3,1)*b(1,j) - a(3,2)*b(2,j) - a(3,3)*b(3,j) - a(3,4)*b(4,j) - a(3,5)*b(5,j)
      c(4,j) = c(4,j) - a(4,1)*b(1,j) - a(4,2)*b(2,j) - a(4,3)*b(3,j) - a(4,4)*b(4,j) - a(4,5)*b(5,j)
      c(5,j) = c(5,j) - a(5,1)*b(1,j) - a(5,2)*b(2,j) - a(5,3)*b(3,j) - a(5,4)*b(4,j) - a(5,5)*b(5,j)
    end do
  end subroutine

  ! Gauss: a c' = c, a x' = x
  subroutine invert(a, c, x)
    real(8), intent(inout) :: a(5, 5), c(5, 5), x(5)
    real(8) :: p, f
    integer :: i, k
    do k = 1, 5
      p = 1d0 / a(k, k)
      a(k, :) = a(k, :) * p
      c(k, :) = c(k, :) * p
      x(k) = x(k) * p
      do i = 1, 5
        if (i == k) cycle
        f = a(i, k)
        a(i, :) = a(i, :) - f * a(k, :)
        c(i, :) = c(i, :) - f * c(k, :)
        x(i) = x(i) - f * x(k)
      end do
    end do
  end subroutine

  real(8) function blocks(n, repeats)
    integer, intent(in) :: n, repeats
    real(8), allocatable :: a(:,:,:), b(:,:,:), c(:,:,:), x(:,:)
    integer :: i, j, r
    allocate(a(5,5,n), b(5,5,n), c(5,5,n), x(5,n))
    do r = 1, repeats
      do i = 1, n
        do j = 1, 5
          a(:, j, i) = 0.01d0 * j + 1d-4 * mod(i + r, 7)
          c(:, j, i) = 0.02d0 * j
          b(:, j, i) = 0.03d0
          b(j, j, i) = 4d0 + j
          x(j, i) = 1d0 + mod(i, 3)
        end do
      end do
      call invert(b(:,:,1), c(:,:,1), x(:,1))
      do i = 2, n
        call multiply(a(:,:,i), c(:,:,i-1), b(:,:,i))
        do j = 1, 5
          x(:, i) = x(:, i) - a(:, j, i) * x(j, i-1)
        end do
        call invert(b(:,:,i), c(:,:,i), x(:,i))
      end do
      do i = n - 1, 1, -1
        do j = 1, 5
          x(:, i) = x(:, i) - c(:, j, i) * x(j, i+1)
        end do
      end do
    end do
    blocks = sum(x)
  end function

  real(8) function wave(n, repeats)
    integer, intent(in) :: n, repeats
    real(8), allocatable :: u(:,:,:)
    integer :: i, j, k, r
    allocate(u(n, n, n))
    u = 1d0
    do r = 1, repeats
      do k = 2, n
        do j = 2, n
          do i = 2, n
            u(i,j,k) = 0.3d0 * (u(i-1,j,k) + u(i,j-1,k) + u(i,j,k-1)) + 0.1d0 * u(i,j,k)
          end do
        end do
      end do
    end do
    wave = sum(u)
  end function

  real(8) function gradient(n, repeats)
    integer, intent(in) :: n, repeats
    integer, parameter :: width = 9
    integer, allocatable :: column(:,:)
    real(8), allocatable :: value(:,:), x(:), r(:), p(:), q(:)
    real(8) :: rho, old, alpha
    integer :: i, k, t
    allocate(column(width, n), value(width, n), x(n), r(n), p(n), q(n))
    do i = 1, n
      do k = 1, width
        column(k, i) = 1 + mod(i * 31 + k * 7919, n)
        value(k, i) = 0.05d0
      end do
      column(1, i) = i
      value(1, i) = 3d0
    end do
    x = 0d0
    r = 1d0
    p = r
    rho = sum(r * r)
    do t = 1, repeats
      do i = 1, n
        q(i) = 0d0
        do k = 1, width
          q(i) = q(i) + value(k, i) * p(column(k, i))
        end do
      end do
      alpha = rho / sum(p * q)
      x = x + alpha * p
      r = r - alpha * q
      old = rho
      rho = sum(r * r)
      p = r + rho / old * p
      if (rho < 1d-200) r = 1d0
    end do
    gradient = sum(x)
  end function
end module

program solve
  use kernels
  implicit none
  character(len=32) :: name, text
  integer :: n, repeats
  if (command_argument_count() /= 3) error stop 'usage: solve KERNEL SIZE REPEATS'
  call get_command_argument(1, name)
  call get_command_argument(2, text)
  read (text, *) n
  call get_command_argument(3, text)
  read (text, *) repeats
  select case (name)
  case ('blocks')
    print '(es22.12)', blocks(n, repeats)
  case ('wave')
    print '(es22.12)', wave(n, repeats)
  case ('gradient')
    print '(es22.12)', gradient(n, repeats)
  case default
    error stop 'KERNEL is blocks, wave or gradient'
  end select
end program
