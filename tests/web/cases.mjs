// SPDX-License-Identifier: GPL-2.0-or-later
// node cases.mjs DIR: the page in a real browser. DIR has a page of each trace.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { launch, open, go } from "./page.mjs";

const dir = process.argv[2], shots = process.argv[3];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/* Findings and phases are there when this moca has them. */
const viewsOf = (page) => page.$$eval("nav[aria-label='Views'] a", (all) => all.map((a) => a.dataset.view));
let failed = 0;

mkdirSync(shots, { recursive: true });
const browser = await launch();

function must(cond, why) {
	if (!cond)
		throw new Error(why);
}

async function test(name, f) {
	try {
		await f();
		console.log(`ok web: ${name}`);
	} catch (e) {
		failed++;
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

const firstObject = (page) => page.evaluate(() =>
	document.querySelector("a[href^='#/object/']").getAttribute("href"));

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
		for (const v of ["introduction", "objects", "rates", "faults", "allocations", "topology"])
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

await test("all meanings of colours draw", () => withPage("recorded", {}, async (page) => {
	await toObject(page);
	const shown = new Set();
	for (const mode of ["type", "count", "thread", "sharing", "node"]) {
		await page.click(`[data-mode='${mode}']`);
		await page.waitForTimeout(100);
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

await test("a trace without samples says so", () => withPage("one", { hash: "#/faults" }, async (page) => {
	must((await page.textContent("main")).includes("were not sampled"), "it does not");
}));

await test("downloads: PNG, SVG, CSV", () => withPage("recorded", {}, async (page) => {
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

const partsOf = async (page) => {
	const [d] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='areas'] [data-action='CSV']")]);
	return readFileSync(await d.path()).toString().trim().split("\r\n").slice(1).map((l) => {
		const c = l.split(",");
		return { name: c.slice(0, -4).join(","), begin: +c.at(-4), end: +c.at(-3), reads: +c.at(-2), writes: +c.at(-1) };
	});
};
const accessesOf = (parts) => parts.reduce((a, x) => a + x.reads + x.writes, 0);
const said = (page) => page.textContent(".detail-status");
const pictureOf = (page) => page.evaluate(() => document.querySelector("canvas.areas").toDataURL());

await test("overview: the slider changes the parts and the link", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview");
	must(await colors(page, "canvas.areas") > 3, "the overview is blank");
	const start = await said(page), first = await partsOf(page), picture = await pictureOf(page);
	must(start.includes(` ${first.length} part`), `${first.length} parts, but it says ${start}`);
	/* A download takes the focus. */
	const press = async (key) => {
		await page.focus("#detail");
		await page.keyboard.press(key);
	};
	await press("Home");
	const fine = await partsOf(page);
	must(fine.length > first.length, `the finest has ${fine.length} parts, the first ${first.length}`);
	must(accessesOf(fine) === accessesOf(first), `${accessesOf(fine)} accesses, then ${accessesOf(first)}`);
	must(await pictureOf(page) !== picture, "the same picture");
	await page.waitForFunction(() => /^#\/overview\?p=/.test(location.hash));
	const finest = await said(page);
	await press("ArrowRight");
	await press("ArrowRight");
	const third = await said(page), aria = await page.getAttribute("#detail", "aria-valuetext");
	must(/^p [0-9.e-]+, \d+ parts$/.test(aria) && third.startsWith(aria.split(",")[0].replace("p ", "p = ")), `says ${aria}, shows ${third}`);
	must(third !== finest, "the arrows do not move the slider");
	/* The address follows after a while. */
	await page.waitForTimeout(400);
	const other = await open(browser, `${dir}/recorded.html`, { hash: await page.evaluate(() => location.hash) });
	must(await said(other.page) === third, `the link shows ${await said(other.page)} and not ${third}`);
	await other.context.close();
	await press("End");
	const simple = await partsOf(page);
	must(simple.length < fine.length && accessesOf(simple) === accessesOf(first), `the simplest has ${simple.length} parts`);
	must((await said(page)).includes("100 % of the possible loss"), await said(page));
	await page.click("[data-action='best']");
	must(await said(page) === start, "the best trade is not what it began with");
	await page.click("[data-figure='trade'] .u-over", { position: { x: 3, y: 40 } });
	must(await said(page) !== start, "a click on the curves chooses nothing");
}));

await test("overview: hover, colours, keys, a click goes to the structure", () => withPage("recorded", {}, async (page) => {
	await go(page, "#/overview?p=0");
	const box = await page.locator("canvas.areas").boundingBox(), parts = await partsOf(page);
	const names = [...new Set(parts.map((x) => x.name).filter((n) => !/^all \d+ structures$/.test(n)))];
	const most = parts.filter((x) => names.includes(x.name)).sort((a, b) => b.reads + b.writes - a.reads - a.writes)[0];
	const end = Math.max(...parts.map((x) => x.end)), begin = Math.min(...parts.map((x) => x.begin));
	/* Beside the names, in the middle of its time and of its line. */
	const x = 150 + ((most.begin + most.end) / 2 - begin) / (end - begin) * (box.width - 162);
	const y = (names.indexOf(most.name) + 0.5) / names.length * (box.height - 26);
	await page.mouse.move(box.x + x, box.y + y);
	const tip = (await page.textContent(".tip")).replaceAll(",", "");
	must(tip.includes(`Reads${most.reads}Writes${most.writes}`) && tip.includes(most.name), `${tip} is not ${JSON.stringify(most)}`);
	const byType = await pictureOf(page);
	await page.click("[data-mode='count']");
	must(await pictureOf(page) !== byType, "both colours look the same");
	await page.waitForFunction(() => /mode=count/.test(location.hash));
	await page.focus("canvas.areas");
	await page.keyboard.press("ArrowRight");
	const here = await status(page);
	must(/Structure: .*Reads: /.test(here), here);
	for (let i = 0; i < 2; i++)
		await page.keyboard.press("ArrowRight");
	must(await status(page) !== here, "the keys do not move");
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => document.querySelector("main").dataset.view === "object");
	await go(page, "#/overview?p=0");
	await page.click("canvas.areas", { position: { x, y } });
	await page.waitForFunction((t) => document.querySelector("#title").textContent === t, most.name);
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
		await toObject(page);
		for (const s of await page.locator("details.explain summary").all())
			await s.click();
		await accessible(page, "object");
	}));

await browser.close();
process.exit(failed ? 1 : 0);
