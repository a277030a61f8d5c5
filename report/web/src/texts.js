// SPDX-License-Identifier: GPL-2.0-or-later
// What stands beside each plot: how to read it, what it can reveal, what to do.

export const texts = {
	compare: {
		read: "Structures of both runs, those of one name in one row; what has no name of its own is the same one where the function that allocates it is. First stands what changed most, of shares what changed most accesses. Bars are to one scale: A above, B below.",
		reveal: "What a change did, and what it did besides: a structure that is new or gone, pages that are used by threads in turn only since then, memory that grew.",
		act: "Look at the structure that was to change first, then at all that changed as well. Counts of accesses compare where both runs were recorded in one way with about as many intervals; pages and shares hardly depend on that.",
	},
	compareTime: {
		read: "The same structures in the same order in both runs, each run over its own time: axes differ where the runs do. Coloured by reads (blue), writes (orange) and both (purple), the stronger the more accesses in a time; one scale for both runs.",
		reveal: "Phases that became shorter or longer, structures that are used earlier, later or no more.",
		act: "Compare a row of A with that of B; open the structure in B by the table above.",
	},
	compareFlame: {
		read: "Call stacks of both runs as one tree, functions of one name below the same callers being one frame. Its width is its share of A's and its share of B's together, so that what is in one run alone is seen as well. Red: its share is larger in B, blue: smaller; full colours: it is in one of the runs only; grey: as before.",
		reveal: "Which callers have more or less of the accesses since the change, and what came or went. Shares add up to all of a run: where one grows, others shrink though they do as much as before.",
		act: "Look at the red frame that is lowest in the tree: below it nothing else grew. Click it, and read its shares. moca diff --flame lists the functions that changed most.",
	},
	flame: {
		read: "Each frame is a function, below the one that called it; functions that are inlined have frames of their own. The width is its share of what is counted, with all that it calls; neighbours have no order in time. Accesses are those of the time that is selected in another plot, in whole parts of the run; allocations are those of all of it. Colour: reads (blue), writes (orange), both (purple). An access is the first of a page in an interval, or what it weighs in samples; a first touch is the first of a page in the run. Allocated bytes are by the call stack that asked for them; alive at the peak are those that were there when most of all were.",
		reveal: "Which part of the program is behind the accesses that code deep in a library does: who has the memory copied, filled or searched. Of first touches: who decides on which node pages lie. Of allocated bytes: who asks for memory, who holds it when it is scarce, and who never gives it back.",
		act: "Go down from the top to where a wide frame parts into several, or ends: that is the code to look at. Choose First touches and a thread to see which one initialises what all use. Click a frame to have it as wide as all; Find marks a function wherever it is called.",
	},
	overview: {
		read: "Each line is a data structure, most accessed first; time runs to the right. A cell is coloured by reads (blue), writes (orange) and both (purple), the stronger the more; all lines have one scale, so they compare. Sections of program files (code, symbol tables) have no lines: Data structures lists them. Click a line to see the structure page by page.",
		reveal: "Phases: times in which other structures are used. Structures that are only written at the start (candidates for replication), structures that are never touched again (memory that could be freed), and bursts.",
		act: "Look for the few structures that are used all the time: only these are worth placing well. A structure used in one phase only can be placed for that phase.",
	},
	areas: {
		read: [
			"Places go down, time runs to the right. Each rectangle is a place for some time in which what happens to it is alike: all structures, one of them, a part of it (a sixteenth of its pages) or a group of neighbouring pages. Only pages that were used are places; above the plot it says how many are in a group at most (where a structure's map has cells of several pages, pages are counted in these). Colour: reads (blue), writes (orange), both (purple), the stronger the more accesses per page and slice of time (over three decades); or their number alone; or the thread, or the node, with most accesses to each group of pages in each slice, which areas may have several of. Numbers are sums of all accesses in it. Told apart are at most 24 structures, those accessed most, with 0.1 % of all accesses each; code is left out. Drag over a time to see that alone, here and in all other plots; a double click shows all of the run. An area's values are those of all of its time, also where a part of it is shown.",
			"The slider goes through levels of detail: each is the best division there is for its p. To the left each difference is kept, to the right the picture gets simpler. It begins where most simplicity is gained for the information lost.",
		],
		reveal: "Borders in time that many places share are phases of the program. Horizontal borders say that parts of a structure are used differently: each thread its own, a hot part and a cold one. A structure that stays one rectangle is used alike everywhere all the time; steps from corner to corner are sweeps. Differences that survive while you move the slider to the right are the large ones.",
		act: "Begin with the simple picture and go left where you want to know more; show one structure alone for its details. What is written in its first part only can be replicated or initialised in parallel, what is empty after some time can be freed, a hot part can be placed by itself. Click a rectangle for its values, and open its structure at that place and time.",
	},
	trade: {
		read: "For each p: how much simpler the picture is (entropy that is gone), how much information is lost (divergence from the table that is divided), both as shares of those at p = 1, and how many areas it has. The curves have all partitions that are best for some p; the slider stops at 60 of them at most, each with fewer areas than the one before by about the same factor.",
		reveal: "Where the gain jumps and the loss hardly does, a natural level of detail begins: the structure of the run itself. A loss that grows steadily says that there is none.",
		act: "Choose a p at the foot of a step of the loss. CSV has the areas for other programs; moca summary --json --detail P has those of whole structures.",
	},
	workingSet: {
		read: "How many different pages of data were accessed in each part of the time, by all threads together. This is what must be in memory (or cache) at once, not what is allocated.",
		reveal: "Peaks, steps and growth: phases that need much memory at once, and phases that would fit into a cache or into the memory of one node.",
		act: "Compare its top with the sizes of caches and nodes: work in blocks where it is little above one of them. Allocated memory far above the working set can be freed earlier, or be on slower memory.",
	},
	topology: {
		read: "The machine: packages, NUMA nodes, caches and CPUs as hwloc sees them. Each CPU shows which threads ran there, by colour, and how many of the recorded accesses came from it; each node shows the share of accesses that went to its memory. On an imagined machine (--topology) both are where they are assumed to be; the page says how.",
		reveal: "Threads that share a cache or sit on different nodes; nodes whose memory serves everybody; CPUs that did nothing.",
		act: "Pin threads (OMP_PROC_BIND=close or spread, OMP_PLACES=cores, taskset, numactl --cpunodebind) so that threads that share data are near each other, and place data where it is used (numactl --membind, --interleave, libnuma).",
	},
	byThread: {
		read: "One bar per data structure, its length the number of accesses, its parts the threads. A page counts once per interval of the recording (and once more for a first write after a read), so this is how many pages were in use how often, and not how many instructions ran.",
		reveal: "Structures that one thread alone uses beside ones that all use; a master thread that does most of the accesses; unequal shares of the work.",
		act: "Equal parts are what a balanced program has. If one thread dominates, look at how the work is divided (OpenMP schedule). If a structure is mostly read, each node can have a copy of its own; if it is written by all, interleave its pages (numactl --interleave) or divide it.",
	},
	size: {
		read: "Bytes of each structure: of all its objects together (for those allocated at one place in the code).",
		reveal: "Which structures do not fit into a cache or into the memory of one node.",
		act: "Large and much used: placement and huge pages (madvise MADV_HUGEPAGE) pay off. Small: leave them alone.",
	},
	heat: {
		read: [
			"Time runs to the right, addresses downwards; only pages that were used are drawn, and a dashed line marks where addresses are not neighbours. Choose what colours mean: reads and writes, number of accesses, the thread with most accesses, how pages are shared at that time, or the node of the page.",
			"Drag a rectangle to zoom into it; the wheel zooms at the pointer (with Shift only addresses, with Alt only time); Shift and drag moves; a double click shows all. By keyboard: arrows, plus, minus, 0.",
		],
		reveal: "Diagonals are sweeps through memory, horizontal lines are hot pages, clouds are random accesses, blocks of one colour are parts that belong to one thread. By sharing: written by several threads at one time is what costs most.",
		act: "Blocks by thread: let each thread initialise its own block, so first touch places it well. A cloud of all threads: interleave, or sort the work by address. Hot shared lines: give each thread its own copy and combine at the end. Long sweeps: prefetching works already; random access: smaller data or huge pages.",
	},
	density: {
		read: "Accesses per page along the structure: a thin line for each thread, a thick one for the average over threads. Pages are in order of address; where there are more pages than fit, a point is the mean of its pages.",
		reveal: "How the structure is divided among threads: separate plateaus (each thread has a part), equal curves (all use everything), peaks (hot spots), a slope (unbalanced).",
		act: "Separate plateaus: parallel first touch or explicit binding puts each part on its thread's node. Equal curves: interleave pages. A peak: look at what lies there; pad it, split it or copy it per thread.",
	},
	first: {
		read: "For each page the thread that touched it first. By default Linux puts a page on the node of the CPU that touches it first. Below: the thread that uses the page most, and how many threads use it.",
		reveal: "A first-touch strip of one colour above a strip of many: one thread initialised what others use, so all of it is on one node.",
		act: "Initialise in parallel with the same division of work as in the computation (#pragma omp parallel for schedule(static) on the initialising loop), or interleave (numactl --interleave=all), or move pages (numactl --localalloc, move_pages).",
	},
	rates: {
		read: "Records per second: first accesses of each interval to each page, reads and writes apart. It is a measure of how much memory is in use, not of bandwidth.",
		reveal: "Phases of the program; times in which memory is mostly written (initialisation, copying) or mostly read.",
		act: "Compare with the structures' overview to see what causes a peak. A long initialisation by one thread is a candidate for parallel first touch.",
	},
	intervals: {
		read: "Each step is one interval of the recording: how long it was, and how many records it has. Within an interval a page is seen once per thread that comes first.",
		reveal: "Intervals that grew because of the budget: there the picture is coarser in time, and counts per second are lower without the program doing less.",
		act: "For a finer picture record with a larger --budget or a shorter --interval.",
	},
	cpus: {
		read: "One track per thread; the colour is the CPU that it was last seen on in that part of the time. Empty: no access recorded.",
		reveal: "Threads that migrate (many colours in one track), threads that share a CPU, threads that sleep.",
		act: "Migration between nodes leaves memory behind: pin threads (OMP_PROC_BIND=true, taskset, pthread_setaffinity_np).",
	},
	threads: {
		read: "One bar per thread: its reads and writes, all recorded accesses.",
		reveal: "Unequal work, a master that does more than the others, helpers that do next to nothing.",
		act: "Divide the work differently (schedule(dynamic) or (guided) if its amount varies, smaller tasks), or use fewer threads.",
	},
	phases: {
		read: "The run divided where what it accesses changes: in a phase the shares of the data structures stay alike. The table says which are used most in each.",
		reveal: "Initialisation, computation, output; steps that repeat; a phase that takes longer than it should.",
		act: "Optimise the longest phase first. A structure used in one phase only can be placed for that phase, or freed after it.",
	},
	qualities: {
		read: "The parameter p trades information against simplicity: at 0 each difference is a phase of its own, at 1 all is one. The lines say how much simpler the picture gets, and how much information is lost.",
		reveal: "A jump in the gain at little loss is a natural level of detail.",
		act: "moca summary --detail P shows the phases of another p.",
	},
	allocs: {
		read: "Bytes that exist at a time, by where they were allocated; the structures with most bytes have their own line. Sizes are what the program asked for.",
		reveal: "Growth without end (a leak), short peaks that decide how much memory is needed, memory that is kept long after its use.",
		act: "A peak of temporary buffers: reuse one. Memory that is allocated and freed in turn: keep it, so its pages are not touched first again and again.",
	},
	looks: {
		read: "Each line is a stretch of memory, in order of address. A column is coloured where a look found pages touched since the look before: the fuller, the more of them, of the most of that line; the colour says whether they were written.",
		reveal: "What is used when, more finely than intervals: working sets that move, memory that is touched once and then kept, loops that go over all of it.",
		act: "Give back or compress what stays blank; work on one stretch at a time where all of them are touched again and again. Who touched them the records of accesses say.",
	},
	latency: {
		read: "Bars: of the time that all sampled accesses took together, the share of each structure, the most first; at most 16. The table also has how many samples there are, the mean and the longest latency of those that have one, how many were answered by another node's memory or cache, and what answered: a cache (L1, L2, L3), a buffer that is being filled (LFB), or memory (RAM).",
		reveal: "Which structure the processor waits for. One with few samples and a high mean misses the caches each time; one that other nodes answer lies on the wrong one.",
		act: "Begin with the longest bar. From memory: make it smaller, go over it in order, or prefetch. From another node: place it where it is used. Few samples (under some hundred) say little.",
	},
	sites: {
		read: "Each line is a place in the program that allocates (with the variable that it is assigned to). Bars: bytes of it that were alive when most was allocated in all, divided by what was freed later and what was kept until the end. The table also has its calls, all bytes that it ever allocated, the most that were alive at once, and those alive at the end. Small objects are counted by site without times: of these it is not known when they were alive.",
		reveal: "What the peak consists of, which decides how much memory the program needs; what is never freed (a leak, or a cache); what is allocated again and again (many calls, much in all, little at once).",
		act: "Begin with the longest bar: free it earlier, or make it smaller. Where much in all stands beside little at once, allocate once and use it again.",
	},
};
