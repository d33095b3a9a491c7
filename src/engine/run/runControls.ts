import { Failure } from '../../base/failure.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { ControlHandlers } from '../../rpc/controlServer.ts';
import type { PolicyService } from './policyService.ts';
import type { StepGate } from './stepGate.ts';

export interface RunControlOptions {
	readonly gate: StepGate;
	/** The run as it is now. */
	status(): RunRecord;
	/** null until the weights are there. */
	policy(): PolicyService | null;
	/** Resolves when the run has ended and said so in its record. */
	readonly ended: Promise<void>;
}

/** The requests that the engine of a run answers; each answer comes when what was asked for has happened. */
export function runControls(options: RunControlOptions): ControlHandlers {
	const { gate, status } = options;
	const policy = (): PolicyService => {
		const service = options.policy();
		if (service) return service;
		throw new Failure('unavailable', 'The engine is still starting.', 'Ask again in a moment.');
	};
	return {
		'run/status': async () => status(),
		'run/pause': async () => {
			await gate.pause();
			return status();
		},
		'run/resume': async () => {
			await gate.resume();
			return status();
		},
		'run/stop': async ({ checkpoint }) => {
			gate.stop({ checkpoint });
			await options.ended;
			return status();
		},
		'run/checkpoint': async () => ({ path: await gate.checkpoint() }),
		'run/setHyperparameters': async (changes) => ({ fromStep: await gate.setHyperparameters(changes) }),
		'policy/generate': (params, signal) => policy().generate(params, signal),
		'policy/score': (params) => policy().score(params),
		'policy/value': (params) => policy().value(params),
	};
}
