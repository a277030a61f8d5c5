// SPDX-License-Identifier: GPL-2.0-or-later
// What moca summary found, when it is in the page.
import { h } from "./dom.js";

export function findings(d) {
	return [h("pre", {}, JSON.stringify(d.summary, null, 2))];
}
