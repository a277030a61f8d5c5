C     SPDX-License-Identifier: GPL-2.0-or-later
C     As sites.f90, in columns; ALLOCATE(X(1)) in a comment.
      PROGRAM OLD
      REAL*8, ALLOCATABLE :: A(:), B(:), LONGER(:,:)
      INTEGER, ALLOCATABLE :: K(:)
      INTEGER N
      N = 12500 + COMMAND_ARGUMENT_COUNT()
      ALLOCATE(A(N), B(N + 1))
C     The two above:
! 0 a real(kind=8)
! 1 b real(kind=8)
      ALLOCATE(
C     in the middle
     &  LONGER(2,
     &  6251))
! 2 longer real(kind=8)(2,6251)
      IF (N .GT. 0) ALLOCATE(K(2 * (N + 3)))
! 3 k integer(kind=4)
      A = 1
      B = 2
      LONGER = 3
      K = 4
      PRINT *, 'ALLOCATE(Z(1))', A(1), B(1), LONGER(1,1), K(1)
      END
