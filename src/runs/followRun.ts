import { realpath } from 'node:fs/promises';
import { Disposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { ForeignFollower } from './importers/foreignFollower.ts';
import { formatOf } from './openRun.ts';
import type { RunFollower } from './runContent.ts';
import { isRunFolder } from './runFolders.ts';
import { RunTail, type RunTailEvent, type RunTailOptions } from './runTail.ts';

export interface FollowRunOptions extends RunTailOptions {
	/** Name of the format, if several match and the user selected one. */
	readonly format?: string;
}

/** Follows a run from any trainer; its format is detected on start. */
export function followRun(folder: string, options: FollowRunOptions = {}): RunFollower {
	return new AnyFollower(folder, options);
}

class AnyFollower extends Disposable implements RunFollower {
	readonly folder: string;
	readonly #options: FollowRunOptions;
	readonly #emitter = this.register(new Emitter<RunTailEvent>());
	readonly onEvent = this.#emitter.event;
	#inner: Promise<RunFollower | null> | null = null;
	#started = false;

	constructor(folder: string, options: FollowRunOptions) {
		super();
		this.folder = folder;
		this.#options = options;
	}

	start(): this {
		if (this.#started || this.disposed) return this;
		this.#started = true;
		void this.#follow().then((inner) => inner?.start());
		return this;
	}

	async refresh(): Promise<void> {
		await (await this.#follow())?.refresh();
	}

	#follow(): Promise<RunFollower | null> {
		this.#inner ??= this.#make();
		return this.#inner;
	}

	/**
	 * Returns null if the follower was disposed of in the meantime or the format cannot be determined; the next caller
	 * tries again.
	 */
	async #make(): Promise<RunFollower | null> {
		let inner: RunFollower;
		try {
			inner = await this.#choose();
		} catch (error) {
			this.#inner = null;
			if (!this.disposed) this.#emitter.fire({ kind: 'error', failure: Failure.from(error) });
			return null;
		}
		if (this.disposed) {
			inner.dispose();
			return null;
		}
		this.register(inner);
		this.register(inner.onEvent((event) => this.#emitter.fire(event)));
		return inner;
	}

	/**
	 * A folder that is not a run, or not yet one, is followed as if it were one of our own runs, because that follower
	 * reports the problem and keeps checking.
	 */
	async #choose(): Promise<RunFollower> {
		try {
			if (this.#options.format === undefined && (await isRunFolder(this.folder))) return this.#own();
			const format = await formatOf(this.folder, this.#options.format);
			if (format === null) return this.#own();
			// Resolve links, so that the follower uses the same path as callers that open the run.
			return new ForeignFollower(await realpath(this.folder), format, this.#options);
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason !== 'invalid' && failure.reason !== 'missing') throw failure;
			return this.#own();
		}
	}

	#own(): RunFollower {
		return new RunTail(this.folder, this.#options);
	}
}
