// SPDX-License-Identifier: GPL-2.0-or-later
// What the tests and the bench share: a browser, and a page that is watched.
import { chromium } from "playwright-core";

export const launch = () => chromium.launch({
	executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

/** For people alone, whom SCREENSHOTS=1 in the environment tells of. */
export function leaveOutPictures(of) {
	if (!process.env.SCREENSHOTS)
		of.screenshot = async () => {};
	return of;
}

/* How long is waited for what must come, ms. Once something has not come, it is the
   page that is at fault and not the machine: so the cases that are left end soon. */
let patience = 200000;

/** To be told of each failure of a case. */
export function failedBy(e) {
	if (e.name === "TimeoutError")
		patience = 30000;
}

/** Until a condition holds in the page; at once it fails of a page whose script has. */
const until = (page, condition, arg) => Promise.race([page.waitForFunction(condition, arg), ...page.broken || []]);

/** A page of file; problems lists console errors and requests it made. */
export async function open(browser, file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1360, height: 900 },
		acceptDownloads: true, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(patience);
	leaveOutPictures(page);
	const problems = [];
	page.on("console", (m) => ["error", "warning"].includes(m.type()) && problems.push(`console: ${m.text()}`));
	page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
	page.broken = [new Promise((_, fail) => page.on("pageerror", fail))];
	page.broken[0].catch(() => {});
	page.on("request", (r) => {
		if (!/^(file|data|blob):/.test(r.url()) || (r.url().startsWith("file:") && r.url().split("#")[0] !== `file://${file}`))
			problems.push(`request: ${r.url().slice(0, 100)}`);
	});
	await page.goto(`file://${file}${options.hash || ""}`);
	await until(page, () => document.body.dataset.ready);
	return { page, problems, context };
}

/** Go to a view and wait until it is drawn. */
export async function go(page, hash) {
	const before = await page.evaluate(() => document.body.dataset.ready);
	const same = await page.evaluate((h) => {
		if (location.hash === h)
			return true;
		location.hash = h;
		return false;
	}, hash);
	if (!same)
		await until(page, (n) => document.body.dataset.ready !== n, before);
	await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}
