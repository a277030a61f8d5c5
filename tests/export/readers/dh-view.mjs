// SPDX-License-Identifier: GPL-2.0-or-later
// node dh-view.mjs DH_VIEW.HTML FILE: what Valgrind's page shows of a file in Chromium, as
// JSON: its text, and what went wrong in it.
import { chromium } from "playwright-core";

const [, , viewer, file] = process.argv;
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const page = await browser.newPage();
const problems = [];
page.setDefaultTimeout(200000);
page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
page.on("pageerror", (e) => problems.push(e.message));
await page.goto(`file://${viewer}`);
await page.locator("input[type=file]").setInputFiles(file);
await page.waitForFunction(() => /Total:|rror/.test(document.body.textContent));
console.log(JSON.stringify({ problems, text: await page.evaluate(() => document.body.textContent) }));
await browser.close();
