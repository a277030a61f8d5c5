// SPDX-License-Identifier: GPL-2.0-or-later
// node cases.mjs DIR SHOTS [FIRST STEP]: the page in a real browser. DIR has a page of
// each trace, SHOTS gets pictures. Every STEPth case from the FIRST on (all); of these,
// CASES in the environment: those whose name has that word.
import { readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { launch, open, go, failedBy, leaveOutPictures } from "./page.mjs";
import { looks } from "./looks.mjs";
import { gainOf } from "../../report/web/src/view-findings.js";
import { Heatmap } from "../../report/web/src/heatmap.js";
import { modesOf } from "../../report/web/src/view-overview.js";

const dir = process.argv[2], shots = process.argv[3];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/* Findings and phases are there when this moca has them. */
const viewsOf = (page) => page.$$eval("nav[aria-label='Views'] a", (all) => all.map((a) => a.dataset.view));
const [first, step] = process.argv.length > 5 ? process.argv.slice(4).map(Number) : [0, 1];
let failed = 0, cases = 0;

mkdirSync(shots, { recursive: true });
const browser = await launch();

function must(cond, why) {
	if (!cond)
		throw new Error(why);
}

async function test(name, f) {
	if (cases++ % step !== first || !name.includes(process.env.CASES || ""))
		return;
	try {
		await f();
		console.log(`ok web: ${name}`);
	} catch (e) {
		failed++;
		failedBy(e);
		console.log(`not ok web: ${name}: ${String(e.message).split("\n").slice(0, 3).join(" ")}`);
	}
}

async function withPage(file, options, f) {
	const { page, problems, context } = await open(browser, `${dir}/${file}.html`, options);
	try {
		await f(page);
		must(!problems.length, problems.join("; "));
	} finally {
		await context.close();
	}
}

await test("a page whose script fails is not waited for", async () => {
	writeFileSync(`${dir}/broken.html`, "<body><script>throw new Error('as it should')</script>");
	const why = await open(browser, `${dir}/broken.html`).catch((e) => e.message);
	must(/^as it should/.test(why), `it ended by: ${why}`);
});

const firstObject = (page) => page.evaluate(() =>
	document.querySelector("a[href^='#/object/']").getAttribute("href"));

/* Until what was asked for is drawn. */
const drawn = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

/* Is there something drawn, and not just one colour? */
const colors = (page, selector) => page.evaluate((s) => {
	const from = document.querySelector(s), c = new OffscreenCanvas(from.width, from.height);
	const g = c.getContext("2d", { willReadFrequently: true });
	g.drawImage(from, 0, 0);
	const d = g.getImageData(0, 0, c.width, c.height).data;
	const seen = new Set();
	for (let i = 0; i < d.length; i += 4)
		seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
	return seen.size;
}, selector);

const toObject = async (page) => {
	await go(page, "#/objects");
	const hash = await firstObject(page);
	await go(page, hash);
	return hash;
};

const status = (page) => page.textContent(".heat-status");

async function accessible(page, what) {
	await page.evaluate(axe);
	const r = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
	const bad = r.violations.filter((v) => ["serious", "critical"].includes(v.impact));
	must(!bad.length, `${what}: ${bad.map((v) => `${v.id} (${v.nodes[0].target}: ${v.nodes[0].failureSummary?.replace(/\s+/g, " ").slice(0, 200)})`).join(", ")}`);
}

for (const kind of ["recorded", "hostile", "one", "empty", "million"])
	await test(`${kind}: each view shows, without errors or requests`, () => withPage(kind, {}, async (page) => {
		const views = await viewsOf(page);
		for (const v of ["introduction", "overview", "objects", "rates", "faults", "allocations", "topology"])
			must(views.includes(v), `the menu lacks ${v}`);
		for (const v of views) {
			await go(page, `#/${v}`);
			must(await page.getAttribute("main", "data-view") === v, `${v} does not show`);
			must((await page.textContent("main")).length > 40, `${v} is empty`);
			await page.screenshot({ path: `${shots}/${kind}-${v}.png`, fullPage: true });
		}
		if (kind === "empty")
			return;
		await toObject(page);
		must(await colors(page, "canvas.heat") > 3, "the heatmap is blank");
		await page.screenshot({ path: `${shots}/${kind}-object.png`, fullPage: true });
	}));

/* Of exact mode: no view is blank, and each says what was not recorded. */
const figures = (page) => page.$$eval("[data-figure]", (all) => all.map((f) => f.dataset.figure));
const told = (page) => page.textContent("main");
const linesDrawn = (page) => page.evaluate(() => [...document.querySelectorAll(".figure canvas")].every((c) => {
	const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	return d.some((v, i) => i % 4 === 3 && v);
}));

for (const kind of ["sliced", "counted", "uncounted"])
	await test(`${kind}: each view shows, without errors or requests`, () => withPage(kind, {}, async (page) => {
		for (const v of await viewsOf(page)) {
			await go(page, `#/${v}`);
			must(await page.getAttribute("main", "data-view") === v, `${v} does not show`);
			const text = await told(page);
			must(text.length > 40, `${v} is empty`);
			must(!/NaN|undefined|Infinity|\[object/.test(text), `${v}: ${text.match(/.{30}(NaN|undefined|Infinity|\[object).{10}/s)?.[0]}`);
			must(await linesDrawn(page), `${v} has a blank picture`);
			await page.screenshot({ path: `${shots}/${kind}-${v}.png`, fullPage: true });
		}
		for (const v of ["overview", "phases"]) {
			await go(page, `#/${v}`);
			must((await told(page)).includes("exact mode does not record"), `${v} does not say why`);
		}
	}));

/* From the page's opening on, without a click. */
await test("answer: what to change, where, and what it gains", () => withPage("finding", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
	must(await page.getAttribute("main", "data-view") === "introduction", "not the first view");
	must(await page.textContent("[data-finding] h3") === "next is placed by the thread that prepares it, not by those that use it", await page.textContent("[data-finding] h3"));
	must(/47 % → 3 % of the accesses to it from another node/.test(await page.textContent(".gain")), await page.textContent(".gain"));
	must((await page.textContent("[data-finding]")).includes("an assumed machine of 2 nodes"), "it does not say of which machine");
	must(/^interleave: no gain: there is no difference; measured: time 0\.1 % more .* n = 5/.test(await page.textContent("[data-finding] [data-tried='interleave']")), await page.textContent("[data-finding]"));
	must(await page.locator("[data-finding] a[href='#/object/0']").count() === 1, "no link to the structure");
	const line = (text) => page.locator("table.source tr.hit", { hasText: text });
	for (const [text, number] of [["next[1]++;", "30,720 (93.75 %)"], ["</script><b>first</b>", "2,048 (6.25 %)first touch"]]) {
		must(await line(text).locator("td").first().textContent() === number, `${text}: ${await line(text).textContent()}`);
		must((await line(text).boundingBox()).y < 700, `${text} is below the first screen`);
	}
	must(!await page.locator("table.source b, table.source script").count(), "the source became elements");
	must(await colors(page, "[data-figure='first-0'] canvas") > 3, "no strip of first touch and use");
	await page.click("[data-action='copy'] >> nth=1");
	const copied = await page.evaluate(() => navigator.clipboard.readText());
	must(copied.startsWith("pthread_setaffinity_np("), `copied: ${copied}`);
	await page.screenshot({ path: `${shots}/answer.png` });
	await go(page, "#/findings");
	must(await page.locator("table.source").count() === 1 && await page.locator("[data-figure='first-0']").count() === 1, "the findings lack their proof");
	await toObject(page);
	must(await page.locator("table.source tr.hit").count() === 2, "the structure lacks its lines");
	await accessible(page, "a structure with source");
}));

await test("answer: a price of faults that is not known gains nothing", () => {
	const said = gainOf({ id: "fault-churn", seconds: null, gain: null, remote: {} }).join(" ");
	must(said === "Not known is what its page faults take", said);
});

await test("answer: source that is not there, is newer, or is left out", async () => {
	const says = (kind, text) => withPage(kind, {}, async (page) => {
		must((await page.textContent("[data-code]")).includes(text), `${kind}: ${await page.textContent("[data-code]")}`);
	});
	await says("changed", "make-finding.c was changed after the program was built");
	await says("gone", "not readable where this page was made");
	await says("gone", "93.75 % (30,720) fill() nowhere-gone.c:");
	await says("no-source", "left out of this page (--no-source)");
	await withPage("no-source", {}, async (page) => must(!(await page.content()).includes("of two threads"), "a line of source is in it"));
});

await test("structures of one name are told apart by their sites", () => withPage("million", {}, async (page) => {
	await go(page, "#/objects");
	const labels = await page.$$eval("#fig-reads svg text.label", (all) => all.map((x) => x.textContent));
	must(labels.length > 5 && new Set(labels).size === labels.length, labels.join("; "));
	must(labels.filter((x) => /^heap object \(0x[0-9a-f]+\)$/.test(x)).length > 5, labels.join("; "));
}));

await test("answer: what was checked, where nothing is found", () => withPage("million", {}, async (page) => {
	const text = await page.textContent("[data-answer]");
	must(/^(Nothing was found|Nothing can be said)/.test(text) && text.includes("What was checked") && text.includes("Memory that is given back to the kernel and taken again") && !text.includes("fault-churn"), text);
}));

for (const scheme of ["light", "dark"])
	await test(`answer: accessible, ${scheme}; a phone`, () => withPage("finding", { colorScheme: scheme, viewport: { width: 420, height: 800 } }, async (page) => {
		await accessible(page, "the answer");
		must(await page.evaluate(() => document.documentElement.scrollWidth) <= 420, "too wide");
		await page.screenshot({ path: `${shots}/answer-${scheme}-narrow.png`, fullPage: true });
	}));

await test("compare: what changed, where, and when", () => withPage("compared", {}, async (page) => {
	must(await page.getAttribute("main", "data-view") === "compare", "not the first view");
	must(await page.textContent("[data-compare='said'] h3") === "1 finding gone; remote accesses 46.88 % → 0 %", await page.textContent("[data-compare='said'] h3"));
	must((await page.textContent("[data-compare='findings']")).includes("Gone next is placed by the thread that prepares it"), await page.textContent("[data-compare='findings']"));
	const row = async () => (await page.locator("[data-figure='compare-structures'] tbody tr").first().innerText()).replace(/\s+/g, " ").trim();
	must(await row() === "next 32,768 16,384 −50 %", await row());
	const widths = await page.$$eval("[data-figure='compare-structures'] .bar-pair", (all) => [...all[0].children].map((x) => x.getBoundingClientRect().width));
	must(Math.abs(widths[0] - 2 * widths[1]) < 2, `bars of ${widths}`);
	await page.click("button[data-by='remote']");
	must(await row() === "next 46.88 % 0 % −46.9 points" && page.url().endsWith("#/compare?by=remote"), `${await row()} ${page.url()}`);
	const csv = async (id) => {
		const [d] = await Promise.all([page.waitForEvent("download"), page.click(`[data-figure='${id}'] [data-action='CSV']`)]);
		return readFileSync(await d.path(), "utf8").trim().split("\r\n").map((l) => l.split(","));
	};
	for (const [side, n] of [["a", 32768], ["b", 16384]]) {
		must(await colors(page, `[data-figure='compare-${side}'] canvas`) > 3, `nothing is drawn of ${side}`);
		const rows = (await csv(`compare-${side}`)).slice(1);
		must(rows.reduce((sum, r) => sum + Number(r[4]), 0) === n && rows.every((r) => r[0] === "next"), `the CSV of ${side} has other sums`);
	}
	must((await csv("compare-totals")).some((r) => r.join() === "pages,2048,2048"), "no totals");
	await page.screenshot({ path: `${shots}/compare.png`, fullPage: true });
	await page.click("[data-figure='compare-structures'] a");
	await page.waitForFunction(() => document.querySelector("main").dataset.view === "object");
}));

for (const kind of ["hostile", "counts", "empty", "stacks"])
	await test(`compare: ${kind}`, () => withPage(`compared-${kind}`, {}, async (page) => {
		const text = await told(page);
		must(await page.getAttribute("main", "data-view") === "compare" && text.length > 40, "it does not show");
		must(!/NaN|undefined|Infinity|\[object/.test(text), text.match(/.{30}(NaN|undefined|Infinity|\[object).{10}/s)?.[0]);
		must(await linesDrawn(page), "a picture is blank");
		must(!await page.evaluate(() => window.hacked) && !await page.locator("main img, main script").count(), "a name was run");
		for (const b of await page.locator("button[data-by]").all())
			await b.click();
		await page.screenshot({ path: `${shots}/compare-${kind}.png`, fullPage: true });
	}));

for (const scheme of ["light", "dark"])
	await test(`compare: accessible, ${scheme}; a phone`, () => withPage("compared", { colorScheme: scheme, viewport: { width: 420, height: 800 } }, async (page) => {
		await accessible(page, "two runs");
		must(await page.evaluate(() => document.documentElement.scrollWidth) <= 420, "too wide");
		await page.screenshot({ path: `${shots}/compare-${scheme}-narrow.png`, fullPage: true });
	}));

/* Frames of a flame graph by their names: what is said of them, and how wide they are. */
const frames = (page, name) => page.$$eval(".flame .frame", (all, n) => all.filter((x) => x.getAttribute("aria-label").startsWith(`${n}: `)).map((x) => ({
	said: x.getAttribute("aria-label").slice(n.length + 2), share: x.offsetWidth / x.parentNode.clientWidth, at: x.dataset.i,
	color: getComputedStyle(x).backgroundColor.match(/\d+/g).map(Number) })), name);
const focused = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label"));

await test("latency of perf's samples, by structure", () => withPage("latency", {}, async (page) => {
	const said = (await page.textContent("main")).replace(/\s+/g, " ");
	must(said.includes("perf keeps one in many") && !said.includes("does not see them"), "it is not said what was sampled");
	await go(page, "#/objects");
	const row = (await page.locator("[data-figure='latency'] tbody tr").first().innerText()).replace(/\s+/g, " ");
	must(/ 4 143\.7 362 25(\.0+)? % L1 50(\.0+)? %, L3 25(\.0+)? %, RAM 25(\.0+)? %$/.test(row), row);
	await page.screenshot({ path: `${shots}/latency.png`, fullPage: true });
}));

await test("heat: pages by time", () => withPage("heat", {}, async (page) => {
	const figure = page.locator("[data-figure='heat']");
	const said = (await figure.innerText()).replace(/\s+/g, " ");
	must(/2[ ,\u202f\u00a0]?048 pages in \d+ stretches of memory/.test(said), said);
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='heat'] [data-action='CSV']")]);
	const rows = readFileSync(await d.path(), "utf8").trim().split("\r\n").slice(1).map((l) => l.split(","));
	must(rows.length === 32 && rows.every((r, i) => r[6] === "64" && r[7] === (i % 2 ? "64" : "0") && (!i || Number(r[4]) > Number(rows[i - 1][4]))), `the CSV has other looks: ${rows.slice(0, 3).join(" | ")}`);
	await page.screenshot({ path: `${shots}/heat.png`, fullPage: true });
}));

await test("call stacks: who touched which pages", () => withPage("stacks", {}, async (page) => {
	must((await viewsOf(page)).includes("flame"), "the menu lacks them");
	await go(page, "#/flame?by=first_touches");
	const [red] = await frames(page, "red"), [blue] = await frames(page, "blue"), [all] = await frames(page, "all");
	must(/^300 first touches, \d/.test(red?.said) && /^700 first touches, \d/.test(blue?.said), JSON.stringify([red, blue]));
	must(Math.abs(blue.share / red.share - 7 / 3) < 0.05 && all.share > 0.99, JSON.stringify([red, blue, all]));
	must((await frames(page, "touch")).length === 3, "touch() has not three callers");
	const table = (await page.locator("[data-flame='functions'] tbody tr").first().innerText()).replace(/\s+/g, " ");
	must(/^touch .*callers\.c:\d+ 1,050 /.test(table), table);
	await page.screenshot({ path: `${shots}/stacks.png`, fullPage: true });
	await page.click(`.frame[data-i='${red.at}']`);
	must((await frames(page, "red"))[0].share > 0.99 && !(await frames(page, "blue")).length, "a click does not zoom");
	must(page.url().includes(`at=${red.at}`), page.url());
	must((await page.textContent(".chosen")).includes("Line with most"), await page.textContent(".chosen"));
	await page.keyboard.press("ArrowDown");
	must(/^touch: 300 /.test(await focused(page)), await focused(page));
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowUp");
	must(/^main: /.test(await focused(page)), await focused(page));
	await page.keyboard.press("Escape");
	must((await frames(page, "blue")).length === 1 && /^all: /.test(await focused(page)), "Escape does not show all");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	must(/^_start: /.test(await focused(page)) && page.url().includes("at="), await focused(page));
	await page.click("button.more >> visible=true");
	await page.fill("#flame-find", "red");
	must((await page.textContent(".count")).startsWith("300 first touches, "), await page.textContent(".count"));
	must(await page.locator(".frame.found").count() === 1 && page.url().includes("find=red"), "the find marks others");
	await page.fill("#flame-find", "no such function");
	must(await page.textContent(".count") === "No function matches", await page.textContent(".count"));
	const saved = async (action) => {
		const [d] = await Promise.all([page.waitForEvent("download"), page.click(`[data-figure='flame'] [data-action='${action}']`)]);
		return readFileSync(await d.path(), "utf8");
	};
	const rows = (await saved("CSV")).trim().split("\r\n").map((l) => l.split(","));
	const of = (end) => rows.filter((r) => r[0].endsWith(end)).map((r) => r[6]).join();
	must(of(";main;red;touch") === "300" && of(";main;blue;touch") === "700", "the CSV has other sums");
	must(/>blue</.test(await saved("SVG")), "the drawing lacks blue()");
	await page.click("button[data-by='writes']");
	must(/^300 writes, /.test((await frames(page, "red"))[0].said) && page.url().includes("by=writes"), "writes");
}));

await test("call stacks: who allocated, what was alive at the peak and at the end", () => withPage("allocs", { hash: "#/flame" }, async (page) => {
	const said = async (name) => (await frames(page, name))[0]?.said;
	must(/^10 MiB allocated, \d/.test(await said("hold")) && /^3 MiB allocated, /.test(await said("keep")), `${await said("hold")}; ${await said("keep")}`);
	must((await page.textContent("#fig-flame")).includes("are of objects whose ends were not recorded"), "it does not say what has no lives");
	await page.screenshot({ path: `${shots}/allocs.png`, fullPage: true });
	await page.click("button[data-by='at_peak']");
	must(/^10 MiB alive at the peak, /.test(await said("hold")) && !(await said("churn")) && page.url().includes("by=at_peak"), await said("hold"));
	must((await page.textContent("#fig-flame")).includes("The peak was "), "it does not say when the peak was");
	await page.click("button[data-by='at_end']");
	must(/^3 MiB alive at the end, 100 %/.test(await said("keep")) && !(await said("hold")), await said("keep"));
	await page.click("button[data-by='allocations']");
	must(/^10 allocations, /.test(await said("churn")) && /^5 allocations, /.test(await said("hold")), await said("churn"));
	must(!(await page.locator("button[data-by='reads']").count()), "it offers reads without stacks of accesses");
}));

await test("call stacks: a link; one thread alone", () => withPage("stacks-thread", { hash: "#/flame?by=accesses&thread=1" }, async (page) => {
	const one = (await frames(page, "all"))[0].said;
	must(await page.inputValue("#flame-thread") === "1" && (await frames(page, "red")).length === 1, "thread 1 is not shown");
	must(!(await frames(page, "main")).length, "main() is of another thread");
	await page.selectOption("#flame-thread", "");
	const all = (await frames(page, "all"))[0].said, number = (s) => Number(s.split(" ")[0].replaceAll(",", ""));
	must((await frames(page, "main")).length && number(all) > number(one), `${one} of ${all}`);
	must(!page.url().includes("thread="), page.url());
}));

await test("call stacks: two runs, red and blue", () => withPage("compared-stacks", {}, async (page) => {
	must(await page.getAttribute("main", "data-view") === "compare", "not the first view");
	await page.click("[data-figure='compare-flame'] button[data-by='first_touches']");
	const one = async (name) => (await frames(page, name))[0];
	const red = await one("red"), blue = await one("blue"), gone = await one("deep"), outer = await one("outer");
	must(red.color[0] > red.color[2] && outer.color[0] > outer.color[2] + 40, `grown: ${red.color}, ${outer.color}`);
	must(blue.color[2] > blue.color[0] + 40 && gone.color[2] > gone.color[0] + 40, `shrunk: ${blue.color}, ${gone.color}`);
	must(/ of A, 0 % of B$/.test(gone.said) && /^0 % of A, /.test(outer.said), `${gone.said}; ${outer.said}`);
	await leaveOutPictures(page.locator("#fig-compare-flame")).screenshot({ path: `${shots}/compare-flame.png` });
	await page.fill("#compare-find", "deep");
	must(/^In or below what matches: [\d.]+ % of A, 0 % of B$/.test(await page.textContent("#fig-compare-flame .count")), await page.textContent("#fig-compare-flame .count"));
}));

await test("call stacks: two runs by what they allocate", () => withPage("compared-allocs", {}, async (page) => {
	const of = async (name) => (await frames(page, name))[0];
	must((await page.textContent("#fig-compare-flame")).includes("Who calls what allocates"), "it has another title");
	const hold = await of("hold"), churn = await of("churn");
	must(/^55\.\d+ % of A, 19\.\d+ % of B$/.test(hold.said), hold.said);
	must(hold.color[2] > hold.color[0] && churn.color[0] > churn.color[2], `shrunk: ${hold.color}, grown: ${churn.color}`);
	await page.click("[data-figure='compare-flame'] button[data-by='at_end']");
	must((await of("keep")).said === "100 % of A, 100 % of B" && !(await of("hold")), "what is alive at the end");
}));

await test("call stacks: none, or in one run alone", async () => {
	await withPage("one", {}, async (page) => must(!(await viewsOf(page)).includes("flame"), "an empty view"));
	await withPage("compared", {}, async (page) => must(!/call stacks/i.test(await told(page)), "it speaks of call stacks"));
	await withPage("compared-half", {}, async (page) => must((await told(page)).includes("A was recorded without call stacks"), "it does not say why"));
});

for (const scheme of ["light", "dark"])
	await test(`call stacks: accessible, ${scheme}; a phone`, async () => {
		for (const [file, hash] of [["stacks", "#/flame?find=touch"], ["compared-stacks", "#/compare"]])
			await withPage(file, { colorScheme: scheme, viewport: { width: 420, height: 800 }, hash }, async (page) => {
				await accessible(page, file);
				must(await page.evaluate(() => document.documentElement.scrollWidth) <= 420, "too wide");
				await page.screenshot({ path: `${shots}/${file}-${scheme}-narrow.png`, fullPage: true });
			});
	});

await test("counts: of the run", () => withPage("sliced", {}, async (page) => {
	await go(page, "#/introduction");
	const text = await told(page);
	for (const s of ["26,000,040 loads and 10,000,062 stores", "all that the program executed", "20 slices", "granules of 64 B"])
		must(text.includes(s), `no '${s}'`);
	must(!/Accesses recorded|Pages seen/.test(text), "it speaks of records");
	must(!/Interval ?0 ns/.test(text), "it tells of intervals");
	await go(page, "#/rates");
	must((await figures(page)).join() === "slices,threads,hot,contended", (await figures(page)).join());
	const row = (await page.locator("#fig-contended tbody tr").first().innerText()).replace(/\s+/g, " ");
	must(/^0x7f0002000000 heap object 4,000,000 4,000,000 4,000,000 #[12], #[12]/.test(row), row);
	await go(page, "#/objects");
	must(/Loads.*Stores/s.test(await page.textContent("table.objects thead")), "columns are not loads and stores");
	must((await page.textContent("table.objects tbody tr")).includes("22,000,000"), "no counts in the table");
}));

await test("counts: of a structure, with slices and lines", () => withPage("sliced", {}, async (page) => {
	await toObject(page);
	const names = (await figures(page)).map((x) => x.replace(/-\d+$/, ""));
	must(names.join() === "loads,stores,first,slices,lines", names.join());
	must(await linesDrawn(page), "a picture is blank");
	const text = await told(page);
	must(text.includes("22,000,000 loads") && text.includes("6,000,000 stores"), "not its counts");
	must(/201 granules were used, 1 of them by several threads; 1 by several in one slice/.test(text), "not its lines");
	const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure^='loads-'] [data-action='CSV']")]);
	const csv = readFileSync(await download.path(), "utf8").trim().split("\r\n").slice(1).map((l) => l.split(","));
	must(csv.reduce((a, l) => a + Number(l[4]), 0) === 22000000, "the CSV's loads are not the structure's");
	must(csv.reduce((a, l) => a + Number(l[5]), 0) === 6000000, "nor its stores");
}));

await test("counts: of a structure, without slices", () => withPage("counted", {}, async (page) => {
	await toObject(page);
	const text = await told(page);
	for (const s of ["410,100,000 loads", "4,096 pages in order of address", "--slice 100ms", "--granularity 64"])
		must(text.includes(s), `no '${s}'`);
	must(/0 % of the pages are mostly used by the thread/.test(text), "first touch: " + text.match(/[^%]{0,12}% of the pages are mostly[^.]{0,60}/)?.[0]);
	await go(page, "#/rates");
	must((await told(page)).includes("There is no time axis"), "rates do not say that there is no time axis");
	await go(page, "#/findings");
	must((await told(page)).includes("placed by the thread that prepares it"), "no finding");
	await accessible(page, "findings of counts");
}));

await test("counts: accessible", () => withPage("sliced", {}, async (page) => {
	for (const v of ["introduction", "objects", "rates"]) {
		await go(page, `#/${v}`);
		await accessible(page, v);
	}
	await toObject(page);
	await accessible(page, "structure");
}));

await test("hostile names are text", () => withPage("hostile", {}, async (page) => {
	await go(page, "#/objects");
	must(!await page.evaluate(() => window.hacked), "a name was run");
	must(await page.locator("main img, main svg[onload], main script").count() === 0, "a name became an element");
	must(await page.evaluate(() => [...document.querySelectorAll("a[href]")].every((a) => a.getAttribute("href").startsWith("#"))), "a name became a link");
	must((await page.textContent("main")).includes("onerror="), "the name is not shown");
	must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a long name makes the page wide");
	const n = await page.locator("a[href^='#/object/']").count();
	must(n >= 10, `only ${n} structures`);
	for (let i = 0; i < n; i++) {
		await go(page, "#/objects");
		await go(page, await page.locator("a[href^='#/object/']").nth(i).getAttribute("href"));
		await page.hover("canvas.heat");
	}
	must(!await page.evaluate(() => window.hacked), "a name was run");
}));

await test("sections of a file are one row, and none at a glance", () => withPage("recorded", {}, async (page) => {
	const said = await page.textContent("[data-figure='overview'] .subtitle");
	must(/^\d+ of \d+ data structures, with [\d.]+ % of the accesses\. One scale of colour for all: .*full [\d.]+ [kM]? ?accesses per second/.test(said), said);
	const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='overview'] [data-action='CSV']")]);
	const names = new Set(readFileSync(await download.path(), "utf8").trim().split("\r\n").slice(1).map((l) => l.split(",")[0]));
	must([...names].some((n) => /^shared_buffer\b/.test(n)) && ![...names].some((n) => /^\.\w+ of /.test(n)), [...names].join());
	await go(page, "#/objects");
	const rows = () => page.$$eval("table.objects tbody tr", (all) => all.map((x) => [x.cells[0].firstChild.textContent, Number(x.cells[4].textContent.replaceAll(",", ""))]));
	if (await page.isVisible("button.more"))
		await page.click("button.more");
	const folded = await rows(), file = folded.find(([n]) => /, \d+ sections$/.test(n));
	must(file && folded.some(([n]) => /^libc\.so\.6, \d+ sections$/.test(n)), folded.join());
	const button = page.locator("button[data-fold]").first();
	await button.focus();
	await page.keyboard.press("Enter");
	const open = await rows(), own = open.filter(([n]) => !folded.some(([m]) => m === n));
	must(open.length === folded.length + own.length && own.length === Number(file[0].match(/(\d+) sections/)[1]), `${file}, but ${own.join()}`);
	must(await button.getAttribute("aria-expanded") === "true", "it does not say that it is open");
	must(own.reduce((n, x) => n + x[1], 0) === file[1], `the sections have other counts than ${file}: ${own.join()}`);
	await button.click();
	must((await rows()).length === folded.length, "it does not close");
	await page.fill("#find", ".text");
	must((await rows()).some(([n]) => n === ".text of libc.so.6"), "a section is not found by its name");
}));

await test("a cell's hover shows what was recorded", () => withPage("one", {}, async (page) => {
	await toObject(page);
	await page.hover("canvas.heat", { position: { x: 600, y: 100 } });
	const tip = await page.textContent(".tip");
	must(/Reads1Writes0/.test(tip.replace(/\s/g, "")), tip);
	must(tip.includes("0x7f0000000000"), tip);
}));

await test("zoom by wheel, drag, buttons and keys; its link", () => withPage("recorded", {}, async (page) => {
	await toObject(page);
	const all = await status(page);
	must(all.includes("(all)"), all);
	const box = await page.locator("canvas.heat").boundingBox();
	const changed = async (what) => {
		const s = await status(page);
		must(s !== all && !s.includes("(all)"), `${what} did not zoom: ${s}`);
		await page.dblclick("canvas.heat", { position: { x: 400, y: 100 } });
		must(await status(page) === all, `a double click after ${what} does not show all`);
	};
	await page.mouse.move(box.x + 500, box.y + 150);
	await page.mouse.wheel(0, -300);
	await changed("the wheel");
	await page.mouse.move(box.x + 300, box.y + 60);
	await page.mouse.down();
	await page.mouse.move(box.x + 600, box.y + 160, { steps: 5 });
	await page.mouse.up();
	await changed("a drag");
	await page.click("[data-zoom='Zoom in']");
	await changed("the button");
	await page.focus("canvas.heat");
	await page.keyboard.press("+");
	await changed("a key");
	await page.focus("canvas.heat");
	await page.keyboard.press("+");
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	must((await status(page)).includes("Address:"), "Enter does not read the cell");
	await page.click("[data-mode='thread']");
	await page.waitForFunction(() => /mode=thread/.test(location.hash) && /z=/.test(location.hash));
	await page.keyboard.press("0");
	const hash = await page.evaluate(() => location.hash);
	const other = await open(browser, `${dir}/recorded.html`, { hash });
	must(await other.page.getAttribute("[data-mode='thread']", "aria-pressed") === "true", "the link forgets what colours mean");
	must(!(await status(other.page)).includes("(all)"), "the link forgets the zoom");
	await other.context.close();
	for (let i = 0; i < 60; i++)
		await page.click("[data-zoom='Zoom in']");
	must(/, 1 page$/.test(await status(page)) || /A cell at full zoom: [0-9,]+ neighbouring/.test(await page.textContent("main")), `no single page: ${await status(page)}`);
}));

await test("one selection of time for all plots", () => withPage("recorded", {}, async (page) => {
	const note = async () => await page.isVisible("#selection") ? page.textContent("#selection span") : "";
	const over = () => page.locator(".u-over").first().boundingBox();
	await go(page, "#/rates");
	must(await note() === "", "something is selected at first");
	const strip = () => page.evaluate(() => document.querySelector("canvas.strips").toDataURL());
	const all = await strip();
	await page.locator(".u-over").first().scrollIntoViewIfNeeded();
	const b = await over();
	await page.mouse.move(b.x + 0.25 * b.width, b.y + 40);
	await page.mouse.down();
	await page.mouse.move(b.x + 0.5 * b.width, b.y + 40, { steps: 5 });
	await page.mouse.up();
	await page.waitForFunction(() => /^#\/rates\?t=\d+,\d+$/.test(location.hash));
	const said = await note(), link = await page.evaluate(() => location.hash);
	must(/^Plots over time and call stacks of accesses show .* to /.test(said), said);
	must(await strip() !== all, "the strips do not show it");
	const ticks = (n) => page.evaluate((i) => {
		const u = document.querySelectorAll(".uplot canvas")[i];
		return u.toDataURL();
	}, n);
	const working = await ticks(1);
	await go(page, "#/faults");
	must(await note() === said, "another view has another");
	await toObject(page);
	const zoomed = await status(page);
	must(!zoomed.includes("(all)"), zoomed);
	/* A heatmap selects, too; and a double click there shows all again. */
	await page.dblclick("canvas.heat", { position: { x: 400, y: 100 } });
	must(await note() === "" && (await status(page)).includes("(all)"), await status(page));
	await page.focus("canvas.heat");
	await page.keyboard.press("+");
	const mine = await note();
	must(mine && mine !== said, mine);
	await go(page, "#/rates");
	must(await note() === mine, "it is lost");
	must(await ticks(1) !== working, "the working set does not follow");
	await page.click("#selection button");
	must(await note() === "" && await strip() === all, "All of the run does not show it");
	const other = await open(browser, `${dir}/recorded.html`, { hash: link });
	must(await other.page.textContent("#selection span") === said, "the link forgets it");
	await accessible(other.page, "with a selection");
	await other.context.close();
}));

/* A piece of the page's data. */
const blob = (page, name) => page.evaluate(async (n) => {
	const bytes = Uint8Array.from(atob(document.getElementById(`moca-${n}`).textContent), (c) => c.charCodeAt(0));
	return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text());
}, name);
const asides = (page) => page.$$eval("[data-aside='time'], [data-flame='time']", (all) => all.filter((x) => !x.hidden).length);

await test("selection: call stacks are those of that time", async () => {
	const number = (s) => Number(s.split(" ")[0].replaceAll(",", ""));
	await withPage("stacks", { hash: "#/flame?by=first_touches" }, async (page) => {
		const { over_time: x, leaves } = await blob(page, "flame"), sum = (v) => v.reduce((a, b) => a + b, 0);
		must(sum(x.first_touches) === sum(leaves.first_touches), "windows have other sums than the run");
		const of = async () => number((await frames(page, "all"))[0]?.said || "0"), all = await of();
		must(!await asides(page), "it speaks of a selection");
		/* The first half of the windows with touches, the second, and both; of one window there are no halves. */
		const used = [...new Set(x.window.filter((_, k) => x.first_touches[k]))].sort((a, b) => a - b), half = used[used.length >> 1], time = (w) => Math.round(x.begin_ns + w * x.window_ns);
		const parts = [];
		for (const [from, to] of half ? [[0, half], [half, x.windows], [0, x.windows]] : [[0, x.windows]]) {
			await page.evaluate((h) => {
				location.hash = h;
			}, `#/flame?by=first_touches&t=${time(from)},${time(to)}`);
			await page.waitForFunction((text) => document.querySelector("[data-flame='time']")?.textContent && document.querySelector("#selection span").textContent !== text && !document.querySelector("#selection").hidden, parts.at(-1)?.said || "");
			await drawn(page);
			parts.push({ n: await of(), said: await page.textContent("#selection span"), want: sum(x.first_touches.filter((_, k) => x.window[k] >= from && x.window[k] < to)) });
		}
		must(parts.every((p) => p.n === p.want) && parts.at(-1).n === all && (!half || (parts[0].n < all && parts[0].n + parts[1].n === all)), JSON.stringify([all, parts]));
		must((await page.textContent("[data-flame='time']")).startsWith("This is of "), await page.textContent("[data-flame='time']"));
		await page.screenshot({ path: `${shots}/stacks-selected.png`, fullPage: true });
		await page.click("#selection button");
		must(!await asides(page) && !/[?&]t=/.test(page.url()), `nothing is selected: ${page.url()}`);
	});
	await withPage("allocs", { hash: "#/flame?t=0,1" }, async (page) => {
		must(/^10 MiB allocated, /.test((await frames(page, "hold"))[0].said) && (await page.textContent("[data-flame='time']")).includes("all of the run, whatever is selected"), "it does not say that it is of all of the run");
	});
});

await test("selection: two runs say what it is of", () => withPage("compared-stacks", {}, async (page) => {
	const strip = (side) => page.evaluate((s) => document.querySelector(`[data-figure='compare-${s}'] canvas`).toDataURL(), side);
	const before = [await strip("a"), await strip("b")];
	must(!await asides(page), "it speaks of a selection");
	const { run_b: b } = await blob(page, "comparison");
	const t = [0.25, 0.5].map((x) => Math.round(b.begin_ns + x * b.windows * b.window_ns));
	await go(page, `#/compare?t=${t}`);
	must(await strip("a") === before[0] && await strip("b") !== before[1], "A follows, or B does not");
	for (const figure of ["compare-a", "compare-flame", "compare-structures", "compare-totals"])
		must(await page.isVisible(`[data-figure='${figure}'] [data-aside='time']`), `${figure} does not say what it is of`);
	must(!await page.locator("[data-figure='compare-b'] [data-aside]").count(), "B follows, and says that it does not");
	await accessible(page, "two runs with a selection");
	await page.screenshot({ path: `${shots}/compare-selected.png`, fullPage: true });
}));

await looks({ test, withPage, viewsOf, dir });

await test("all meanings of colours draw", () => withPage("recorded", {}, async (page) => {
	await toObject(page);
	const shown = new Set();
	for (const mode of ["type", "count", "thread", "sharing", "node"]) {
		await page.click(`[data-mode='${mode}']`);
		await drawn(page);
		must(await colors(page, "canvas.heat") > 3, `${mode} is blank`);
		shown.add(await page.evaluate(() => document.querySelector("canvas.heat").toDataURL().length + document.querySelector(".legend-slot").textContent));
	}
	must(shown.size === 5, "two of them look the same");
}));

await test("page faults and CPU use over time", () => withPage("recorded", { hash: "#/faults" }, async (page) => {
	must(await page.getAttribute("main", "data-view") === "faults", "its link does not lead there");
	for (const id of ["minor", "major", "cpu", "minor-tasks"])
		must(await colors(page, `[data-figure='${id}'] canvas`) > 3, `the plot ${id} is blank`);
	const csv = async (id) => {
		const [d] = await Promise.all([page.waitForEvent("download"), page.click(`[data-figure='${id}'] [data-action='CSV']`)]);
		return readFileSync(await d.path(), "utf8").trim().split("\n").map((l) => l.split(","));
	};
	const sum = (rows, col) => rows.slice(1).reduce((a, r) => a + Number(r[rows[0].indexOf(col)] || 0), 0);
	const tasks = (await csv("fault-tasks"));
	const whole = [tasks[0], ...tasks.slice(1).filter((r) => r[2] === "" || r[2] === '""')];
	const said = (await page.textContent("main .count")).match(/([\d,]+) minor faults, ([\d,]+) of them/).slice(1).map((s) => Number(s.replaceAll(",", "")));
	must(sum(whole, "minor") === said[0], `tasks have ${sum(whole, "minor")} minor faults, the text says ${said[0]}`);
	must(said[0] >= said[1] && said[0] > 100, `${said}`);
	const rates = await csv("minor"), all = rates[0].findIndex((s) => s.includes("all")), own = rates[0].findIndex((s) => s.includes("own"));
	must(rates.slice(1).every((r) => Number(r[own]) >= 0 && Number(r[own]) <= Number(r[all]) + 1e-6), "own faults are not between 0 and all");
	await page.click("[data-figure='cpu'] summary");
	must((await page.textContent("[data-figure='cpu']")).includes("1 is one CPU"), "it is not explained");
}));

await test("how complete it is: of all pages", () => withPage("one", { hash: "#/introduction" }, async (page) => {
	const text = await told(page);
	for (const s of ["Pages seen50 %", "Of 1 more nothing is known (50 % of all)", "Budget10 % and 200 ms once"])
		must(text.includes(s), `no '${s}': ${text}`);
}));

await test("a trace without samples says so", () => withPage("one", { hash: "#/faults" }, async (page) => {
	must((await page.textContent("main")).includes("were not sampled"), "it does not");
}));

/* What the browser makes of a drawing: its size; and its text. */
const readSvg = (page, text) => page.evaluate(async (t) => {
	const doc = new DOMParser().parseFromString(t, "image/svg+xml");
	if (doc.querySelector("parsererror"))
		return { error: doc.querySelector("parsererror").textContent };
	const image = new Image();
	await new Promise((resolve, reject) => {
		image.onload = resolve;
		image.onerror = () => reject(new Error("the SVG does not load"));
		image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(t)}`;
	});
	return { width: image.naturalWidth, height: image.naturalHeight, scripts: doc.querySelectorAll("script, foreignObject").length,
		 texts: [...doc.querySelectorAll("text")].map((x) => x.textContent), shapes: doc.querySelectorAll("rect, path, image, line").length };
}, text);

for (const kind of ["recorded", "hostile"])
	await test(`${kind}: each plot is saved as PNG, SVG and CSV`, () => withPage(kind, {}, async (page) => {
		const objects = await toObject(page), views = (await viewsOf(page)).map((v) => `#/${v}`);
		let n = 0;
		for (const view of [...views, objects]) {
			await go(page, view);
			for (const id of await page.$$eval("figure[data-figure]", (all) => all.map((x) => x.dataset.figure))) {
				const take = async (action) => {
					/* Chromium drops downloads above ten a second. */
					await page.waitForTimeout(110);
					const [d] = await Promise.all([page.waitForEvent("download"), page.click(`[data-figure='${id}'] [data-action='${action}']`)]);
					return readFileSync(await d.path());
				};
				const svg = await readSvg(page, (await take("SVG")).toString()), png = await take("PNG");
				must(!svg.error, `${id}: ${svg.error}`);
				must(svg.texts[0] === await page.textContent(`[data-figure='${id}'] figcaption h3`), `${id}: the drawing begins with ${svg.texts[0]}`);
				must(svg.texts.length >= 4 && svg.shapes >= 3 && !svg.scripts, `${id}: ${svg.texts.length} texts, ${svg.shapes} shapes`);
				must(png.subarray(1, 4).toString() === "PNG" && png.readUInt32BE(16) === 2 * svg.width && png.readUInt32BE(20) === 2 * svg.height,
				     `${id}: the picture is ${png.readUInt32BE(16)} wide, the drawing ${svg.width}`);
				must((await take("CSV")).toString().split("\r\n").length > 2, `${id}: no data`);
				n++;
			}
		}
		must(n >= 10, `only ${n} plots`);
	}));

await test("downloads: what is in them", () => withPage("recorded", {}, async (page) => {
	const take = async (figure, action) => {
		const [d] = await Promise.all([page.waitForEvent("download"),
			page.click(`[data-figure^='${figure}'] [data-action='${action}']`)]);
		return readFileSync(await d.path());
	};
	await go(page, "#/objects");
	must((await take("size", "SVG")).toString().includes("<svg"), "no SVG");
	must((await take("size", "PNG")).subarray(1, 4).toString() === "PNG", "no PNG of a drawing");
	const csv = (await take("size", "CSV")).toString().split("\r\n");
	must(csv[0] === "structure,kind,bytes,objects" && csv.length > 2, `bad CSV: ${csv[0]}`);
	await toObject(page);
	must((await take("heat", "PNG")).subarray(1, 4).toString() === "PNG", "no PNG of the heatmap");
	const cells = (await take("heat", "CSV")).toString().trim().split("\r\n").slice(1).map((l) => l.split(","));
	const total = Number((await page.textContent("main")).match(/Accesses\s*([\d,]+) \(/)[1].replaceAll(",", ""));
	const sum = cells.reduce((a, c) => a + Number(c.at(-1)) + Number(c.at(-2)) + Number(c.at(-3)), 0);
	must(sum === total, `the cells have ${sum} accesses, the structure ${total}`);
}));

await test("light and dark", async () => {
	const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	await withPage("recorded", { colorScheme: "dark" }, async (page) => {
		const dark = await background(page);
		must(dark === "rgb(18, 22, 28)", `not dark: ${dark}`);
		await page.screenshot({ path: `${shots}/dark-introduction.png`, fullPage: true });
		await toObject(page);
		await page.screenshot({ path: `${shots}/dark-object.png`, fullPage: true });
		await page.click("#theme");
		must(await background(page) !== dark, "the switch does nothing");
		await page.reload();
		await page.waitForFunction(() => document.body.dataset.ready);
		must(await background(page) !== dark, "the choice is forgotten");
	});
});

await test("explanations beside each plot, folded as left", () => withPage("recorded", {}, async (page) => {
	for (const v of await viewsOf(page)) {
		await go(page, `#/${v}`);
		must(await page.locator("figure").count() === await page.locator("figure details.explain").count(), `${v} has a plot without explanation`);
	}
	await go(page, "#/rates");
	must(!await page.locator("#fig-rates details").evaluate((d) => d.open), "open at first");
	await page.click("#fig-rates summary");
	/* The toggle event comes after the click. */
	await page.waitForFunction(() => localStorage.getItem("moca.explain.rates") === "1");
	await page.reload();
	await page.waitForFunction(() => document.body.dataset.ready);
	must(await page.locator("#fig-rates details").evaluate((d) => d.open), "forgotten");
	must(/What to do/.test(await page.textContent("#fig-rates details")), "no advice");
}));

await test("keyboard alone", () => withPage("recorded", {}, async (page) => {
	await page.keyboard.press(String(1 + (await viewsOf(page)).indexOf("objects")));
	await page.waitForFunction(() => document.querySelector("main").dataset.view === "objects");
	await page.keyboard.press("/");
	await page.waitForFunction(() => document.activeElement.id === "find");
	await page.keyboard.type("buf");
	await page.keyboard.press("Tab");
	await go(page, await firstObject(page));
	const title = await page.textContent("#title");
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("n");
	await page.waitForFunction((t) => document.querySelector("#title").textContent !== t, title);
	await page.keyboard.press("?");
	must(await page.locator("dialog[open]").count() === 1, "no list of keys");
	await page.keyboard.press("Escape");
}));

await test("a click goes to the structure", () => withPage("recorded", {}, async (page) => {
	await page.click("[data-figure='overview'] canvas", { position: { x: 400, y: 8 } });
	await page.waitForFunction(() => document.querySelector("main").dataset.view === "object");
	await go(page, "#/objects");
	await page.click("[data-figure='reads'] g.bar.link");
	await page.waitForFunction(() => document.querySelector("main").dataset.view === "object");
}));

const areasOf = async (page) => {
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='areas'] [data-action='CSV']")]);
	const lines = readFileSync(await d.path()).toString().trim().split("\r\n");
	must(lines[0] === "structure,what,first_address,end_address,pages,begin_ns,end_ns,reads,writes,unknown", lines[0]);
	return lines.slice(1).map((l) => {
		const c = l.split(",");
		return { name: c.slice(0, -9).join(","), what: c.at(-9), first: +c.at(-8), last: +c.at(-7), pages: +c.at(-6), begin: +c.at(-5), end: +c.at(-4),
			 reads: +c.at(-3), writes: +c.at(-2), unknown: +c.at(-1) };
	});
};
const accessesOf = (areas) => areas.reduce((a, x) => a + x.reads + x.writes + x.unknown, 0);
const said = (page) => page.textContent(".detail-status");
const pictureOf = (page) => page.evaluate(() => document.querySelector("canvas.areas").toDataURL());

await test("overview: the slider changes the areas and the link", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview");
	must(await colors(page, "canvas.areas") > 3, "the overview is blank");
	const start = await said(page), first = await areasOf(page), picture = await pictureOf(page);
	must(start.includes(` ${first.length} area`), `${first.length} areas, but it says ${start}`);
	/* A download takes the focus. */
	const press = async (key) => {
		await page.focus("#detail");
		await page.keyboard.press(key);
	};
	await press("Home");
	const fine = await areasOf(page);
	must(fine.length > first.length, `the finest has ${fine.length} areas, the first ${first.length}`);
	must(accessesOf(fine) === accessesOf(first), `${accessesOf(fine)} accesses, then ${accessesOf(first)}`);
	must(await pictureOf(page) !== picture, "the same picture");
	await page.waitForFunction(() => /^#\/overview\?p=/.test(location.hash));
	const finest = await said(page);
	await press("ArrowRight");
	await press("ArrowRight");
	const third = await said(page), aria = await page.getAttribute("#detail", "aria-valuetext");
	must(/^p [0-9.e-]+, [\d,]+ areas$/.test(aria) && third.startsWith(aria.split(",")[0].replace("p ", "p = ")), `says ${aria}, shows ${third}`);
	must(third !== finest, "the arrows do not move the slider");
	await page.click("[aria-label='One level finer']");
	must(await said(page) !== third, "the button does not move the slider");
	await page.click("[aria-label='One level simpler']");
	must(await said(page) === third, "nor back");
	/* The address follows after a while, with a few digits more. */
	await page.waitForFunction((text) => Math.abs(+new URLSearchParams(location.hash.split("?")[1]).get("p") / +text - 1) < 6e-4,
		third.match(/^p = ([0-9.e-]+)/)[1]);
	const other = await open(browser, `${dir}/recorded.html`, { hash: await page.evaluate(() => location.hash) });
	must(await said(other.page) === third, `the link shows ${await said(other.page)} and not ${third}`);
	await other.context.close();
	await press("End");
	const simple = await areasOf(page);
	must(simple.length < fine.length && accessesOf(simple) === accessesOf(first), `the simplest has ${simple.length} areas`);
	must((await said(page)).includes("100 % of the possible loss"), await said(page));
	await page.click("[data-action='best']");
	must(await said(page) === start, "the best trade is not what it began with");
	await page.click("[data-figure='trade'] .u-over", { position: { x: 3, y: 40 } });
	must(await said(page) !== start, "a click on the curves chooses nothing");
}));

