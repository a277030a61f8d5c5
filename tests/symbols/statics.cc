// SPDX-License-Identifier: GPL-2.0-or-later
/* Static variables of C++. */
#include <array>
#include <vector>

#include "show.h"

namespace ns {
struct particle {
	double x;
};
double table[4];
static int hidden[5];
namespace inner {
particle parts[3];
}
class Class {
public:
	static long member;
	static thread_local int tls;
	template <typename T> static T *pool()
	{
		static T store[6];

		return store;
	}
};
long Class::member = 4;
thread_local int Class::tls = 5;
template <typename T> struct Box {
	static T value;
};
template <typename T> T Box<T>::value;
template struct Box<int>;
}

namespace {
short secret[8];
}

inline double shared[12];
std::vector<double> vec(10);

struct Outer {
	int method()
	{
		static char state[16];

		SHOW("state", "char[16]", state);
		return state[2]++;
	}
};

int main(int argc, char **argv)
{
	static double local[2][2];
	Outer outer;

	SHOW("ns::table", "double[4]", ns::table);
	SHOW("ns::hidden", "int[5]", ns::hidden);
	SHOW("ns::inner::parts", "particle[3]", ns::inner::parts);
	SHOW("ns::Class::member", "long int", ns::Class::member);
	SHOW_TLS("ns::Class::tls", "int", ns::Class::tls);
	SHOW("ns::Box<int>::value", "int", ns::Box<int>::value);
	SHOW("(anonymous namespace)::secret", "short int[8]", secret);
	SHOW("shared", "double[12]", shared);
	SHOW("vec", "vector<double, std::allocator<double> >", vec);
	SHOW("local", "double[2][2]", local);
	show("store|int[6]", ns::Class::pool<int>(), 24, 0);
	secret[argc] = local[argc][1] = ns::hidden[argc]++;
	return outer.method() + argc == 1234;
}
