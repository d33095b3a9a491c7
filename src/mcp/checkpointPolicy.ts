import { Failure } from '../base/failure.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import { listCheckpoints } from '../runs/checkpointFiles.ts';
import type { KnownRun } from './runs.ts';

export interface CheckpointPolicy {
	readonly policy: PolicySpec;
	/** Name for files, such as `step_000012` or `live`. */
	readonly name: string;
	/** Step of the checkpoint; null for a running engine. */
	readonly step: number | null;
}

/**
 * Returns a checkpoint of a known run as a policy. Agents cannot use servers or files as policies, because prompts
 * would be sent to the server, which only the user may allow. Fails with `missing` if there is no such checkpoint.
 * @param which `newest`, `best`, `live` (the running engine with its current weights), or a step
 */
export async function checkpointPolicy({ name, folder }: KnownRun, which: string): Promise<CheckpointPolicy> {
	if (which === 'live') return { policy: { kind: 'engine', run: folder }, name: 'live', step: null };
	const checkpoints = await listCheckpoints(folder);
	const found =
		which === 'newest'
			? checkpoints.at(-1)
			: checkpoints.find(({ best, step }) => (which === 'best' ? best : String(step) === which));
	if (found !== undefined) {
		const { path, step } = found;
		return { policy: { kind: 'checkpoint', folder: path }, name: `step-${step}`, step };
	}
	throw new Failure(
		'missing',
		checkpoints.length === 0 ? `${name} has no complete checkpoint.` : `${name} has no checkpoint "${which}".`,
		checkpoints.length === 0
			? 'Wait until it has saved one.'
			: `Use newest, best or a step: ${checkpoints.map(({ step }) => step).join(', ')}.`,
	);
}
