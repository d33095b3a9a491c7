import { checkAborted } from '../../base/async.ts';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { resolvedRecipeSchema } from '../../core/recipe/resolvedRecipe.ts';
import { decode } from '../../protocol/decode.ts';
import type { PolicyContent } from '../../protocol/explorerMessages.ts';
import type { AnyRunRecord } from '../../protocol/runRecord.ts';
import type { ControlClient } from '../../rpc/controlClient.ts';
import { ownFormat } from '../../runs/annotationFolder.ts';
import { type CheckpointInfo, listCheckpoints } from '../../runs/checkpointFiles.ts';
import { type ContinuationEnd, type ContinuationRequest, continueText } from '../../runs/continuation.ts';
import { connectRun } from '../../runs/runControl.ts';
import { readResolvedRecipe } from '../../runs/runReader.ts';
import { claimsLife, readRunState } from '../../runs/runStatus.ts';
import { ServedCheckpoint, type ServeOptions } from '../../runs/servedCheckpoint.ts';

export interface ContinueFromOptions {
	readonly run: { readonly folder: string; readonly format: string };
	/** Returns the programs for serving checkpoints. Fails if starting them is not allowed. */
	readonly programs: () => Promise<Pick<ServeOptions, 'engine' | 'node' | 'environment'>>;
	/** Name of this program in engine logs. */
	readonly name: string;
	/** Idle time before an engine that serves a checkpoint is stopped, in milliseconds; default five minutes. */
	readonly idleMs?: number;
}

export interface ContinueRequest extends Omit<ContinuationRequest, 'seed'> {
	/** Step of the rollout; determines which checkpoint is used. */
	readonly step: number;
	readonly seed?: number;
}

/** The engine or checkpoint that continues a completion. */
interface Source {
	readonly kind: 'live' | 'checkpoint' | 'none';
	readonly record: AnyRunRecord | null;
	readonly checkpoint: CheckpointInfo | null;
}

/** An engine that serves a checkpoint, and its users. */
interface Served {
	readonly path: string;
	readonly open: Promise<ServedCheckpoint>;
	users: number;
	idle: NodeJS.Timeout | null;
}

const idleMs = 300_000;
/** Maximum number of tokens to generate if the recipe does not specify a limit. */
const usualTokens = 256;

/**
 * Implements *Continue from Here*: a run's policy continues from a truncated and edited completion. Uses the live
 * engine if there is one; otherwise, starts an engine that serves the checkpoint nearest to the rollout's step. That
 * engine is reused until it has been idle for a while and is stopped when this object is disposed.
 */
export class ContinueFrom extends Disposable {
	readonly #options: ContinueFromOptions;
	/** Serving engines by checkpoint folder. */
	readonly #served = new Map<string, Served>();
	readonly #ending = new AbortController();

