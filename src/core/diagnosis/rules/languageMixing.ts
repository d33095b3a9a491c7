import { type DiagnosisRun, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

/** Languages that the reward supports, keyed by the majority language of a completion. */
const languages: Readonly<Record<string, string>> = {
	...{ en: 'en', de: 'de', fr: 'fr', es: 'es', it: 'it', pt: 'pt', nl: 'nl', Latin: 'en', Cyrillic: 'ru', Greek: 'el' },
	...{
		Arabic: 'ar',
		Hebrew: 'he',
		Devanagari: 'hi',
		Thai: 'th',
		Hangul: 'ko',
		Han: 'zh',
		Hiragana: 'ja',
		Katakana: 'ja',
	},
};

class MixingWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #facts = new RecentFacts(limit('loopSteps'));
	#steps = 0;

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#facts.clear();
		this.#steps = 0;
	}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		this.#facts.push(facts);
		this.#steps++;
		if (this.#steps < limit('shortRun')) return [];
		let completions = 0;
		const mixed = new Map<string, number>();
		for (const { group } of this.#facts.groups()) {
			completions += group.index.length;
			for (const of of group.mixed ?? []) if (of !== null) mixed.set(of, (mixed.get(of) ?? 0) + 1);
		}
		const count = [...mixed.values()].reduce((sum, value) => sum + value, 0);
		if (count === 0 || count < limit('mixedShare') * completions) return [];
		const [commonest] = [...mixed].sort((a, b) => b[1] - a[1]);
		const language = commonest === undefined ? undefined : languages[commonest[0]];
		const path = recipePath(this.#run, 'rewards');
		const has = this.#run.rewards.some(({ name }) => name.includes('language'));
		const entry = { use: 'language-consistency', language, weight: limit('languageWeight') };
		return [
			{
				level: 'warning',
				content: () => ({
					cause: 'completions mix languages',
					message: `${percent(count / completions)} of the completions in the last ${limit('loopSteps')} steps with rollouts mix languages: at least ${percent(limit('mixedLetters'))} of their letters belong to another language.`,
					action: 'Reward language consistency, or start from solutions written in a single language.',
					metrics: [],
					evidence: this.#facts.evidence((group, i) => (group.mixed?.[i] ?? null) !== null),
					recipe: recipeAdvice(
						path,
						'a language-consistency reward',
						path === null || has || language === undefined
							? []
							: [{ path: [...path, this.#run.rewards.length], value: entry }],
					),
				}),
			},
		];
	}
}

export const languageMixing: Rule = {
	name: 'language-mix',
	title: 'Mixed languages',
	fires:
		'in the last `loopSteps` steps with rollouts, at least `mixedShare` of the completions have `mixedLetters` or more of their letters in passages whose language or script differs from the rest. The suggested fix adds the reward `language-consistency` with weight `languageWeight` for the majority language.',
	silent: 'for individual terms and names, code, and formulas.',
	metrics: [],
	thresholds: ['mixedShare', 'mixedLetters', 'languageWeight', 'loopSteps', 'shortRun'],
	watch: (run) => new MixingWatch(run),
};
