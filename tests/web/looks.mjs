// SPDX-License-Identifier: GPL-2.0-or-later
// Each view with a canvas looks as it did: compared by pixels with pictures.json.
import { readFileSync, writeFileSync } from "node:fs";
import { go } from "./page.mjs";

/*
 * What is drawn, as 32 by 16 means of colour for each canvas, without its text: so no
 * font counts. A block of these is drawn if it is not the ground's colour, and changed if
 * its colour is another by a part of what is drawn there: a plot of another colour has
 * nearly all of its blocks changed, one pixel more or less has few. PICTURES=write keeps
 * what is seen as right.
 */
const KINDS = ["million", "finding", "compared", "sliced", "counted"];
const LEAST = 4;	/* of 255: less is drawn by no plot */
const PART = 0.2;	/* of what is drawn in a block: another colour */
const MUCH = 0.05;	/* of the blocks with something drawn */
const PICTURES = new URL("pictures.json", import.meta.url);
const meansOf = (page) => page.evaluate(() => [...document.querySelectorAll("main canvas")].filter((c) => c.width && c.height).map((c) => {
	const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, W = 32, H = 16;
	const sum = new Float64Array(W * H * 4);
	for (let y = 0, i = 0; y < c.height; y++)
		for (let x = 0; x < c.width; x++, i += 4) {
			const at = 4 * (Math.floor(y * H / c.height) * W + Math.floor(x * W / c.width)), a = d[i + 3] / 255;
			for (let k = 0; k < 3; k++)
				sum[at + k] += 255 + a * (d[i + k] - 255);
			sum[at + 3]++;
		}
	return Array.from({ length: 3 * W * H }, (_, i) => Math.round(sum[4 * Math.floor(i / 3) + i % 3] / sum[4 * Math.floor(i / 3) + 3]));
}));

const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

/* {view: canvases, each in base64} */
async function look(page, viewsOf) {
	const seen = {};
	await page.evaluate(() => {
		CanvasRenderingContext2D.prototype.fillText = () => {};
	});
	/* What is there by now has text. */
	await go(page, "#/topology");
	for (const hash of [...(await viewsOf(page)).map((v) => `#/${v}`), "#/object/0", "#/object/0?mode=thread"]) {
		await go(page, hash);
		await settled(page);
		const means = await meansOf(page);
		if (means.length)
			seen[hash] = means.map((m) => Buffer.from(m).toString("base64"));
	}
	return seen;
}

/* A picture's background, its most frequent colour. */
function groundOf(x) {
	const times = new Map();
	for (let i = 0; i < x.length; i += 3) {
		const key = x.readUIntBE(i, 3);
		times.set(key, (times.get(key) || 0) + 1);
	}
	const ground = [...times].sort((p, q) => q[1] - p[1])[0][0];
	return [16, 8, 0].map((n) => ground >> n & 255);
}

/* How many of the blocks with something drawn differ: a part of them. */
function changed(a, b) {
	const x = Buffer.from(a, "base64"), y = Buffer.from(b, "base64"), grounds = [groundOf(x), groundOf(y)];
	const apart = (i, of) => Math.max(...[0, 1, 2].map((k) => Math.abs(x[i + k] - of(k))));
	let drawn = 0, other = 0;
	for (let i = 0; i < x.length; i += 3) {
		const ink = Math.max(apart(i, (k) => grounds[0][k]), ...[0, 1, 2].map((k) => Math.abs(y[i + k] - grounds[1][k])));
		if (ink < LEAST)
			continue;
		drawn++;
		other += apart(i, (k) => y[i + k]) > Math.max(LEAST, PART * ink);
	}
	return drawn ? other / drawn : 0;
}

/* Of each canvas of the views: [where, how much of it changed]; throws where others are there. */
function compare(seen, then) {
	if (Object.keys(seen).join() !== Object.keys(then).join())
		throw new Error(`views with canvases: ${Object.keys(seen)}`);
	return Object.entries(seen).flatMap(([hash, pictures]) => {
		if (pictures.length !== then[hash].length)
			throw new Error(`${hash} has ${pictures.length} canvases, and had ${then[hash].length}`);
		return pictures.map((text, n) => [`${hash}, canvas ${n}`, changed(text, then[hash][n])]);
	});
}

const light = { colorScheme: "light" };
const percent = (x) => `${(100 * x).toFixed(1)} %`;

/* The page with something else in it, beside it: its name. */
function altered(dir, kind, name, from, to) {
	const text = readFileSync(`${dir}/${kind}.html`, "utf8"), by = text.replaceAll(from, to);
	if (by === text)
		throw new Error(`${kind}.html has no ${from}`);
	writeFileSync(`${dir}/${kind}-${name}.html`, by);
	return `${kind}-${name}`;
}

/* With a quarter of what a page may differ by, and with eight times as much. */
async function measure(dir, { withPage, viewsOf }) {
	const seen = async (name) => {
		let out;
		await withPage(name, light, async (page) => {
			out = await look(page, viewsOf);
		});
		return out;
	};
	const kind = "finding", then = await seen(kind);
	const font = compare(await seen(altered(dir, kind, "font", /--font:[^;}]*/g, "--font:monospace")), then);
	for (const [where, part] of font)
		if (part > MUCH / 4)
			throw new Error(`another font: ${where}: ${percent(part)}`);
	/* Writes in another orange: some canvases have few of them. */
	const other = compare(await seen(altered(dir, kind, "orange", /\[213,94,0\]/g, "[225,130,60]")), then).filter(([, part]) => part > MUCH);
	if (other.length < 4 || other.every(([, part]) => part < 8 * MUCH))
		throw new Error(`writes of another colour: ${other.map((x) => `${x[0]}: ${percent(x[1])}`).join("; ")}`);
}

/** The cases: of traces that are the same each time. */
export async function looks({ test, withPage, viewsOf, dir }) {
	for (const kind of KINDS)
		await test(`${kind}: each view looks as it did`, () => withPage(kind, light, async (page) => {
			const seen = await look(page, viewsOf), known = JSON.parse(readFileSync(PICTURES, "utf8"));
			if (process.env.PICTURES === "write") {
				known[kind] = seen;
				writeFileSync(PICTURES, `${JSON.stringify(known, null, "\t")}\n`);
				return;
			}
			for (const [where, part] of compare(seen, known[kind]))
				if (part > MUCH)
					throw new Error(`${where}: ${percent(part)} of what is drawn is another`);
		}));
	await test("pictures: a font is no difference, a colour is", () => measure(dir, { withPage, viewsOf }));
}
