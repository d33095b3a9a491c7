import type { Browser } from 'playwright-core';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { treeEventLines } from '../../../../src/protocol/treeEventReader.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import {
	type TreeSource,
	type TreeViewCommand,
	type TreeViewEvent,
	treeViewCommandSchema,
	treeViewEventSchema,
} from '../../../../src/protocol/treeMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface TreeView extends Webview {
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: TreeViewCommand[];
	/** Resolves once the page has sent `commands` commands, which arrive some time after a click. */
	received(commands: number): Promise<void>;
	readonly faults: readonly string[];
	/** Sends an event to the page, like the panel does. */
	say(event: TreeViewEvent): Promise<void>;
	/** Restarts one side with these events. */
	show(events: readonly TreeEvent[], source?: Partial<TreeSource>, side?: 'main' | 'other'): Promise<void>;
	/** Appends events to those already sent. */
	add(events: readonly TreeEvent[], side?: 'main' | 'other'): Promise<void>;
}

export const someSource: TreeSource = {
	title: 'MCTS on countdown 17',
	path: '/runs/demo/searches/1.jsonl',
	foreign: null,
	trees: ['1'],
	chosen: 0,
	faults: [],
	running: false,
	canGoOn: true,
	episodes: false,
};

/** Opens the tree page; the test sends the events that its panel would send. */
export async function openTree(
	browser: Browser,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<TreeView> {
	const commands: TreeViewCommand[] = [];
	const faults: string[] = [];
	const view = await openWebview(browser, {
		...options,
		app: 'tree',
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind !== 'event') return;
			const command = decodeOrThrow(treeViewCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'fault') faults.push(command.message);
			else if (command.type !== 'ready') commands.push(command);
		},
	});
	const sent = { main: 0, other: 0 };
	let generation = 0;
	const generations = { main: 0, other: 0 };
	const say = (event: TreeViewEvent): Promise<void> => {
		decodeOrThrow(treeViewEventSchema, event, 'An event');
		return view.post({ kind: 'event', event });
	};
	const add = async (events: readonly TreeEvent[], side: 'main' | 'other' = 'main'): Promise<void> => {
		const from = sent[side];
		sent[side] += events.length;
		const lines = new TextEncoder().encode(treeEventLines(events));
		await say({ type: 'events', side, generation: generations[side], from, lines, complete: true });
	};
	return {
		...view,
		commands,
		received: async (count) => {
			for (const end = Date.now() + 60_000; commands.length < count && Date.now() < end; ) {
				await new Promise((resolve) => setTimeout(resolve, 10));
			}
		},
		faults,
		say,
		add,
		show: async (events, source = {}, side = 'main') => {
			generation++;
			generations[side] = generation;
			sent[side] = 0;
			await say({ type: 'open', side, generation, source: { ...someSource, ...source } });
			await add(events, side);
		},
	};
}
