import { Failure } from '../base/failure.ts';
import type { ControlMethod, ControlParams, ControlResult, Hyperparameters } from '../protocol/control.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import type { Notices } from './notices.ts';
import { withProgress } from './progress.ts';
import type { RunStore } from './runStore.ts';
import { nameOf, type RunView } from './runView.ts';

/** Controls live engines through their endpoints. Requests resolve when the action is complete. */
export class RunController {
	readonly #store: RunStore;
	readonly #notices: Notices;
	readonly #client: string;

	/** @param client name of this program in engine logs */
	constructor(store: RunStore, notices: Notices, client: string) {
		this.#store = store;
		this.#notices = notices;
		this.#client = client;
	}

	async pause(view: RunView): Promise<void> {
		try {
			await withProgress({ title: `Pausing ${nameOf(view)}`, why: 'finishing the current step first' }, (signal) =>
				this.#request(view, 'run/pause', {}, signal),
			);
		} catch (error) {
			// Cancel the pause as well, so that it does not take effect later.
			if (Failure.from(error).reason === 'cancelled')
				await this.#request(view, 'run/continue', {}).catch(() => undefined);
			throw error;
		}
	}

	async continue(view: RunView): Promise<void> {
		await withProgress({ title: `Continuing ${nameOf(view)}` }, (signal) =>
			this.#request(view, 'run/continue', {}, signal),
		);
	}

	/**
	 * Finishes the current step, saves a checkpoint, and stops the engine. Offers to force stop an engine that does not
	 * respond.
	 */
	async stop(view: RunView): Promise<void> {
		try {
			await withProgress(
				{ title: `Stopping ${nameOf(view)}`, why: 'finishing the current step and saving a checkpoint first' },
				async (signal) => {
					const record = await this.#request(view, 'run/stop', { checkpoint: true }, signal);
					const { engineReleased } = await import('../runs/engineRelease.ts');
					await engineReleased(view.folder, record, { signal });
				},
			);
			await this.#store.reload(view.folder);
		} catch (error) {
			const failure = Failure.from(error);
			await this.#store.reload(view.folder);
			const now = this.#store.get(view.folder) ?? view;
			const over = now.status === 'stopped' || now.status === 'finished';
			// The connection may close before the response arrives.
			if (over && failure.reason !== 'timeout') return;
			const text =
				failure.reason === 'cancelled'
					? `${nameOf(view)} is still finishing its current step and saving a checkpoint. If you force it to stop now, it can be resumed from the latest checkpoint.`
					: `Could not stop ${nameOf(view)}: ${failure.message}`;
			void this.#notices.warning(text, [{ title: 'Force Stop', run: () => this.end(view) }]);
		}
	}

	/** Stops the engine without finishing its step. The run can be resumed from its latest checkpoint. */
	async end(view: RunView): Promise<void> {
		const record = (this.#store.get(view.folder) ?? view).record;
		if (record === null) throw new Failure('missing', `${nameOf(view)} does not have an engine.`);
		const { endEngine } = await import('./engineProcess.ts');
		await withProgress({ title: `Stopping ${nameOf(view)}` }, () => endEngine(view.folder, record));
		await this.#store.reload(view.folder);
	}

	/** @returns the checkpoint folder */
	async checkpoint(view: RunView): Promise<string> {
		const { path } = await withProgress(
			{ title: `Saving a checkpoint for ${nameOf(view)}`, why: 'finishing the current step first' },
			(signal) => this.#request(view, 'run/checkpoint', {}, signal),
		);
		return path;
	}

	/** @returns the first step that the changes apply to */
	async setHyperparameters(view: RunView, changes: Hyperparameters): Promise<number> {
		const { fromStep } = await withProgress(
			{ title: `Updating ${nameOf(view)}`, why: 'finishing the current step first' },
			(signal) => this.#request(view, 'run/setHyperparameters', changes, signal),
		);
		return fromStep;
	}

	async #request<M extends ControlMethod>(
		view: RunView,
		method: M,
		params: ControlParams<M>,
		signal?: AbortSignal,
	): Promise<ControlResult<M>> {
		const { connectRun } = await import('../runs/runControl.ts');
		const client = await connectRun(view.folder, recordOf(view), this.#client);
		try {
			return await client.request(method, params, signal);
		} finally {
			client.dispose();
			await this.#store.reload(view.folder);
		}
	}
}

function recordOf(view: RunView): AnyRunRecord {
	if (view.record === null) throw new Failure('missing', view.fault ?? `${nameOf(view)} does not have an engine.`);
	return view.record;
}
