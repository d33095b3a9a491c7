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
	/** Resolves when the view has it; a view that is hidden has nothing. */
	readonly post: (event: TreeViewEvent) => PromiseLike<unknown>;
	readonly reader: TreeFileReader;
	/** Whether a search writes to a log now. */
	readonly running: (log: string) => boolean | Promise<boolean>;
	/** Why nothing continues here, whatever the log; null: it may. */
	readonly forbidden: () => string | null;
	/** What is shown has this name. */
	readonly onTitle?: (title: string) => void;
	readonly open?: typeof openTreeFeed;
}

/** What is sent at a time: a view draws the beginning of a large tree before the rest is there. */
const firstEvents = 1000;
const batchEvents = 4000;
const batchBytes = 2 << 20;

interface Shown {
	readonly path: string;
	readonly tree: number;
	generation: number;
	/** Events that were sent. */
	sent: number;
	feed: TreeFeed | null;
	source: string;
	/** What was said of why nothing can be shown. */
	failed: string | null;
}

/**
 * What a tree panel says and answers, without VS Code: it follows the log and hands its events over in their order. Nothing of
 * a tree is kept here; a view that comes back is told everything again.
 */
export class TreeSession extends Disposable {
	readonly #options: TreeSessionOptions;
	readonly #sides = new Map<Side, Shown>();
	#generation = 0;
	#awake = false;
	#pumping: Promise<void> | null = null;
	#again = false;

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

	/** The files that are shown. */
	get paths(): readonly string[] {
		return [...this.#sides.values()].map(({ path }) => path);
	}

	get tree(): number {
		return this.#sides.get('main')?.tree ?? 0;
	}

	/** The view is there and knows nothing. */
	begin(): Promise<void> {
		this.#awake = true;
		for (const shown of this.#sides.values()) this.#restart(shown);
		return this.look();
	}

	/** Another tree of the file. */
	choose(tree: number): Promise<void> {
		const main = this.#sides.get('main') as Shown;
		this.#sides.set('main', this.#shown(main.path, tree));
		return this.look();
	}

	/** Another log beside it; null: none. */
	compare(path: string | null): Promise<void> {
		if (path === null) {
			this.#sides.delete('other');
			void this.#options.post({ type: 'closeOther' });
			return Promise.resolve();
		}
		this.#sides.set('other', this.#shown(path, 0));
		return this.look();
	}

	async wantText(side: Side, node: number): Promise<void> {
		const feed = this.#sides.get(side)?.feed;
		if (!feed) return;
		const text = await feed.text(node);
		await this.#post({ type: 'text', side, id: node, text });
	}

	/** Looks at the files, and sends what is new; resolves when all that was there at the call is sent. */
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

	/** Whether it is still what is shown, to somebody who sees it. */
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
			if (await this.#send(side, shown, feed)) await this.#tellSource(side, shown, feed);
		} catch (error) {
			const failure = Failure.from(error, `Cannot read ${shown.path}`);
			if (!this.#is(side, shown) || shown.failed === failure.message) return;
			this.#restart(shown);
			shown.failed = failure.message;
			await this.#post({ type: 'failed', side, message: failure.message, action: failure.action ?? null });
		}
	}

	/** Sends what there is. @returns whether it is all there now */
	async #send(side: Side, shown: Shown, feed: TreeFeed): Promise<boolean> {
		let batch: Uint8Array[] = [];
		let size = 0;
		let open = shown.sent === 0;
		// One batch is on its way while the next one is read.
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
			// Nothing waits for its result any longer.
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
				const most = shown.sent === 0 ? firstEvents : batchEvents;
				if (batch.length >= most || size >= batchBytes) await flush(false);
			}
		}
		if (batch.length > 0 || open) await flush(true);
		await onTheWay;
		return true;
	}

	/** Says again what is known of the file, when that has changed. */
	async #tellSource(side: Side, shown: Shown, feed: TreeFeed): Promise<void> {
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
		};
	}

	async #post(event: TreeViewEvent): Promise<void> {
		if (this.#awake && !this.disposed) await this.#options.post(event);
	}
}

/** Lines as one text in bytes; `size`: of all of them without their ends. */
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
	if (facts.foreign !== null) return 'Another program wrote this tree, so it cannot be continued here.';
	return facts.hasSpec ? null : 'The log does not record which policy and strategy it was started with.';
}

/** What a person calls a log: the name that somebody gave it, else its problem. */
function titleOf(path: string, problem: string | null): string {
	const asked = problem === null || !isMadeName(path) ? '' : displayText(problem, 80);
	return asked || displayText(basename(path).replace(/\.jsonl?$/, ''));
}
