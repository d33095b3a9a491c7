import { StageFailure } from '../core/pipeline/stageFailure.ts';
import type { DatasetPart } from '../protocol/datasetPart.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import { plainScorers } from '../protocol/searchSpec.ts';
import type { ProblemsSpec } from '../protocol/strategyComparison.ts';
import { ownSearchContext } from '../search/ownSearchContext.ts';
import type { SearchContext } from '../search/searchContext.ts';
import type { StageWork } from './stageWork.ts';

/** Returns the context for a stage's searches and evaluations. The policy pool is disposed of with the stage. */
export function contextOf({ engine, folder }: StageWork): SearchContext {
	return ownSearchContext({ engine, client: 'reasoning-lab pipeline', folder });
}

/** Returns the checkpoint that the stage starts from. */
export function policyOf({ recipe, stage }: StageWork): PolicySpec {
	if ('path' in recipe.model) return { kind: 'checkpoint', folder: recipe.model.path };
	const message = `The stage "${stage.name}" has no policy.`;
	throw new StageFailure(stage.name, 'invalid', message, 'Set "from" to a training stage.');
}

export function problemsOf({ recipe }: StageWork, part: DatasetPart, limit: number): ProblemsSpec {
	return { from: 'dataset', dataset: { ...recipe.dataset }, seed: recipe.seed, part, limit };
}

/** Parses a scorer given as an object, by name, or as `gold:NAME` if it sees the gold answer. */
export function scorerOf(written: string | Readonly<Record<string, unknown>> | undefined): unknown {
	if (typeof written !== 'string') return written;
	if (plainScorers.includes(written)) return { use: written };
	return { use: 'reward', reward: written.replace(/^(?:reward|gold):/, ''), gold: written.startsWith('gold:') };
}

/** Removes undefined entries. */
export function given(entries: Readonly<Record<string, unknown>>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}
