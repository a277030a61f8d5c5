// SPDX-License-Identifier: GPL-2.0-or-later
// node measure.mjs PAGE: ms to the first view, of a zoom step (median, slowest).
import { launch, open, go } from "./page.mjs";

const browser = await launch();
const { page } = await open(browser, process.argv[2]);
/* From the navigation's begin until the first view stands. */
const first = await page.evaluate(() => performance.getEntriesByName("moca-view-1")[0].startTime);

/* The structure with most cells is the slowest. */
await go(page, "#/objects");
const links = await page.evaluate(() => [...document.querySelectorAll("a[href^='#/object/']")].map((a) => a.getAttribute("href")).slice(0, 5));
const steps = [];
for (const link of links) {
	await go(page, link);
	for (const mode of ["type", "thread", "sharing"]) {
		await page.click(`[data-mode='${mode}']`);
		for (const zoom of ["Zoom in", "Zoom in", "Zoom out", "Show all"])
			steps.push(await page.evaluate((z) => new Promise((resolve) => {
				const began = performance.now();
				document.querySelector(`[data-zoom='${z}']`).click();
				/* Drawn in the next frame; a second one begins after it. */
				requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)));
			}), zoom));
	}
}
steps.sort((a, b) => a - b);
console.log(first.toFixed(1), steps[steps.length >> 1].toFixed(1), steps.at(-1).toFixed(1));
await browser.close();
