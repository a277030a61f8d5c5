// SPDX-License-Identifier: GPL-2.0-or-later
// node build.mjs OUT: the page as one file, with marks where the data go.
import * as esbuild from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

async function bundle(entry) {
	const result = await esbuild.build({
		entryPoints: [entry],
		bundle: true,
		minify: true,
		format: "iife",
		target: ["chrome103", "firefox113", "safari16.4"],
		legalComments: "inline",
		write: false,
		logLevel: "warning",
	});
	/* A key that is there twice, a name that is none: never on purpose. */
	if (result.warnings.length)
		throw new Error(`${entry}: ${result.warnings.length} warnings`);
	return result.outputFiles[0].text;
}

const js = (await bundle("src/main.js")).replaceAll("</script", "<\\/script");
const css = await bundle("src/style.css");
const page = readFileSync("src/page.html", "utf8")
	.replace("/*STYLE*/", () => css)
	.replace("/*SCRIPT*/", () => js);

for (const mark of ["<!--MOCA-TITLE-->", "<!--MOCA-DATA-->"])
	if (page.split(mark).length !== 2)
		throw new Error(`the page must have ${mark} once`);
writeFileSync(process.argv[2], page);
