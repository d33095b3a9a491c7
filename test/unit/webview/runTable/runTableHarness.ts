import type { Browser } from 'playwright-core';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type RunTableCommand,
	type RunTableEvent,
	type RunTableRow,
	runTableCommandSchema,
	runTableEventSchema,
} from '../../../../src/protocol/runTableMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface RunTableView extends Webview {
	/** Commands from the page, without `ready`. */
	readonly commands: readonly RunTableCommand[];
	/** Sends an event to the page, like the panel does. */
	say(event: RunTableEvent): Promise<void>;
}

/** Opens the run table page; the test sends the events that its panel would send. */
export async function openRunTable(
	browser: Browser,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<RunTableView> {
	const commands: RunTableCommand[] = [];
	const view = await openWebview(browser, {
		...options,
		app: 'runTable',
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind !== 'event') return;
			const command = decodeOrThrow(runTableCommandSchema, decoded.event, 'A command from the webview');
			if (command.type !== 'ready') commands.push(command);
		},
	});
	return {
		...view,
		commands,
		say: (event) => view.post({ kind: 'event', event: decodeOrThrow(runTableEventSchema, event, 'An event') }),
	};
}

/** Made-up runs: `count` runs from several projects, with different recipes and seeds. */
export function madeUpRows(count: number): RunTableRow[] {
	return Array.from({ length: count }, (_, i) => ({
		folder: `/work/project${i % 3}/runs/run-${i}`,
		name: `run ${Math.floor(i / 4)}`,
		project: `project${i % 3}`,
		own: i % 10 !== 9,
		status: i % 17 === 0 ? 'crashed' : 'finished',
		engine: 'Embedded',
		step: 100 + (i % 7),
		created: 1_763_640_000 + i * 60,
		tags: i % 5 === 0 ? ['good'] : [],
		metrics: Object.fromEntries([
			['eval/heldout/accuracy', ((i * 37) % 100) / 100],
			['reward', ((i * 13) % 50) / 40],
			...Array.from({ length: 40 }, (_unused, k) => [`metric/${k}`, (i * (k + 1)) % 97]),
		]),
		recipe: {
			seed: i % 4,
			'stages[0].type': 'grpo',
			'stages[0].learning_rate': [1e-4, 2e-4, 5e-4][Math.floor(i / 4) % 3] as number,
			'stages[0].beta': [0, 0.02][Math.floor(i / 12) % 2] as number,
			...Object.fromEntries(Array.from({ length: 40 }, (_unused, k) => [`model.key${k}`, k])),
		},
	}));
}
