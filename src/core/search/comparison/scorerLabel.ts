import type { ScorerSpec } from '../../../protocol/searchSpec.ts';

/** What a scorer is called in names of strategies. */
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

/** The scorer's label where it values each completion by itself; null: its values depend on the others'. */
export function chooserName(spec: ScorerSpec): string | null {
	return spec.use === 'majority' ? null : scorerLabel(spec);
}
