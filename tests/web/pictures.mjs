// SPDX-License-Identifier: GPL-2.0-or-later
// node pictures.mjs DIR OUT: README's pictures, of DIR/answer.html (the first screen)
// and DIR/structure.html (time by address of its structure "grid", by thread).
import { launch, open, go } from "./page.mjs";

const [dir, out] = process.argv.slice(2);
const browser = await launch();
const size = { width: 1120, height: 640 };

async function picture(name, take) {
	const { page, problems, context } = await open(browser, `${dir}/${name}.html`,
		{ viewport: size, deviceScaleFactor: 1.25 });
	await take(page);
	if (problems.length)
		throw new Error(problems.join("; "));
	await context.close();
}

await picture("answer", (page) => page.screenshot({ path: `${out}/answer.png` }));
await picture("structure", async (page) => {
	await go(page, "#/objects");
	const of = await page.$$eval("a[href^='#/object/']",
		(all) => all.find((a) => a.textContent === "grid").getAttribute("href"));
	await go(page, `${of}?mode=thread`);
	await page.locator("[id^='fig-heat-']")
		.screenshot({ path: `${out}/structure.png` });
});
await browser.close();
