import type { ScorerSpec } from '../../../protocol/searchSpec.ts';

/** Returns a short scorer name for use in strategy names. */
export function scorerLabel(spec: ScorerSpec): string {
	switch (spec.use) {
		case 'reward': {
			const { reward, gold } = spec;
			const name = typeof reward === 'string' ? reward : String(reward.name ?? reward.use ?? reward.file ?? 'reward');
			return gold ? `${name} (gold)` : name;
		}
		case 'value':
		case 'process':
		case 'process-reward':
			return spec.aggregate === 'last' ? spec.use : `${spec.use} (${spec.aggregate})`;
		case 'judge':
			return 'judge';
		default:
			return spec.use;
	}
}

/**
 * Returns the scorer's label if it scores each completion independently; null if its values depend on other
 * completions.
 */
export function chooserName(spec: ScorerSpec): string | null {
	return spec.use === 'majority' ? null : scorerLabel(spec);
}
