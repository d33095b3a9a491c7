import { launchChromium, skip } from '../support/chromium.ts';
import { madeUpRows, openRunTable } from '../unit/webview/runTable/runTableHarness.ts';
import { type Bench, type Measurement, NotHere } from './measurement.ts';

const runs = 2000;

/** Returns a script that resolves to the milliseconds until an action's result is in the document, before painting. */
const measured = (action: string) => `(async () => {
	const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
	await frame();
	const start = performance.now();
	${action}
	await frame();
	return performance.now() - start;
})()`;

/** Records when the first row is in the document, in milliseconds after the message with the rows arrived. */
const noteFirst = `window.shown = new Promise((resolve) => {
	addEventListener('message', () => {
		const start = performance.now();
		const look = () => {
			if (document.querySelector('.data-rows .data-row')) resolve(performance.now() - start);
			else requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	}, { once: true, capture: true });
}), undefined`;

const sortBy = (label: string) =>
	`[...document.querySelectorAll('.head-button')].find((node) => node.textContent.startsWith('${label}')).click();`;
const groupByRecipe = `const groups = document.querySelector('select');
	groups.value = 'recipe';
	groups.dispatchEvent(new Event('change'));`;

/** Milliseconds from the start of the navigation until the app has started and asked for its rows. */
const loading = `performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd`;
/** Writes and reads the rows as JSON, as the editor does on their way to the page. */
const transport = `((rows) => {
	const start = performance.now();
	JSON.parse(JSON.stringify(rows));
	return performance.now() - start;
})`;

/**
 * A table of 2,000 runs with 42 metrics and 44 recipe keys each: page load, first drawing, sorting and grouping. The
 * time to the first drawing including page load is the sum of a round's first three figures.
 */
export const bench: Bench = {
	title: `a table of ${runs} runs: from its rows to the first drawing, and after a click`,
	async run({ rounds, tiny }) {
		if (skip) throw new NotHere(skip);
		const samples = new Map<string, number[]>();
		const add = (name: string, value: unknown) => {
			samples.set(`table of runs: ${name}`, [...(samples.get(`table of runs: ${name}`) ?? []), Number(value)]);
		};
		const rows = madeUpRows(tiny ? 20 : runs).map((row) => ({ ...row, own: true }));
		const browser = await launchChromium();
		try {
			for (let i = 0; i < rounds; i++) {
				const view = await openRunTable(browser, { width: 1200, height: 800 });
				const { page } = view;
				await page.getByText('Loading runs').waitFor();
				const load = Number(await page.evaluate(loading));
				const sent = Number(await page.evaluate(`${transport}(${JSON.stringify(rows)})`));
				await page.evaluate(noteFirst);
				await view.say({ type: 'rows', rows, pending: 0 });
				const drawn = Number(await page.evaluate('window.shown'));
				add('page load', load);
				add('rows to JSON and back', sent);
				add('rows to first drawing', drawn);
				add('first drawing with page load', load + sent + drawn);
				add('sort by a metric', await page.evaluate(measured(sortBy('Held-out accuracy'))));
				add('sort by name', await page.evaluate(measured(sortBy('Name'))));
				add('group by recipe', await page.evaluate(measured(groupByRecipe)));
				await view.close();
			}
		} finally {
			await browser.close();
		}
		return [...samples].map(([name, values]): Measurement => ({ name, unit: 'ms', samples: values }));
	},
};
