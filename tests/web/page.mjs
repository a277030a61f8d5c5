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

/** A page of file; problems lists console errors and requests it made. */
export async function open(browser, file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1360, height: 900 },
		acceptDownloads: true, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(200000);
	leaveOutPictures(page);
	const problems = [];
	page.on("console", (m) => ["error", "warning"].includes(m.type()) && problems.push(`console: ${m.text()}`));
	page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
	page.on("request", (r) => {
		if (!/^(file|data|blob):/.test(r.url()) || (r.url().startsWith("file:") && r.url().split("#")[0] !== `file://${file}`))
			problems.push(`request: ${r.url().slice(0, 100)}`);
	});
	await page.goto(`file://${file}${options.hash || ""}`);
	await page.waitForFunction(() => document.body.dataset.ready);
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
		await page.waitForFunction((n) => document.body.dataset.ready !== n, before);
	await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}
