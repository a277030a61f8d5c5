// SPDX-License-Identifier: GPL-2.0-or-later
// node clicks.mjs: of each line "PAGE<tab>FILE<tab>LINE" of the standard input, how many
// clicks it takes from the page's opening until FILE:LINE is told, and how many pixels
// it lies below the window's upper edge then ("- -": in no view with a link to it).
import { createInterface } from "node:readline";
import { launch, open, go } from "./page.mjs";

/* Where the view tells it first: a marked line of a listing, or "FILE:LINE" in words. */
const told = (page, file, line) => page.evaluate(([name, n]) => {
	const out = [], words = new RegExp(`${name.replace(/[^\w]/g, "\\$&")}:${n}(?!\\d)`);
	const add = (e) => {
		const box = e.getBoundingClientRect();
		if (box.height)
			out.push(box.top + scrollY);
	};
	for (const t of document.querySelectorAll("main table.source"))
		if ([...t.querySelectorAll("thead th")].some((x) => x.textContent === name))
			t.querySelectorAll(`tr.hit[data-line='${n}']`).forEach(add);
	for (const e of document.querySelectorAll("main p, main li, main h3, main td, main dd"))
		if (words.test(e.textContent))
			add(e);
	return out.length ? Math.min(...out) : null;
}, [file, line]);

async function clicks(browser, file, name, line) {
	const { page, problems, context } = await open(browser, file);
	let n = 0, y = await told(page, name, line);

	if (y === null) {
		const views = await page.$$eval("a[href^='#/']", (all) => [...new Set(all.map((a) => a.getAttribute("href")))]);
		n = 1;
		for (let i = 0; i < views.length && y === null; i++) {
			await go(page, views[i]);
			y = await told(page, name, line);
		}
	}
	if (problems.length)
		throw new Error(`${file}: ${problems.join("; ")}`);
	await context.close();
	return y === null ? "- -" : `${n} ${Math.round(y)}`;
}

const browser = await launch();
for await (const text of createInterface({ input: process.stdin }))
	console.log(await clicks(browser, ...text.split("\t")));
await browser.close();
