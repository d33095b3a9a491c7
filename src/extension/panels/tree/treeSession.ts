import { basename } from 'node:path';
import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { TreeSource, TreeViewEvent } from '../../../protocol/treeMessages.ts';
import { isMadeName } from '../../../runs/searchLog.ts';
import { displayText } from '../../runView.ts';
import { openTreeFeed, type TreeFeed, type TreeFileReader } from './treeFeed.ts';

export type Side = 'main' | 'other';

export interface TreeSessionOptions {
	readonly path: string;
	readonly tree: number;
	readonly other: string | null;
	/** Resolves when the view has processed the event. Hidden views receive no events. */
	readonly post: (event: TreeViewEvent) => PromiseLike<unknown>;
	readonly reader: TreeFileReader;
	/** Returns whether a search is currently writing to a log. */
	readonly running: (log: string) => boolean | Promise<boolean>;
	/** Returns why continuing is disabled for all logs in this window, or null if it is enabled. */
	readonly forbidden: () => string | null;
	/** Called with the title of the current tree. */
	readonly onTitle?: (title: string) => void;
	readonly open?: typeof openTreeFeed;
}

/** Number of events in the first batch. A small batch lets the view start drawing a large tree early. */
const firstEvents = 1000;
const batchEvents = 4000;
const batchBytes = 2 << 20;

interface Shown {
	readonly path: string;
	readonly tree: number;
	generation: number;
	/** Number of events sent. */
	sent: number;
	feed: TreeFeed | null;
	source: string;
	/** Last reported reason why nothing can be shown. */
	failed: string | null;
}

/**
 * The state and messages of a tree panel, independent of VS Code: follows the log and forwards its events in order.
 * Nodes are not stored; a restarted view gets all events again.
 */
export class TreeSession extends Disposable {
	readonly #options: TreeSessionOptions;
	readonly #sides = new Map<Side, Shown>();
	#generation = 0;
	#awake = false;
	#pumping: Promise<void> | null = null;
	#again = false;
	#wanted: number | null = null;

	constructor(options: TreeSessionOptions) {
		super();
		this.#options = options;
		this.#sides.set('main', this.#shown(options.path, options.tree));
		if (options.other !== null) this.#sides.set('other', this.#shown(options.other, 0));
		this.register(
			toDisposable(() => {
				this.#awake = false;
			}),
		);
	}

	/** Paths of the files shown. */
	get paths(): readonly string[] {
		return [...this.#sides.values()].map(({ path }) => path);
	}

	get tree(): number {
		return this.#sides.get('main')?.tree ?? 0;
	}

	/** Called when the view has started; sends it the complete state. */
	begin(): Promise<void> {
		this.#awake = true;
		for (const shown of this.#sides.values()) this.#restart(shown);
		return this.look();
	}

	/** Shows another tree in the file. */
	choose(tree: number): Promise<void> {
		const main = this.#sides.get('main') as Shown;
		this.#sides.set('main', this.#shown(main.path, tree));
		return this.look();
	}

	/** Shows another log for comparison, or none if null. */
	compare(path: string | null): Promise<void> {
		if (path === null) {
			this.#sides.delete('other');
			void this.#options.post({ type: 'closeOther' });
			return Promise.resolve();
		}
		this.#sides.set('other', this.#shown(path, 0));
		return this.look();
	}

	/** Selects a node of the main tree, immediately or once it has been sent. */
	show(node: number): Promise<void> {
		this.#wanted = node;
		return this.#awake ? this.look() : Promise.resolve();
	}

	async #showWanted(): Promise<void> {
		const node = this.#wanted;
		const main = this.#sides.get('main');
		if (node === null || main === undefined || main.feed === null || !this.#is('main', main)) return;
		this.#wanted = null;
		await this.#post({ type: 'reveal', node });
	}

	async wantText(side: Side, node: number): Promise<void> {
		const feed = this.#sides.get(side)?.feed;
		if (!feed) return;
		const text = await feed.text(node);
		await this.#post({ type: 'text', side, id: node, text });
	}

	/**
	 * Checks the files and sends new events. Resolves when everything available at the time of the call has been sent.
	 */
	async look(): Promise<void> {
		if (this.#pumping !== null) {
			this.#again = true;
			await this.#pumping;
			return;
		}
		this.#pumping = (async () => {
			do {
				this.#again = false;
				for (const [side, shown] of [...this.#sides]) await this.#pump(side, shown);
				await this.#showWanted();
			} while (this.#again && this.#awake);
		})().finally(() => {
			this.#pumping = null;
		});
		await this.#pumping;
	}

	#shown(path: string, tree: number): Shown {
		return { path, tree, generation: 0, sent: 0, feed: null, source: '', failed: null };
	}

	#restart(shown: Shown): void {
		shown.feed = null;
		shown.sent = 0;
		shown.source = '';
		shown.failed = null;
	}

	/** Returns whether this tree is still shown and the view is visible. */
	#is(side: Side, shown: Shown): boolean {
		return this.#awake && !this.disposed && this.#sides.get(side) === shown;
	}

