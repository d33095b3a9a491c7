import { type DiagnosisRun, recipePath, setAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import type { EpisodeFacts, StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

type Cut = NonNullable<EpisodeFacts['cut']>;

/** Setting that limits episodes, and the name of the limit. */
const limits = {
	length: { key: 'max_completion_length', words: 'the completion length limit' },
	turns: { key: 'maxTurns', words: 'the turn limit' },
} as const satisfies Record<Cut, { readonly key: string; readonly words: string }>;

class CutEpisodesWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #facts = new RecentFacts(limit('cutSteps'));
	#stage = 0;

	constructor(run: DiagnosisRun) {
		this.#run = run;
		this.#stage = run.stages.findLastIndex((stage) => typeof stage.settings.max_completion_length === 'number');
	}

	stage(): void {
		this.#facts.clear();
	}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		if (!facts.groups.some((group) => group.episodes !== undefined)) return undefined;
		this.#facts.push(facts);
		if (this.#facts.count < limit('cutSteps')) return [];
		const counts = { all: 0, length: 0, turns: 0 };
		for (const { group } of this.#facts.groups()) {
			for (const episode of group.episodes ?? []) {
				counts.all++;
				if (episode.cut !== null) counts[episode.cut]++;
			}
		}
		const cut: Cut = counts.length >= counts.turns ? 'length' : 'turns';
		const share = (counts.length + counts.turns) / counts.all;
		if (counts.all === 0 || share < limit('cutEpisodes')) return [];
		return [this.#finding(cut, share)];
	}

	#finding(cut: Cut, share: number): RuleFinding {
		const { key, words } = limits[cut];
		const run = this.#run;
		const type = run.stages[this.#stage]?.type ?? '';
		const [path, now] =
			cut === 'length'
				? [stagePath(run, type, key), stageSetting(run, type, key)]
				: [recipePath(run, 'environment', key), run.maxTurns ?? null];
		return {
			about: cut,
			level: 'warning',
			content: () => ({
				message: `${percent(share)} of the episodes in the last ${limit('cutSteps')} steps were cut short, most of them by ${words}${now === null ? '' : ` of ${now}`}.`,
				action: `Raise the limit, or make episodes shorter with fewer turns per task or shorter tool results. Episodes that are cut short are scored before their task is solved.`,
				metrics: ['completions/clipped_ratio', 'environment/turns'],
				evidence: this.#facts.evidence((group, i) => group.episodes?.[i]?.cut === cut),
				cause: 'episodes cut short',
				recipe: setAdvice(
					path,
					now === null ? 'a higher limit' : `${2 * now} instead of ${now}`,
					now === null ? null : 2 * now,
				),
			}),
		};
	}
}

export const cutEpisodes: Rule = {
	name: 'cut-episodes',
	title: 'Episodes cut short',
	fires:
		'>= `cutEpisodes` of the episodes in the last `cutSteps` steps with rollouts ended at the turn limit or at the completion length limit. The finding refers to the limit that ends more of them (`length`, `turns`).',
	silent: 'in runs that do not record why episodes end.',
	metrics: ['completions/clipped_ratio', 'environment/turns'],
	thresholds: ['cutEpisodes', 'cutSteps'],
	explains: ['overlong', 'dead-groups'],
	watch: (run) => new CutEpisodesWatch(run),
};