await test("overview: down to pages", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview?p=0");
	const areas = await areasOf(page), kinds = new Set(areas.map((a) => a.what));
	/* The workload's buffers have more pages than parts. */
	must(kinds.has("pages"), `only ${[...kinds].join()}`);
	for (const a of areas.filter((x) => x.what === "pages"))
		must(a.first % 4096 === 0 && (a.last - a.first) / 4096 >= a.pages, JSON.stringify(a));
	/* In each moment the areas of a structure cover its pages once. */
	const name = areas.find((a) => a.what === "pages").name, own = areas.filter((a) => a.name === name || a.what === "all");
	const times = [...new Set(own.flatMap((a) => [a.begin, a.end]))].sort((x, y) => x - y);
	const sums = times.slice(0, -1).map((t) => own.filter((a) => a.what !== "all" && a.begin <= t && a.end > t).reduce((n, a) => n + a.pages, 0));
	must(new Set(sums.filter((n) => n)).size === 1, `${name} has ${[...new Set(sums)].join()} pages`);
	/* The slider reaches parts or whole structures, too. */
	await page.click("[data-action='best']");
	const simple = new Set((await areasOf(page)).map((a) => a.what));
	must(simple.has("structure") || simple.has("part") || simple.has("all"), [...simple].join());
}));