	async #pump(side: Side, shown: Shown): Promise<void> {
		if (!this.#is(side, shown)) return;
		try {
			const feed =
				shown.feed ?? (await (this.#options.open ?? openTreeFeed)(shown.path, shown.tree, this.#options.reader));
			if (shown.feed === null) {
				shown.feed = feed;
				shown.sent = 0;
				shown.generation = ++this.#generation;
				const source = await this.#sourceOf(shown, feed);
				shown.source = JSON.stringify(source);
				if (!this.#is(side, shown)) return;
				if (side === 'main') this.#options.onTitle?.(source.title);
				await this.#post({ type: 'open', side, generation: shown.generation, source });
			}
			shown.failed = null;
			if (await this.#send(side, shown, feed)) await this.#reportSource(side, shown, feed);
		} catch (error) {
			const failure = Failure.from(error, `Cannot read ${shown.path}`);
			if (!this.#is(side, shown) || shown.failed === failure.message) return;
			this.#restart(shown);
			shown.failed = failure.message;
			await this.#post({ type: 'failed', side, message: failure.message, action: failure.action ?? null });
		}
	}

	/** Sends available events. @returns whether the view is up to date */
	async #send(side: Side, shown: Shown, feed: TreeFeed): Promise<boolean> {
		let batch: Uint8Array[] = [];
		let size = 0;
		let open = shown.sent === 0;
		// Read the next batch while the current one is being sent.
		let onTheWay = Promise.resolve();
		const flush = async (complete: boolean) => {
			const lines = joined(batch, size);
			const from = shown.sent;
			shown.sent += batch.length;
			batch = [];
			size = 0;
			open = !complete;
			const { generation } = shown;
			const earlier = onTheWay;
			onTheWay = this.#post({ type: 'events', side, generation, from, lines, complete });
			// The result is no longer awaited.
			onTheWay.catch(() => undefined);
			await earlier;
		};
		for (;;) {
			const events = await feed.next();
			if (!this.#is(side, shown) || shown.feed !== feed) return false;
			if (events === 'replaced') {
				this.#restart(shown);
				this.#again = true;
				return false;
			}
			if (events === null) break;
			for (const event of events) {
				batch.push(event);
				size += event.length;
				const limit = shown.sent === 0 ? firstEvents : batchEvents;
				if (batch.length >= limit || size >= batchBytes) await flush(false);
			}
		}
		if (batch.length > 0 || open) await flush(true);
		await onTheWay;
		return true;
	}

	/** Resends the file facts if they have changed. */
	async #reportSource(side: Side, shown: Shown, feed: TreeFeed): Promise<void> {
		const source = await this.#sourceOf(shown, feed);
		const text = JSON.stringify(source);
		if (text === shown.source || !this.#is(side, shown)) return;
		shown.source = text;
		if (side === 'main') this.#options.onTitle?.(source.title);
		await this.#post({ type: 'source', side, source });
	}

	async #sourceOf(shown: Shown, { facts }: TreeFeed): Promise<TreeSource> {
		const { path, tree } = shown;
		return {
			title: titleOf(path, facts.problem),
			path,
			foreign: facts.foreign,
			trees: [...facts.trees],
			chosen: Math.min(tree, Math.max(0, facts.trees.length - 1)),
			faults: [...facts.faults],
			running: facts.foreign === null && (await this.#options.running(path)),
			canGoOn: this.#options.forbidden() ?? reasonAgainst(facts) ?? true,
			episodes: facts.episodes,
		};
	}

	async #post(event: TreeViewEvent): Promise<void> {
		if (this.#awake && !this.disposed) await this.#options.post(event);
	}
}

/** Joins lines into one byte array. `size` is their total size without line endings. */
function joined(lines: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
	const text = new Uint8Array(size + Math.max(0, lines.length - 1));
	let at = 0;
	for (const line of lines) {
		if (at > 0) text[at++] = 0x0a;
		text.set(line, at);
		at += line.length;
	}
	return text;
}

function reasonAgainst(facts: TreeFeed['facts']): string | null {
	if (facts.foreign !== null) return 'This tree was created by another program, so it cannot be continued here.';
	return facts.hasSpec ? null : 'The log does not include the policy and strategy of the search.';
}

/** Returns a log's display name: its user-assigned name, or its problem. */
function titleOf(path: string, problem: string | null): string {
	const asked = problem === null || !isMadeName(path) ? '' : displayText(problem, 80);
	return asked || displayText(basename(path).replace(/\.jsonl?$/, ''));
}
