import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../../../files/atomicFile.ts';
import { listFolder, readJson } from '../../../files/safeFile.ts';
import {
	type ControlMethod,
	type ControlParams,
	type ControlResult,
	controlMethods,
} from '../../../protocol/control.ts';
import { decode, decodeOrThrow, type Schema } from '../../../protocol/decode.ts';
import { failureDataSchema } from '../../../protocol/failureData.ts';
import type { ControlHandlers } from '../../../rpc/controlServer.ts';
import { pause } from '../../../rpc/pause.ts';

/*
 * File-based control requests, for engines whose socket is unreachable but whose storage is shared. `requests/ID.json`
 * contains `{method, params}`, and `answers/ID.json` contains `{value}` or `{error}`. If an engine is lost, the next
 * one answers its requests. Senders delete the requests they abandon.
 */

const requestSchema = v.object({ method: v.string(), params: v.optional(v.unknown(), {}) });
export const answerSchema = v.object({
	value: v.optional(v.unknown()),
	error: v.optional(failureDataSchema),
});

/** Maximum file size. Prompts and completions can be long. */
const largest = 256 << 20;
const named = /^([\w-]{1,64})\.json$/;

export interface RequestFolderOptions {
	/** Polling interval in milliseconds. Default: 300. */
	readonly pollMs?: number;
}

/** Answers requests in a folder until disposed. */
export class RequestFolder extends Disposable {
	readonly #folder: string;
	readonly #handlers: ControlHandlers;
	readonly #end = new AbortController();
	readonly #taken = new Set<string>();

	constructor(folder: string, handlers: ControlHandlers, { pollMs = 300 }: RequestFolderOptions = {}) {
		super();
		this.#folder = folder;
		this.#handlers = handlers;
		this.register(toDisposable(() => this.#end.abort()));
		void this.#watch(pollMs);
	}

	async #watch(pollMs: number): Promise<void> {
		const { signal } = this.#end;
		while (!signal.aborted) {
			for (const { name } of await listFolder(this.#folder, 'requests')) {
				const id = named.exec(name)?.[1];
				if (id === undefined || this.#taken.has(id) || signal.aborted) continue;
				this.#taken.add(id);
				void this.#answer(id);
			}
			await pause(pollMs, signal);
		}
	}

	async #answer(id: string): Promise<void> {
		const request = join(this.#folder, 'requests', `${id}.json`);
		let answer: v.InferOutput<typeof answerSchema>;
		try {
			answer = { value: (await this.#handle(await readJson(this.#folder, `requests/${id}.json`, largest))) ?? {} };
		} catch (error) {
			answer = { error: Failure.from(error).toJSON() };
		}
		// Leave failed requests for the next engine.
		if (this.disposed && answer.error !== undefined) return;
		await ensureFolder(join(this.#folder, 'answers'))
			.then(() => writeFileAtomic(join(this.#folder, 'answers', `${id}.json`), JSON.stringify(answer)))
			.then(() => rm(request, { force: true }))
			.catch(() => undefined);
	}

	async #handle(value: unknown): Promise<unknown> {
		const { method, params } = decodeOrThrow(requestSchema, value, 'The request');
		const handler = Object.hasOwn(controlMethods, method) ? this.#handlers[method as keyof ControlHandlers] : undefined;
		if (handler === undefined) throw new Failure('unsupported', `The engine does not support ${method}.`);
		const schema = controlMethods[method as ControlMethod].params as unknown as Schema<never>;
		const decoded = decode(schema, params);
		if (!decoded.ok) {
			const fault = decoded.faults[0];
			throw new Failure('invalid', `${method}: ${fault?.path ? `${fault.path}: ` : ''}${fault?.message}.`);
		}
		return await (handler as (params: never, signal: AbortSignal) => Promise<unknown>)(decoded.value, this.#end.signal);
	}
}

/** Client connection to an engine without a reachable socket. */
export interface RemoteControl {
	ask<M extends ControlMethod>(method: M, params: ControlParams<M>, signal: AbortSignal): Promise<ControlResult<M>>;
}

/** Returns the value in a response, or throws its error as a Failure. */
export function answeredValue<M extends ControlMethod>(method: M, answer: unknown): ControlResult<M> {
	const { value, error } = decodeOrThrow(answerSchema, answer, `The response to ${method}`);
	if (error !== undefined) throw Failure.of(error);
	const schema = controlMethods[method].result as unknown as Schema<ControlResult<M>>;
	return decodeOrThrow(schema, value, `The response to ${method}`);
}

/** Sends requests through a shared folder. */
export class FolderControl implements RemoteControl {
	readonly #folder: string;
	readonly #pollMs: number;

	constructor(folder: string, { pollMs = 300 }: RequestFolderOptions = {}) {
		this.#folder = folder;
		this.#pollMs = pollMs;
	}

	async ask<M extends ControlMethod>(
		method: M,
		params: ControlParams<M>,
		signal: AbortSignal,
	): Promise<ControlResult<M>> {
		const id = randomBytes(12).toString('hex');
		const request = join(this.#folder, 'requests', `${id}.json`);
		const answer = `answers/${id}.json`;
		await ensureFolder(join(this.#folder, 'requests'));
		await writeFileAtomic(request, JSON.stringify({ method, params }));
		try {
			for (;;) {
				const found = await readJson(this.#folder, answer, largest).catch((error: unknown) => {
					if (error instanceof Failure && error.reason === 'missing') return null;
					throw error;
				});
				if (found !== null) return answeredValue(method, found);
				if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
				await pause(this.#pollMs, signal);
			}
		} finally {
			await rm(request, { force: true });
			await rm(join(this.#folder, answer), { force: true });
		}
	}
}
