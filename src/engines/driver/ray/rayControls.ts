import { join } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import type { ControlMethod, ControlParams, ControlResult } from '../../../protocol/control.ts';
import type { RunRecord } from '../../../protocol/runRecord.ts';
import type { ControlHandlers } from '../../../rpc/controlServer.ts';
import { runFiles } from '../../../runs/runFiles.ts';
import type { RayCourse } from './rayCourse.ts';

/** Timeout for a request that waits for the end of a step on the cluster, in milliseconds. */
const patienceMs = 590_000;

export interface RayControlOptions {
	readonly run: string;
	stop(): void;
	/** Resolves when the run has ended and its final status has been written. */
	readonly ended: Promise<void>;
	status(): RunRecord;
	/** Returns null while the run is starting. */
	course(): RayCourse | null;
}

/** Control handlers for the driver of a cluster run. Most requests are forwarded to the driver on the cluster. */
export function rayControls({ run, stop, ended, status, course }: RayControlOptions): ControlHandlers {
	const ask = async <M extends ControlMethod>(
		method: M,
		params: ControlParams<M>,
		signal?: AbortSignal,
	): Promise<ControlResult<M>> => {
		const { control } = course() ?? noCourse;
		const timeout = AbortSignal.timeout(patienceMs);
		return control.ask(method, params, signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
	};
	/** Updates the local files before a response that reports changes. */
	const inStep = async () => {
		await course()?.refresh();
		return status();
	};
	return {
		'run/status': async () => status(),
		'run/pause': async (_, signal) => {
			await ask('run/pause', {}, signal);
			return inStep();
		},
		'run/continue': async (_, signal) => {
			await ask('run/continue', {}, signal);
			return inStep();
		},
		'run/stop': async () => {
			stop();
			await ended;
			return status();
		},
		'run/checkpoint': async (_, signal) => {
			const { path } = await ask('run/checkpoint', {}, signal);
			if (!course()?.shared) return { path };
			await course()?.refresh();
			return { path: join(run, runFiles.checkpoints, path.split(/[\\/]/).at(-1) as string) };
		},
		'run/setHyperparameters': async (params, signal) => ask('run/setHyperparameters', params, signal),
		'policy/generate': async (params, signal) => ask('policy/generate', params, signal),
		'policy/score': async (params, signal) => ask('policy/score', params, signal),
	};
}

const noCourse: Pick<RayCourse, 'control'> = {
	get control(): never {
		throw new Failure('unavailable', 'The run is still starting.', 'Try again in a moment.');
	},
};