/* Where an area of the picture is, as the page says it itself. */
const chosen = (page) => page.textContent(".chosen");

await test("overview: hover, click, keys, colours, links", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview?p=0");
	const box = await page.locator("canvas.areas").boundingBox();
	must((await chosen(page)).includes("Nothing is chosen"), await chosen(page));
	const x = box.width * 0.6, y = 40;
	await page.mouse.move(box.x + x, box.y + y);
	const tip = (await page.textContent(".tip")).replaceAll(",", ""), areas = await areasOf(page);
	const numbers = tip.match(/Pages(\d+)Reads(\d+)Writes(\d+)/).slice(1).map(Number);
	must(areas.some((a) => a.pages === numbers[0] && a.reads === numbers[1] && a.writes === numbers[2] && tip.includes(a.name)), `no area is ${tip}`);
	await page.click("canvas.areas", { position: { x, y } });
	const there = (await chosen(page)).replaceAll(",", "");
	must(there.includes(tip.match(/Pages.*Writes\d+/)[0]), `${there} is not ${tip}`);
	must((await page.textContent(".chosen [role=status]")).includes("Reads: "), "a screen reader hears nothing");
	await page.waitForFunction(() => /at=\d+,\d+|at=\d+%2C\d+/.test(location.hash));
	const kept = await chosen(page);
	const other = await open(browser, `${dir}/recorded.html`, { hash: await page.evaluate(() => location.hash) });
	must((await chosen(other.page)).replace(/Structure:.*/, "") === kept.replace(/Structure:.*/, ""), `the link chooses ${await chosen(other.page)}`);
	await other.context.close();
	const byType = await pictureOf(page);
	await page.click("[data-mode='count']");
	must(await pictureOf(page) !== byType, "both colours look the same");
	await page.waitForFunction(() => /mode=count/.test(location.hash));
	await page.focus("canvas.areas");
	const seen = new Set([await chosen(page)]);
	for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowDown"]) {
		await page.keyboard.press(key);
		seen.add(await chosen(page));
	}
	must(seen.size >= 4, `the keys reach ${seen.size} areas`);
	await page.keyboard.press("Escape");
	must((await chosen(page)).includes("Nothing is chosen"), "Escape keeps it");
}));

