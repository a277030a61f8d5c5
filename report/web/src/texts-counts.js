// SPDX-License-Identifier: GPL-2.0-or-later
// What stands beside the plots of counts; texts.js has those of records.

export const texts = {
	glance: {
		read: "One bar per data structure: its loads (blue) and stores (orange), each that the program executed. Click a bar to see the structure page by page.",
		reveal: "The few structures that most of the work goes to; what is only read once it is there; what is written as much as read.",
		act: "Begin with the longest bars: only these are worth placing well. What is hardly stored to can be replicated on each node.",
	},
	density: {
		read: "Loads (or stores) per page along the structure: a thin line for each thread, a thick one for the average over threads. They are counts of instructions' accesses, not samples. Pages are in order of address; where there are more than fit, a point is the mean of its pages.",
		reveal: "How the structure is divided among threads: separate plateaus (each thread has a part), equal curves (all use everything), peaks (hot spots), a slope (unbalanced work).",
		act: "Separate plateaus: parallel first touch or explicit binding puts each part on its thread's node. Equal curves: interleave pages. A peak: look at what lies there; pad it, split it or copy it per thread.",
	},
	slices: {
		read: "Loads and stores of each slice of time, all threads together, and of each thread: exact sums.",
		reveal: "Phases, imbalance between threads at a time, threads that wait while others work.",
		act: "Where one thread works alone, look at what it does: it is what limits the speed-up. Threads that wait by reading in a loop have many loads and no stores.",
	},
	threads: {
		read: "One bar per thread: all loads and stores that it executed.",
		reveal: "Unequal work. Waiting in a loop counts as well: a thread that spins has many loads.",
		act: "Divide the work differently (schedule(dynamic) or (guided) if its amount varies, smaller tasks), or use fewer threads.",
	},
	lines: {
		read: "Cache lines (or the granules that were counted) with their loads and stores. Contended are accesses that came from another thread than the line's main one in the same slice, as far as the line was stored to: each may have had to fetch the line from another CPU.",
		reveal: "True sharing (several threads use the same data) and false sharing (they use different data in one line). Which of the two is not recorded: counts are of lines, not of bytes.",
		act: "If each thread has data of its own in the line, pad or align it to 64 bytes. If it is the same data, write it less often: count locally and combine at the end.",
	},
	byThread: {
		read: "One bar per data structure, its length the number of loads or stores, its parts the threads. Each access that was executed counts.",
		reveal: "Structures that one thread alone uses beside ones that all use; a master thread that does most of the accesses; unequal shares of the work.",
		act: "Equal parts are what a balanced program has. If one thread dominates, look at how the work is divided. If a structure is mostly read, each node can have a copy of its own; if it is written by all, interleave its pages or divide it.",
	},
};
