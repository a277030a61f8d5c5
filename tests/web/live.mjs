// SPDX-License-Identifier: GPL-2.0-or-later
// node live.mjs run URL GO STOP SHOTS | gone URL PID: a page of moca view --live, in
// Chromium, whose program live.py has started.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { go, launch, leaveOutPictures } from "./page.mjs";

const [what, url, ...rest] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1360, height: 900 } });
const page = leaveOutPictures(await context.newPage());
const problems = [];

function must(cond, why) {
	if (!cond)
		throw new Error(why);
}

const state = (word) => page.waitForFunction((w) => document.getElementById("live")?.dataset.state === w, word);
const shown = () => page.evaluate(() => Number(document.getElementById("live").dataset.page));
const names = () => page.$$eval("main a[href^='#/object/']", (all) => all.map((a) => a.textContent));
const has = (name) => page.waitForFunction((n) => [...document.querySelectorAll("main a[href^='#/object/']")].some((a) => a.textContent === n), name);

async function accessible(when) {
	await page.evaluate(axe);
	const r = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
	const bad = r.violations.filter((v) => ["serious", "critical"].includes(v.impact));
	must(!bad.length, `${when}: ${bad.map((v) => `${v.id} ${v.nodes[0].target}`).join(", ")}`);
}

async function run(goFile, stopFile, shots) {
	await go(page, "#/objects");
	await has("early");
	must(!(await names()).includes("late"), "a structure that is not there yet");
	await page.evaluate(() => {
		window.isSame = true;
	});
	/* Held: newer pages are announced, and what is shown stays. */
	await page.click("#live button");
	await state("held");
	const held = await shown();
	writeFileSync(goFile, "");
	await page.evaluate(() => new Promise((resolve) => {
		const events = new EventSource("events");
		let first = 0;
		events.onmessage = (m) => {
			const n = JSON.parse(m.data).page;
			first ||= n;
			/* The first may have begun before the file. */
			if (n >= first + 2) {
				events.close();
				resolve();
			}
		};
	}));
	must(await shown() === held && !(await names()).includes("late"), "it went on while it was held");
	await page.locator("#live button").press("Enter");
	await has("late");
	must(await shown() >= held + 2, `page ${await shown()} behind ${held}`);
	must(await page.evaluate(() => document.activeElement === document.querySelector("#live button")), "the focus is lost");
	await accessible("while it runs");
	/* What is typed stays. */
	await page.fill("#find", "lat");
	await state("held");
	must(await page.inputValue("#find") === "lat", "what was typed is lost");
	await page.evaluate(() => document.activeElement.blur());
	writeFileSync(stopFile, "");
	await state("ended");
	must(await page.isHidden("#live button"), "what has ended cannot be held");
	await go(page, "#/introduction");
	must(!(await page.textContent("main")).includes("The recording goes on"), "not the final report");
	must(await page.evaluate(() => window.isSame), "the page was loaded again");
	await accessible("at its end");
	await page.screenshot({ path: `${shots}/live.png` });
}

async function gone(pid) {
	await page.waitForFunction(() => document.getElementById("live")?.dataset.page);
	/* Held, as the final report would else be shown if it comes before the end. */
	await page.click("#live button");
	await state("held");
	process.kill(Number(pid), "SIGINT");
	await state("gone");
	must((await page.textContent("#live")).includes("moca view has ended"), await page.textContent("#live"));
}

let failed = "";
try {
	page.setDefaultTimeout(600000);
	page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
	page.on("request", (r) => r.url().startsWith("data:") || r.url().startsWith("blob:") || r.url().startsWith(url) || problems.push(`request: ${r.url()}`));
	await page.goto(url);
	await page.waitForFunction(() => document.body.dataset.ready);
	await (what === "run" ? run : gone)(...rest);
	must(!problems.length, problems.join("; "));
} catch (e) {
	failed = String(e.message).split("\n").slice(0, 3).join(" ");
}
await browser.close();
console.log(failed || "in order");
process.exit(failed ? 1 : 0);