await test("overview: by thread and by node", () => withPage("recorded", { hash: "#/overview?p=0" }, async (page) => {
	const seen = new Set([await pictureOf(page)]);
	for (const mode of ["thread", "node"]) {
		await page.click(`[data-mode='${mode}']`);
		await page.waitForFunction((m) => location.hash.includes(`mode=${m}`), mode);
		must(await colors(page, "canvas.areas") > 3, `${mode} is blank`);
		seen.add(await pictureOf(page));
		await page.screenshot({ path: `${shots}/overview-${mode}.png` });
	}
	must(seen.size === 3, "two of them look the same");
	await page.click("[data-mode='thread']");
	must(/#\d+ workload#\d+ workload/.test(await page.textContent(".legend-slot")), await page.textContent(".legend-slot"));
	/* One thread's buffer, or, where both are used alike, those of the two. */
	await page.selectOption("#only", { label: await page.$eval("#only", (s) => [...s.options].find((o) => o.text.startsWith("own_buffer")).text) });
	const box = await page.locator("canvas.areas").boundingBox();
	let own = "", threads = "";
	/* On a busy machine nobody used it at some of these times. */
	for (const x of [0.6, 0.5, 0.7, 0.4, 0.8, 0.3, 0.9, 0.2]) {
		if (threads)
			break;
		await page.mouse.move(box.x + box.width * x, box.y + 30);
		own = await page.locator(".tip").count() ? await page.textContent(".tip") : "";
		[threads] = own.match(/Threads(?:(?:, )?#\d+ workload [\d.]+ %)+/) || [""];
	}
	must(Math.abs([...threads.matchAll(/([\d.]+) %/g)].reduce((sum, [, x]) => sum + Number(x), 0) - 100) < 0.5, own);
	await page.waitForFunction(() => /mode=thread/.test(location.hash) && /only=/.test(location.hash));
	const hash = await page.evaluate(() => location.hash), other = await open(browser, `${dir}/recorded.html`, { hash });
	must(await other.page.getAttribute("[data-mode='thread']", "aria-pressed") === "true", "the link forgets it");
	must(/#\d+ workload/.test(await other.page.textContent(".legend-slot")), "the link shows other colours");
	await other.context.close();
	await accessible(page, "by thread");
}));

await test("selection: the overview zooms to it, and selects", () => withPage("recorded", { hash: "#/overview?p=0" }, async (page) => {
	const all = await pictureOf(page), box = await page.locator("canvas.areas").boundingBox(), y = box.y + 30;
	const at = (part) => box.x + 150 + part * (box.width - 162);
	await page.mouse.move(at(0.5), y);
	await page.mouse.down();
	await page.mouse.move(at(0.75), y, { steps: 5 });
	await page.mouse.up();
	await page.waitForFunction(() => /[?&]t=\d+(,|%2C)\d+/.test(location.hash));
	const half = await pictureOf(page), said = await page.textContent("#selection span");
	must(half !== all && (await page.textContent(".chosen")).includes("Nothing is chosen"), "a drag does not zoom, or chooses an area");
	const { time } = await blob(page, "index"), [from, to] = decodeURIComponent(page.url()).match(/t=(\d+),(\d+)/).slice(1).map(Number);
	const length = time.end_ns - time.begin_ns;
	must(Math.abs((from - time.begin_ns) / length - 0.5) < 0.02 && Math.abs((to - time.begin_ns) / length - 0.75) < 0.02, `${from} to ${to} of ${JSON.stringify(time)}`);
	/* The pointer finds what is there now. */
	await page.hover("canvas.areas", { position: { x: at(0.02) - box.x, y: 30 } });
	const tip = await page.locator(".tip").count() ? await page.textContent(".tip") : "", [, begin, end] = tip.match(/Time(.+?) to (.+?)Pages/) || [];
	must(begin && end, `no area at the left end: ${tip}`);
	await page.screenshot({ path: `${shots}/overview-selected.png`, fullPage: true });
	await go(page, "#/rates");
	must(await page.textContent("#selection span") === said, "another view has another");
	await go(page, "#/overview?p=0");
	must(await pictureOf(page) === half, "the overview shows another part");
	await page.dblclick("canvas.areas", { position: { x: at(0.5) - box.x, y: 30 } });
	must(!await page.isVisible("#selection"), "a double click does not show all");
	await page.focus("canvas.areas");
	await page.keyboard.press("Escape");
	must(await pictureOf(page) === all, "all of the run looks other than before");
}));

await test("overview: cells that are coarser tell no threads", () => {
	const modes = (coarsened) => modesOf({ coarsened }).map(([k]) => k).join();
	must(modes(0) === "type,count,thread,node" && modes(1) === "type,count", modes(1));
});

await test("addresses of another process's copy have no index", () => {
	const object = { addr: "0x10800", size: 16384, shape: { element_size: 8, count: [2048], lower: [0] } }, told = [];
	const map = { object, plot: { heat: { page_shift: 0 } }, addressOf: (row) => [0x5000, 0x10000, 0x11000][row] };
	for (const row of [0, 1, 2])
		Heatmap.prototype.drawPlace.call(map, { fillText: (text) => told.push(text) }, row, 0, 20);
	must(told.join() === "0x5000,0x10000,[0],0x11000,[256]", told.join());
});

await test("addresses of an array have indices", () => withPage("finding", {}, async (page) => {
	await toObject(page);
	const box = await page.locator("canvas.heat").boundingBox();
	await page.hover("canvas.heat", { position: { x: box.width * 0.5, y: 12 } });
	const tip = await page.textContent(".tip"), [, first, last] = tip.match(/Elementsnext\[(\d+)\] to \[(\d+)\]/) || [];
	must(Number(first) % 4096 === 0 && (Number(last) + 1) % 4096 === 0 && Number(last) > Number(first), tip);
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure^='heat-'] [data-action='SVG']")]);
	const texts = (await readSvg(page, readFileSync(await d.path()).toString())).texts;
	const at = texts.filter((t) => /^0x[0-9a-f]+$/.test(t)).map((t) => parseInt(t, 16)), index = texts.filter((t) => /^\[\d+\]$/.test(t)).map((t) => Number(t.slice(1, -1)));
	must(index.length > 3 && index.length === at.length && index.every((n, i) => n - index[0] === at[i] - at[0]), texts.join());
}));

await test("overview: one structure alone; open it there", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview?p=0");
	const all = await pictureOf(page), title = () => page.textContent("#title");
	await page.click("canvas.areas", { position: { x: 600, y: 40 } });
	const name = await page.evaluate(() => document.querySelector("#area-title").textContent.split(", ")[0]);
	await page.click("[data-action='alone']");
	must(await pictureOf(page) !== all, "the same picture");
	await page.waitForFunction(() => /only=\d+/.test(location.hash));
	must(await page.evaluate(() => document.querySelector("#only").selectedOptions[0].textContent) === name, "the list says another");
	await page.selectOption("#only", "");
	const range = await page.evaluate(() => document.querySelector(".chosen .pairs").textContent);
	const href = await page.getAttribute("[data-action='open-area']", "href");
	must(/^#\/object\/\d+\?t=/.test(href), href);
	await page.focus("canvas.areas");
	await page.keyboard.press("Enter");
	await page.waitForFunction((n) => document.querySelector("#title").textContent === n, name);
	/* Its map shows no more than that time and these pages. */
	const zoomed = await status(page), pages = Number(range.match(/Pages([\d,]+)/)[1].replaceAll(",", ""));
	must(!zoomed.includes("(all)"), zoomed);
	must(Number(zoomed.match(/, ([\d,]+) page/)[1].replaceAll(",", "")) === pages, `${zoomed}, but the area has ${pages} pages`);
	must(await title() === name, await title());
}));

await test("overview: dark", async () => {
	const drawn = [];
	for (const colorScheme of ["light", "dark"])
		await withPage("recorded", { colorScheme, hash: "#/overview" }, async (page) => {
			drawn.push(await pictureOf(page));
			must(await colors(page, "canvas.areas") > 3, `${colorScheme} is blank`);
			await page.screenshot({ path: `${shots}/${colorScheme}-overview.png`, fullPage: true });
		});
	must(drawn[0] !== drawn[1], "dark looks like light");
});

await test("an imagined machine: threads where the analysis puts them", async () => {
	const rowsOf = async (page) => {
		const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='topology'] [data-action='CSV']")]);
		return readFileSync(await d.path()).toString().trim().split("\r\n").slice(1).map((l) => l.split(","));
	};
	await withPage("what-if", { hash: "#/topology" }, async (page) => {
		const note = await page.textContent("#assumed"), rows = await rowsOf(page);
		must(note.includes("OMP_PROC_BIND=spread") && note.includes("8 CPUs") && note.includes("touches it first"), note);
		/* Two threads at a time, spread over 8 CPUs. */
		must(rows.length >= 2 && new Set(rows.map((r) => r[1])).size === rows.length, `a thread is at two places: ${rows.join("; ")}`);
		must([...new Set(rows.map((r) => r[0]))].sort().join() === "0,4", `on the CPUs ${rows.map((r) => r[0])}`);
		await page.hover("svg.machine .hw-numanode");
		must((await page.textContent(".tip")).includes("touched first"), await page.textContent(".tip"));
		await accessible(page, "what-if");
	});
	await withPage("too-large", { hash: "#/topology" }, async (page) => {
		must((await page.textContent("#assumed")).includes("no thread and no page has a place"), "a place is not missing");
		must(!(await rowsOf(page)).length, "a thread has a place");
	});
	await withPage("recorded", { hash: "#/topology" }, async (page) =>
		must(!await page.locator("#assumed").count(), "the recorded machine is said to be another"));
});

await test("allocations by site", () => withPage("recorded", { hash: "#/allocations" }, async (page) => {
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='sites'] [data-action='CSV']")]);
	const [head, ...rows] = readFileSync(await d.path()).toString().trim().split("\r\n").map((l) => l.split(","));
	must(head.join() === "structure,site,calls,bytes,most_bytes,bytes_at_peak,bytes_at_peak_kept,bytes_at_end", head.join());
	/* One buffer each of two threads, which are freed, and one of both, which is not. */
	const of = (name) => rows.find((r) => r[0].startsWith(name)).slice(2).map(Number), buffer = 256 * 4096;
	must(of("own_buffer").slice(0, 2).join() === `2,${2 * buffer}` && of("own_buffer")[5] === 0 && of("own_buffer")[4] === 0, of("own_buffer").join());
	must(of("shared_buffer").join() === `1,${[buffer, buffer, buffer, buffer, buffer].join()}`, of("shared_buffer").join());
	const said = await page.textContent("[data-figure='sites'] .subtitle"), peak = rows.reduce((n, r) => n + Number(r[5]), 0);
	must(peak >= 2 * buffer && said.includes(`${+(peak / 2 ** 20).toFixed(peak < 10 * 2 ** 20 ? 2 : 1)} MiB`), `${said}: the sites have ${peak} bytes at the peak`);
	must((await page.textContent("[data-figure='sites'] table")).includes("shared_buffer"), "no table");
}));

