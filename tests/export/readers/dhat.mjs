// SPDX-License-Identifier: GPL-2.0-or-later
// node dhat.mjs DH_VIEW.JS FILE: what Valgrind's viewer has of a file, as JSON: the leaves
// of its tree, with the frames on the way to each, the innermost first.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const [, , viewer, file] = process.argv;
const context = createContext({ text: readFileSync(file, "utf8"),
	document: {}, performance, Intl });

// The menu of its page is all that building the tree looks at.
const code = readFileSync(viewer, "utf8") + `
gSelect = { selectedIndex: 0, childNodes: gSelectData.map(() => ({})) };
gData = JSON.parse(text);
buildTree();
JSON.stringify((function () {
	const points = [];
	const walk = (t, above) => {
		const frames = above.concat(t._frames.map((i) => {
			assert(gData.ftbl[i] !== undefined, "no frame " + i);
			return gData.ftbl[i];
		}));
		if (t._kids)
			t._kids.forEach((k) => walk(k, frames));
		else if (gData.pps.length)
			points.push({ frames: frames.slice(1), bytes: t._totalBytes,
				blocks: t._totalBlocks, life: t._totalLifetimes,
				mostBytes: t._maxBytes, mostBlocks: t._maxBlocks,
				peakBytes: t._atTGmaxBytes, peakBlocks: t._atTGmaxBlocks,
				endBytes: t._atTEndBytes, endBlocks: t._atTEndBlocks });
	};
	walk(gRoot, []);
	return { command: gData.cmd, totalBytes: gRoot._totalBytes,
		totalBlocks: gRoot._totalBlocks, points };
})());
`;
console.log(runInContext(code, context, { filename: viewer }));
