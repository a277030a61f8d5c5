! SPDX-License-Identifier: GPL-2.0-or-later
! openmp CASE [fixed]: as threads.c, in Fortran with OpenMP.
program openmp
  use omp_lib
  implicit none
  integer, parameter :: n = 4194304
  type work
    real(8), allocatable :: a(:)
  end type
  real(8), allocatable :: u(:)
  type(work) :: w(4)
  real(8) :: pressure(n), density(n)
  common /fields/ pressure, density
  real(8), volatile, save :: part(64)
  character(32) :: name
  logical :: fixed
  integer :: i, k, r, t
  real(8) :: total

  call get_command_argument(1, name)
  fixed = command_argument_count() > 1
  total = 0
  select case (name)
  case ('f-serial')
    allocate (u(n))
    if (fixed) then
      !$omp parallel do schedule(static)
      do i = 1, n
        u(i) = i
      end do
    else
      do i = 1, n
        u(i) = i ! FAULT f-serial
      end do
    end if
    do r = 1, 600
      !$omp parallel do schedule(static)
      do i = 1, n
        u(i) = u(i) * 0.5d0 + r
      end do
    end do
    total = u(77)
  case ('f-churn')
    do r = 1, 300
      do k = 1, 4
        if (.not. allocated(w(k)%a)) allocate (w(k)%a(400000)) ! FAULT f-churn
        w(k)%a = r
        total = total + w(k)%a(r)
      end do
      do k = 1, 4
        if (.not. fixed) deallocate (w(k)%a)
      end do
    end do
  case ('f-common')
    if (fixed) then
      !$omp parallel do schedule(static)
      do i = 1, n
        pressure(i) = i
        density(i) = 1
      end do
    else
      do i = 1, n
        pressure(i) = i ! FAULT f-common
        density(i) = 1
      end do
    end if
    do r = 1, 500
      !$omp parallel do schedule(static)
      do i = 1, n
        pressure(i) = pressure(i) * 0.5d0 + density(i)
      end do
    end do
    total = pressure(77)
  case ('f-sums')
    part = 0
    !$omp parallel private(t, i) num_threads(2)
    t = omp_get_thread_num()
    if (fixed) t = t * 16
    do i = 1, 150000000
      part(t + 17) = part(t + 17) + 0.5d0 ! FAULT f-sums
    end do
    !$omp end parallel
    total = sum(part)
  case ('f-halves')
    allocate (u(n))
    do r = 1, 1200
      !$omp parallel do schedule(static)
      do i = 1, n
        u(i) = i + r
      end do
    end do
    total = u(77)
  case ('f-small')
    do r = 1, 3000000
      allocate (u(2000))
      u = r
      total = total + u(7)
      deallocate (u)
    end do
  case ('f-dealt')
    allocate (u(n))
    if (fixed) then
      !$omp parallel do schedule(static)
      do i = 1, n
        u(i) = i
      end do
    else
      !$omp parallel do schedule(static, 32768)
      do i = 1, n
        u(i) = i ! FAULT f-dealt
      end do
    end if
    do r = 1, 600
      !$omp parallel do schedule(static)
      do i = 1, n
        u(i) = u(i) * 0.5d0 + r
      end do
    end do
    total = u(77)
  case ('f-abandon')
    allocate (w(1)%a(6000000)) ! FAULT f-abandon
    allocate (u(1500000))
    w(1)%a = 1
    do i = 1, 1500000
      u(i) = w(1)%a(4 * i)
    end do
    if (fixed) deallocate (w(1)%a)
    do r = 1, 6000
      do i = 1, 1500000
        u(i) = u(i) * 0.5d0 + r
      end do
    end do
    total = u(77)
  case ('f-reduction')
    allocate (u(n / 2))
    !$omp parallel do schedule(static)
    do i = 1, n / 2
      u(i) = i
    end do
    do r = 1, 1000
      !$omp parallel do schedule(static) reduction(+:total)
      do i = 1, n / 2
        total = total + u(i) * r
      end do
    end do
  case default
    stop 2
  end select
  print *, total
end program