await test("the working set", () => withPage("recorded", { hash: "#/rates" }, async (page) => {
	must(await colors(page, "[data-figure='working-set'] canvas") > 3, "nothing is drawn");
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='working-set'] [data-action='CSV']")]);
	const rows = readFileSync(await d.path()).toString().trim().split("\r\n").slice(1).map((l) => l.split(",").map(Number));
	const most = Math.max(...rows.map((r) => r[2]));
	/* Three buffers of 256 pages, in use by turns or at once. */
	must(most >= 256 && most < 4096, `${most} pages at most`);
	must((await page.textContent("#fig-working-set .subtitle")).includes(`${most.toLocaleString("en-US")} at most`), "the text says something else");
	must(rows.every((r, i) => r[3] === r[2] * 4096 && (!i || r[0] === rows[i - 1][1])), "the rows do not follow each other");
}));

await test("an unknown address", () => withPage("recorded", { hash: "#/object/999999" }, async (page) => {
	must((await page.textContent("main")).includes("no such structure"), "not said");
	await go(page, "#/nonsense");
	must(await page.getAttribute("main", "data-view") === "introduction", "not the introduction");
}));

await test("narrow screens and paper", () => withPage("recorded", { viewport: { width: 420, height: 800 } }, async (page) => {
	for (const v of await viewsOf(page)) {
		await go(page, `#/${v}`);
		const w = await page.evaluate(() => document.documentElement.scrollWidth);
		must(w <= 420, `${v} is ${w} wide`);
		must(await page.evaluate(() => [...document.querySelectorAll("svg.bars")].every((x) => x.viewBox.baseVal.width <= x.clientWidth + 1)), `${v}: text of bars shrinks`);
	}
	await toObject(page);
	await page.screenshot({ path: `${shots}/narrow-object.png`, fullPage: true });
	await page.emulateMedia({ media: "print" });
	must(!await page.isVisible("nav[aria-label='Views']"), "the menu is printed");
	await page.pdf({ path: `${shots}/print.pdf` });
}));

for (const scheme of ["light", "dark"])
	await test(`accessible: axe-core, ${scheme}`, () => withPage("recorded", { colorScheme: scheme }, async (page) => {
		for (const v of await viewsOf(page)) {
			await go(page, `#/${v}`);
			await accessible(page, v);
		}
		await go(page, "#/overview?p=0.1");
		await page.click("canvas.areas", { position: { x: 500, y: 40 } });
		await accessible(page, "a chosen area");
		await toObject(page);
		for (const s of await page.locator("details.explain summary").all())
			await s.click();
		await accessible(page, "object");
	}));

await browser.close();
process.exit(failed ? 1 : 0);
