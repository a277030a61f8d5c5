# SPDX-License-Identifier: GPL-2.0-or-later
use strict;
use warnings;

$| = 1;
my %h = map { $_ => $_ * $_ } 1 .. 50000;
for my $n (1 .. 6) {
	pipe(my $r, my $w) or die;
	my $pid = fork();
	die unless defined $pid;
	if (!$pid) {
		$h{$_} += $n for 1 .. 1000;
		my $s = 0;
		$s += $h{$_} for 1 .. 1000;
		print $w $s;
		close $w;
		exit $n;
	}
	close $w;
	$h{$_}-- for 1 .. 1000;
	my $got = <$r>;
	waitpid($pid, 0);
	print "$n $got ", $? >> 8, "\n";
}
my $s = 0;
$s += $h{$_} for keys %h;
print "$s\n";
my $late = eval {
	local $SIG{ALRM} = sub { die "alarm\n" };
	alarm 1;
	select(undef, undef, undef, 10);
	1;
};
print "after ", $@ || "nothing\n";
print `echo from a shell`;
my $text = join ',', map { sprintf '%x', $_ * 2654435761 % 4294967296 } 1 .. 30000;
my $count = () = $text =~ /a(?=[0-9])/g;
print "$count\n";
