// SPDX-License-Identifier: GPL-2.0-or-later
// Events of all kinds of fields from C++: in constructors before main, in a
// namespace, in a template, in destructors after main.
#include <moca/trace.h>

namespace app {
MOCA_EVENT(cxx, ctor, (int, order));
MOCA_EVENT(cxx, all, (u8, a), (s8, b), (x16, c), (s32, d), (u64, e), (s64, f),
	   (long, g), (ulong, h), (size, i), (pointer, j), (f32, k), (f64, l),
	   (string, m), (enum, n, "idle=0,busy=1,gone=-1"), (array, o, u16, 3),
	   (sequence, p, f64));
MOCA_EVENT(cxx, empty);

struct Object {
	int order;
	explicit Object(int n) : order(n) { moca_trace_cxx_ctor(order); }
	~Object() { moca_trace_cxx_ctor(-order); }
};

static Object first(1), second(2);

template <typename T> void call(T value)
{
	moca_trace_cxx_ctor(static_cast<int>(value));
}
} // namespace app

int main()
{
	const uint16_t three[3] = { 1, 2, 65535 };
	const double two[2] = { 0.5, -1e300 };

	app::call(3.5);
	app::moca_trace_cxx_empty();
	app::moca_trace_cxx_all(255, -128, 0xbeef, -2147483647 - 1, ~0ull,
				INT64_MIN, -1, 1, 2, three, 1.5f, -0.25,
				"quote \" and \n", -1, three, two, 2);
	app::moca_trace_cxx_all(0, 0, 0, 0, 0, 0, 0, 0, 0, nullptr, 0, 0,
				nullptr, 7, three, nullptr, 0);
	return 0;
}
