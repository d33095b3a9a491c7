import { Failure } from '../../base/failure.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { ControlHandlers } from '../../rpc/controlServer.ts';
import type { PolicyAnswers } from './policyAnswers.ts';
import type { StepGate } from './stepGate.ts';

export interface RunControlOptions {
	readonly gate: StepGate;
	/** Returns the run's current record. */
	status(): RunRecord;
	/** Returns null until the weights exist. */
	policy(): PolicyAnswers | null;
	/** Whether the engine supports value heads. */
	readonly heads: boolean;
	/** Resolves once the run has ended and its end is recorded. */
	readonly ended: Promise<void>;
}

/** Creates handlers for requests to a run's engine. Each request is answered after it has taken effect. */
export function runControls(options: RunControlOptions): ControlHandlers {
	const { gate, status } = options;
	const policy = (): PolicyAnswers => {
		const service = options.policy();
		if (service) return service;
		throw new Failure('unavailable', 'The engine is still starting.', 'Try again in a moment.');
	};
	return {
		'run/status': async () => status(),
		'run/pause': async () => {
			await gate.pause();
			return status();
		},
		'run/continue': async () => {
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
		...policyControls(policy, options.heads),
	};
}

/** Creates handlers for `policy/*` requests only, for an engine that serves a checkpoint. */
export function policyControls(policy: () => PolicyAnswers, heads: boolean): ControlHandlers {
	return {
		'policy/generate': async (params, signal) => policy().generate(params, signal),
		'policy/score': async (params) => policy().score(params),
		...(heads
			? {
					'policy/value': async (params) => {
						const { value } = policy();
						if (value === undefined) throw new Failure('unsupported', 'This engine does not support heads.');
						return value.call(policy(), params);
					},
				}
			: {}),
	};
}