	constructor(options: ContinueFromOptions) {
		super();
		this.#options = options;
		this.register({
			dispose: () => {
				this.#ending.abort();
				for (const served of [...this.#served.values()]) this.#release(served);
			},
		});
	}

	/** Describes which policy would continue a rollout from a step. @param step null for any step */
	async policy(step: number | null): Promise<PolicyContent> {
		const recipe = decode(resolvedRecipeSchema, await readResolvedRecipe(this.#options.run.folder).catch(() => null));
		const grpo = recipe.ok ? recipe.value.stages.findLast((stage) => stage.type === 'grpo') : undefined;
		const settings = {
			temperature: grpo?.temperature ?? 1,
			maxTokens: grpo?.max_completion_length ?? usualTokens,
		};
		if (this.#options.run.format !== ownFormat) {
			return {
				ready: false,
				message: 'The policy is unavailable because this run was created by another trainer.',
				action: null,
				...settings,
			};
		}
		const source = await this.#source(step);
		switch (source.kind) {
			case 'live':
				return {
					ready: true,
					message: `The running engine, at step ${source.record?.step ?? 0}.`,
					action: null,
					...settings,
				};
			case 'checkpoint': {
				const at = source.checkpoint?.step ?? 0;
				const message = `The checkpoint at step ${at}, in a separate engine.`;
				return { ready: true, message, action: null, ...settings };
			}
			case 'none':
				return {
					ready: false,
					message: 'This run has no running engine and no complete checkpoint.',
					action: 'Resume the run, or wait until it has saved a checkpoint.',
					...settings,
				};
		}
	}

	/**
	 * Continues from a prompt and prefix. Fails with `unsupported` for runs from other trainers, `unavailable` if there
	 * is no engine or checkpoint, `invalid` if the edited text cannot be tokenized or exceeds the context, or
	 * `cancelled`.
	 * @param onText called with the text added since the last call
	 */
	async generate(
		request: ContinueRequest,
		onText: (text: string) => void,
		signal?: AbortSignal,
	): Promise<ContinuationEnd> {
		const { step, seed = Math.floor(Math.random() * 2 ** 31), ...rest } = request;
		const both = signal === undefined ? this.#ending.signal : AbortSignal.any([signal, this.#ending.signal]);
		const { ready, message, action } = await this.policy(step);
		if (!ready) {
			const reason = this.#options.run.format === ownFormat ? 'unavailable' : 'unsupported';
			throw new Failure(reason, message, action ?? undefined);
		}
		const live = await this.#live();
		if (live !== null) {
			try {
				return await continueText(live, { ...rest, seed }, onText, both);
			} finally {
				live.dispose();
			}
		}
		const served = await this.#serve(step, both);
		try {
			const { client } = await opened(served.open, both);
			return await continueText(client, { ...rest, seed }, onText, both);
		} finally {
			this.#leave(served);
		}
	}

	/** Returns a connection to the run's engine, or null if none responds. */
	async #live(): Promise<ControlClient | null> {
		const { folder } = this.#options.run;
		const state = await readRunState(folder).catch(() => null);
		if (state === null || !claimsLife(state)) return null;
		return connectRun(folder, state.record, this.#options.name).catch(() => null);
	}

	async #source(step: number | null): Promise<Source> {
		const { folder } = this.#options.run;
		const state = await readRunState(folder).catch(() => null);
		const record = state?.record ?? null;
		if (state !== null && claimsLife(state)) return { kind: 'live', record: state.record, checkpoint: null };
		const checkpoint = nearest(await listCheckpoints(folder).catch(() => []), step);
		return { kind: checkpoint === null ? 'none' : 'checkpoint', record, checkpoint };
	}

	/** Returns an engine that serves the checkpoint nearest to a step, and adds a user to it. */
	async #serve(step: number, signal: AbortSignal): Promise<Served> {
		const checkpoint = nearest(await listCheckpoints(this.#options.run.folder), step);
		if (checkpoint === null) throw new Failure('missing', 'The run has no complete checkpoint.', 'Resume the run.');
		const programs = await this.#options.programs();
		checkAborted(signal);
		// Serve one checkpoint at a time to save memory, unless several are in use.
		for (const other of [...this.#served.values()]) {
			if (other.users === 0 && other.path !== checkpoint.path) this.#release(other);
		}
		let served = this.#served.get(checkpoint.path);
		if (served === undefined) {
			const open = ServedCheckpoint.open(checkpoint.path, {
				...programs,
				name: this.#options.name,
				signal: this.#ending.signal,
			});
			const made: Served = { path: checkpoint.path, open, users: 0, idle: null };
			this.#served.set(made.path, made);
			open.then(
				({ client }) => client.onClosed(() => this.#release(made)),
				() => this.#release(made),
			);
			served = made;
		}
		if (served.idle !== null) clearTimeout(served.idle);
		served.idle = null;
		served.users++;
		return served;
	}

	#leave(served: Served): void {
		served.users--;
		if (served.users > 0 || this.#served.get(served.path) !== served) return;
		served.idle = setTimeout(() => this.#release(served), this.#options.idleMs ?? idleMs);
		served.idle.unref();
	}

	#release(served: Served): void {
		if (served.idle !== null) clearTimeout(served.idle);
		if (this.#served.get(served.path) === served) this.#served.delete(served.path);
		served.open.then(
			(checkpoint) => checkpoint.dispose(),
			() => undefined,
		);
	}
}

/**
 * Waits for an engine. If the wait is aborted, the engine continues to start and remains available until it becomes
 * idle.
 */
function opened(open: Promise<ServedCheckpoint>, signal: AbortSignal): Promise<ServedCheckpoint> {
	return new Promise((resolve, reject) => {
		const abort = () => reject(new Failure('cancelled', 'Canceled.'));
		if (signal.aborted) abort();
		signal.addEventListener('abort', abort, { once: true });
		open.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
	});
}

/**
 * Returns the checkpoint nearest to a step, or null if there is none. Ties go to the earlier one, which has not been
 * trained on the rollout yet.
 */
function nearest(checkpoints: readonly CheckpointInfo[], step: number | null): CheckpointInfo | null {
	if (step === null) return checkpoints.at(-1) ?? null;
	let best: CheckpointInfo | null = null;
	for (const checkpoint of checkpoints) {
		if (best === null || Math.abs(checkpoint.step - step) < Math.abs(best.step - step)) best = checkpoint;
	}
	return best;
}
