! SPDX-License-Identifier: GPL-2.0-or-later
! Heat on a plate, in parallel; the result does not depend on the threads.
program heat
	implicit none
	integer, parameter :: n = 400
	real(8), allocatable :: a(:, :), b(:, :)
	integer :: i, j, step

	allocate(a(n, n), b(n, n))
	do j = 1, n
		do i = 1, n
			a(i, j) = dble(mod(i * 31 + j * 17, 101))
		end do
	end do
	b = a
	do step = 1, 30
		!$omp parallel do private(i)
		do j = 2, n - 1
			do i = 2, n - 1
				b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) &
					+ a(i, j - 1) + a(i, j + 1))
			end do
		end do
		!$omp end parallel do
		!$omp parallel do
		do j = 2, n - 1
			a(2:n - 1, j) = b(2:n - 1, j)
		end do
		!$omp end parallel do
	end do
	print '(a, f18.10)', 'heat', sum(a(:, n / 2)) + maxval(a)
end program
