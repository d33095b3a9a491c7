import type { ScorerScope } from '../../src/core/search/scorer.ts';
import type { OfferedScorer, SearchDraft } from '../../src/protocol/newSearchMessages.ts';
import type { ScorerSpec } from '../../src/protocol/searchSpec.ts';

/** The environment's own reward. */
export const environmentScorer: OfferedScorer = {
	...{
		label: 'Environment',
		detail: 'the reward, which can use every column of the row',
		spec: { use: 'environment' },
	},
	...{ steps: false, oracle: false },
};

/** Scorers that require a completion's text exactly as generated, which an episode cannot provide. */
const textScorers: readonly ScorerSpec['use'][] = ['value', 'process', 'reward-model', 'process-reward'];

export interface ScorerContext {
	/** What the strategy uses a scorer for; undefined if it does not need one. */
	readonly scope: ScorerScope | undefined;
	/** Whether episodes are played. */
	readonly played: boolean;
	readonly draft: Pick<SearchDraft, 'problem' | 'policy' | 'guide'>;
}

/** Returns the scorers that suit the strategy, the problem and the policy. */
export function fittingScorers(
	offered: readonly OfferedScorer[],
	{ scope, played, draft }: ScorerContext,
): OfferedScorer[] {
	const gold = (draft.problem?.answer ?? null) !== null;
	const kind = draft.policy?.kind;
	return [...(played ? [environmentScorer] : []), ...offered].filter(({ spec, steps, oracle }) => {
		if (played && (oracle || textScorers.includes(spec.use))) return false;
		if ((scope === 'step' && !steps) || (oracle && !gold)) return false;
		if (spec.use === 'value' || spec.use === 'process') return kind === 'checkpoint' || kind === 'engine';
		return spec.use !== 'self-evaluation' || kind === 'openai' || kind === 'scripted';
	});
}

/** Returns the selected scorer, or a default; null if the strategy does not need one or none is suitable. */
export function selectedScorer(
	scorers: readonly OfferedScorer[],
	{ scope, played, draft: { guide } }: ScorerContext,
): OfferedScorer | null {
	if (scope === undefined) return null;
	const chosen = guide && scorers.find(({ spec }) => JSON.stringify(spec) === JSON.stringify(guide));
	if (chosen) return chosen;
	if (guide) return { label: guide.use, detail: '', spec: guide, steps: true, oracle: false };
	const usual = scope === 'step' ? 'mean-logprob' : played ? environmentScorer.spec.use : 'majority';
	return scorers.find(({ spec }) => spec.use === usual) ?? scorers[0] ?? null;
}
